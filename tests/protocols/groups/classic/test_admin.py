"""Describing and deleting."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.facts import OffsetsDropped
from protocols.groups.classic.states import State
from protocols.messages import (
    DeleteGroupsRequest,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetToCommit,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import ZERO_TOPIC_ID, GroupMetadataKey, OffsetCommitKey

from .driver import GroupDriver
from .wire import GROUP, protocols, some, subscription


def described(driver: GroupDriver, version: int = 6) -> DescribeGroupResponse:
    return driver.send(DescribeGroupRequest(group_id=GROUP, version=version)).answer


@pytest.mark.parametrize(
    ("version", "error"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_group_that_does_not_exist_is_described_as_dead(version: int, error: ErrorCode):
    """From version 6 on that is an error as well."""
    answer = described(GroupDriver(), version)

    assert ("Dead", error) == (answer.state, answer.error)


def test_a_stable_group_shows_its_members():
    """With what each subscribes to and owns."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    assert DescribeGroupResponse(
        group_id=GROUP,
        state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=(DescribedMember(a, None, "a", "/127.0.0.1", subscription(), some(0)),),
    ) == described(driver)


def test_a_rebalancing_group_shows_no_metadata():
    """The partitions of its members are still known."""
    driver = GroupDriver()
    driver.stable("a")
    driver.enter("b")

    answer = described(driver)

    assert ("PreparingRebalance", "") == (answer.state, answer.protocol_data)
    assert {(None, some(0)), (None, ())} == {
        (member.metadata, member.assignment) for member in answer.members
    }


def test_a_group_shows_once_its_existence_is_durable():
    """From then on as it is now."""
    driver = GroupDriver()
    driver.hold = True
    driver.join("s", instance="S")

    assert "Dead" == described(driver).state
    driver.replicate()
    driver.advance(3_000)
    assert "CompletingRebalance" == described(driver).state


# -- deleting --------------------------------------------------------------------------------


def test_an_empty_group_is_deleted_with_its_offsets():
    """One batch: its offsets in the order of the tables, then the group; answered when durable."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.commit(a, dict.fromkeys(range(6), 1))
    driver.leave(a)
    driver.new_id("b")
    driver.hold = True

    call = driver.send(DeleteGroupsRequest(group_ids=(GROUP, "other", GROUP)))

    assert not call.answered
    assert [
        *(OffsetCommitKey(GROUP, "t", number) for number in (5, 0, 2, 4, 1, 3)),
        GroupMetadataKey(GROUP),
    ] == [record.key for record in driver.batches[-1]]
    driver.replicate()
    assert (
        (GROUP, ErrorCode.NONE),
        ("other", ErrorCode.GROUP_ID_NOT_FOUND),
    ) == call.answer.results
    assert State.ABSENT == driver.state
    assert "deleted" == driver.emitted(OffsetsDropped)[0].why


def test_a_deleted_group_starts_again_at_generation_0():
    """Nothing is left of it."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.leave(a)
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    driver.new_id("a")

    assert 0 == driver.group.generation


def test_a_deletion_that_fails_gives_the_group_back():
    """With its offsets, as it was."""
    driver = GroupDriver()
    driver.commit(offsets={0: 7})
    before = driver.group
    driver.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    call = driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    assert ((GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE),) == call.answer.results
    assert before == driver.group
    assert 7 == driver.committed()


def test_offsets_of_unread_topics_may_be_dropped():
    """Those of a topic with a subscriber may not."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.commit(a, {0: 1})
    driver.commit(a, {0: 1}, topic="u")
    request = OffsetDeleteRequest(group_id=GROUP, partitions=(*some(0), *some(0, 9, topic="u")))

    answer = driver.send(request).answer

    assert [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ] == [error for _, error in answer.errors]
    assert [OffsetCommitKey(GROUP, "u", 0)] == [record.key for record in driver.batches[-1]]
    assert [1, -1] == [driver.committed(), driver.committed(topic="u")]


def test_in_its_first_join_phase_a_group_reads_everything():
    """Its subscription is not known yet."""
    driver = GroupDriver()
    driver.commit(topic="u")
    driver.enter("a")
    request = OffsetDeleteRequest(group_id=GROUP, partitions=some(0, topic="u"))

    ((_, error),) = driver.send(request).answer.errors

    assert ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC == error


def test_offsets_of_unknown_topics_are_not_dropped():
    """The broker answers for them, yet the group is asked for the rest."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])
    driver.commit()
    request = OffsetDeleteRequest(group_id=GROUP, partitions=(*some(0, 1), *some(0, topic="u")))

    answer = driver.send(request).answer

    assert [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ] == [error for _, error in answer.errors]


def test_subscribed_topics_follow_the_members():
    """The union over all of them, computed at each generation."""
    driver = GroupDriver()
    a, _ = driver.enter("a", offers=protocols(topics=("t", "u")))
    b, _ = driver.enter("b", offers=protocols(topics=("v",)))
    assert driver.group.subscribed_topics is None

    driver.settle([a, b])
    assert frozenset({"t", "u", "v"}) == driver.group.subscribed_topics

    driver.leave(a, b)
    assert frozenset() == driver.group.subscribed_topics


# -- deleted topics --------------------------------------------------------------------------


def test_a_deleted_topic_takes_its_offsets_along():
    """In every group, also while they read it; in the order of the tables."""
    driver = GroupDriver(topics=[TopicDescription("t", "old", (1,) * 6)])
    (a,) = driver.stable("a")
    driver.commit(a, {1: 1, 0: 1})
    driver.commit(a, {4: 1, 5: 1})
    driver.commit(a, {2: 1, 3: 1})
    other = OffsetCommitRequest(
        group_id="other", offsets=(OffsetToCommit(TopicPartition("t", 0), 1),)
    )
    driver.send(other)

    driver.topic_deleted("t", "old")

    keys = [record.key for record in driver.batches[-1]]
    assert {GROUP, "other"} == {key.group for key in keys}
    assert [5, 0, 2, 4, 1, 3] == [key.partition for key in keys if key.group == GROUP]
    assert {"topic deleted"} == {fact.why for fact in driver.emitted(OffsetsDropped)}
    assert State.STABLE == driver.state


def test_offsets_of_a_recreated_topic_survive_the_old_ones_deletion():
    """They have another id; those without an id are deleted."""
    driver = GroupDriver(topics=[TopicDescription("t", "new", (1, 1))])
    driver.commit(offsets={0: 1})
    driver.coordinator.topics_changed([TopicDescription("t", ZERO_TOPIC_ID, (1, 1))])
    driver.commit(offsets={1: 1})

    driver.topic_deleted("t", "old")

    assert [1, -1] == [driver.committed(0), driver.committed(1)]


def test_a_topic_without_commits_leaves_no_trace():
    """No record, no event."""
    driver = GroupDriver()
    driver.stable("a")
    written = len(driver.log)

    driver.topic_deleted("u", "id")

    assert written == len(driver.log)
    assert [] == driver.emitted(OffsetsDropped)
