"""Commits and fetches allowed by member epoch."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.types import TopicPartition
from protocols.messages import (
    DeleteGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode

from .driver import GROUP, IDS, ConsumerGroupDriver, topic

STALE = ErrorCode.STALE_MEMBER_EPOCH


@pytest.fixture
def it() -> ConsumerGroupDriver:
    """A had everything at epoch 2; at 3 it keeps {0,1,2}, B has {3,4,5}."""
    return two_members()


def two_members(**settings: Any) -> ConsumerGroupDriver:
    it = ConsumerGroupDriver(topic(), topic("u"), **settings)
    it.join("A")
    it.join("B")
    it.settle("A", "B")
    return it


def test_the_members_epoch_is_good_for_any_partition(it):
    """The owner of a partition is not checked."""
    assert ErrorCode.NONE == it.commit("A", 3, 0, 4)


def test_an_older_epoch_is_good_for_what_the_member_had_by_then(it):
    """It was given at epoch 2 and stayed."""
    assert ErrorCode.NONE == it.commit("A", 2, 0, 1, 2)
    assert STALE == it.commit("A", 1, 0)


def test_one_partition_that_the_member_has_not_fails_the_whole_commit(it):
    """Given back, or given later than the commit's epoch: nothing is stored."""
    before = len(it.log)

    assert STALE == it.commit("A", 2, 0, 3)
    assert STALE == it.commit("B", 2, 3)
    assert before == len(it.log)


def test_partitions_being_revoked_can_still_be_committed(it):
    """The member commits before it confirms the revocation."""
    it.join("C")
    it.beat("A")
    moving = it.revoking("A")

    assert moving
    assert ErrorCode.NONE == it.commit("A", 2, *moving)


def test_an_epoch_of_the_future_is_stale(it):
    """Wherever it comes from."""
    assert STALE == it.commit("A", 4, 0)


def test_a_stranger_may_not_commit(it):
    """Nor may a request without a member id, while the group has members."""
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.commit("X", 3, 0)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.commit("", -1, 0)


def test_without_members_anybody_may_commit_without_an_epoch(it):
    """An administrator resets offsets so."""
    it.leave("A")
    it.leave("B")

    assert ErrorCode.NONE == it.commit("", -1, 0)
    for epoch in (0, 3):
        assert ErrorCode.UNKNOWN_MEMBER_ID == it.commit("A", epoch, 0)


def test_an_old_request_cannot_name_an_epoch(it):
    """Before version 9 there were only generations."""
    assert ErrorCode.UNSUPPORTED_VERSION == it.commit("A", 3, 0, version=8)


def test_a_group_that_is_not_there(it):
    """Is called by another name in old versions; without an epoch it is made."""
    it.leave("A")
    it.leave("B")
    it.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    assert ErrorCode.GROUP_ID_NOT_FOUND == it.commit("A", 3, 0)
    assert ErrorCode.ILLEGAL_GENERATION == it.commit("A", 3, 0, version=8)
    assert ErrorCode.NONE == it.commit("", -1, 0)


def test_a_static_member_that_is_away_cannot_commit():
    """Every epoch it ever had is newer than -2."""
    it = ConsumerGroupDriver()
    it.join("A", instance="i")
    it.beat("A", -2, instance="i")

    assert STALE == it.commit("A", 2, 0)


def test_metadata_that_is_too_long_fails_its_partition_alone(it):
    """As in any group; the others are stored."""
    offsets = tuple(
        OffsetToCommit(TopicPartition("t", number), 7, metadata="x" * length)
        for number, length in ((0, 4_097), (1, 4_096))
    )
    request = OffsetCommitRequest(group_id=GROUP, member_id="A", generation_id=3, offsets=offsets)

    errors = it.send(request).answer.errors

    assert [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE] == [error for _, error in errors]
    assert 1 == len(it.batches[-1])


def test_a_refused_partition_does_not_make_an_older_commit_stale(it):
    """Metadata too long, or no such partition: the member's own partition beside it is stored."""
    offsets = (
        OffsetToCommit(TopicPartition("t", 0), 7),
        OffsetToCommit(TopicPartition("t", 3), 7, metadata="x" * 4_097),
        OffsetToCommit(TopicPartition("w", 0), 7),
        OffsetToCommit(TopicPartition("t", -1), 7),
    )
    request = OffsetCommitRequest(group_id=GROUP, member_id="A", generation_id=2, offsets=offsets)

    errors = it.send(request).answer.errors

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expected = [ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE, unknown, unknown]
    assert expected == [error for _, error in errors]
    assert 1 == len(it.batches[-1])


@pytest.mark.parametrize("stable", [True, False])
def test_a_fetch_names_the_epoch_exactly_or_no_member_at_all(it, stable):
    """An older epoch is not enough here."""
    more = {"require_stable": stable}

    assert ErrorCode.NONE == it.fetch("A", 3, **more)
    assert ErrorCode.NONE == it.fetch(None, -1, **more)
    assert STALE == it.fetch("A", 2, **more)
    assert STALE == it.fetch("A", 4, **more)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.fetch("X", 3, **more)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.fetch(None, 0, **more)
    assert STALE == it.fetch("A", -1, **more)


def test_an_offset_of_a_topic_that_was_made_again_is_not_shown(it):
    """By topic id it is another topic's; by name it is still found."""
    it.commit("A", 3, 3, version=10)
    made_again = TopicDescription("t", IDS["v"], (1,) * 6)
    it.topics_are(made_again)
    it.beat("A")

    def offset(version: int) -> int:
        asked = OffsetFetchRequest(
            group_id="g", partitions=(TopicPartition("t", 3),), version=version
        )
        return it.send(asked).answer.offsets[0].offset

    assert (-1, 7) == (offset(10), offset(9))


def test_offsets_of_topics_that_are_read_cannot_be_deleted(it):
    """Others can."""
    it.commit("A", 3, 0)
    it.commit("A", 3, 0, of="u")
    partitions = (TopicPartition("t", 0), TopicPartition("u", 0))

    answer = it.send(OffsetDeleteRequest(group_id=GROUP, partitions=partitions)).answer

    assert [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE] == [
        error for _, error in answer.errors
    ]


def test_a_group_with_members_cannot_be_deleted(it):
    """An empty one goes with its offsets, in one batch, in Kafka's order."""
    delete = DeleteGroupsRequest(group_ids=(GROUP,))
    assert ErrorCode.NON_EMPTY_GROUP == it.send(delete).answer.results[0][1]
    it.commit("A", 3, 0)
    it.leave("A")
    it.leave("B")

    assert ErrorCode.NONE == it.send(delete).answer.results[0][1]
    assert ["1x", "6x", "4x", "3x"] == it.types
    assert not it.exists


def test_offsets_expire_by_their_commit_unless_their_topic_is_read():
    """Also while the group has members; the empty group itself goes with its last one."""
    it = two_members(offsets_retention_minutes=60)
    hour_ms = 3_600_000
    it.commit("A", 3, 0)
    it.commit("A", 3, 0, of="u")
    for _ in range(hour_ms // 40_000 + 20):
        it.advance(40_000)
        it.beat("A")
        it.beat("B")
    stored = it.coordinator.state.durable
    assert stored.offset(GROUP, "u", 0) is None
    assert stored.offset(GROUP, "t", 0) is not None

    it.leave("A")
    it.leave("B")
    it.advance(1_200_000)

    assert ["1x", "6x", "4x", "3x"] == it.types
    assert not it.exists


def test_offsets_of_a_deleted_topic_go_at_once(it):
    """In one batch of their own."""
    it.commit("A", 3, 0, 1)
    it.topic_deleted("t")

    assert ["1x", "1x"] == it.types


def test_a_topic_that_was_created_again_is_unknown_by_its_old_id(it):
    """In commits and fetches; without an id in the request the name decides, in older versions as well."""
    old = (("t", "AAAAAAAAAAAAAAAAAAAAVw"),)
    wanted = (TopicPartition("t", 0),)

    def fetched(**more: Any) -> ErrorCode:
        request = OffsetFetchRequest(group_id=GROUP, partitions=wanted, **more)
        (found,) = it.send(request).answer.offsets
        return found.error

    assert ErrorCode.UNKNOWN_TOPIC_ID == it.commit("A", 3, 0, version=10, topic_ids=old)
    assert ErrorCode.NONE == it.commit("A", 3, 0, version=10, topic_ids=(("t", IDS["t"]),))
    assert ErrorCode.NONE == it.commit("A", 3, 0, version=9)
    assert ErrorCode.UNKNOWN_TOPIC_ID == fetched(version=10, topic_ids=old)
    assert ErrorCode.NONE == fetched(version=10, topic_ids=(("t", IDS["t"]),))
    assert ErrorCode.NONE == fetched(version=9)
