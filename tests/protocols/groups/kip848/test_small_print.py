"""Single rules of the consumer protocol's groups: what is counted, read back, removed and reported."""

from __future__ import annotations

import pytest
from immutables import Map

from protocols.facts import MemberAdded
from protocols.groups.kip848.group import Counts, Group
from protocols.groups.kip848.patterns import matcher
from protocols.groups.kip848.records import group_tombstones
from protocols.groups.kip848.replay import _epochs_of, _with_other
from protocols.messages import HeartbeatRequest
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupPartitionMetadataKey,
)

from ..migration.driver import GROUP, Migration
from .driver import ConsumerGroupDriver


@pytest.mark.parametrize(
    ("users", "topics", "readers", "alike"),
    [
        ({"a": 2}, {"t": 1}, {}, True),
        ({"a": 1}, {"t": 1}, {}, False),
        ({"a": 2}, {"t": 1}, {"u": 1}, False),
        ({"a": 2, "b": 1}, {"t": 2}, {}, False),
    ],
)
def test_members_with_patterns_count_as_alike_if_all_use_the_same_and_no_other_matches(
    users: dict[str, int], topics: dict[str, int], readers: dict[str, int], alike: bool
):
    """``ConsumerGroup.subscriptionType`` of two members."""
    counts = Counts(2, Map(readers), Map(topics), Map(users))

    assert alike == counts.is_homogeneous()


def test_partitions_of_a_record_without_an_epoch_each_have_that_of_the_member():
    """So are those of an older broker, and of a list that is too short."""
    topic_id = "0" * 22

    def epochs(*given: int) -> dict[int, int]:
        one = AssignedPartitions(topic_id=topic_id, partitions=(0, 1), assignment_epochs=given)
        return _epochs_of(one, 7)

    assert {0: 4, 1: 5} == epochs(4, 5)
    assert {0: 7, 1: 7} == epochs(4) == epochs()


def test_a_record_of_kafka_40_is_remembered_until_its_tombstone():
    """Record 4, which later versions remove with the next change of the topics."""
    key = ConsumerGroupPartitionMetadataKey("g")

    with_it = _with_other(Group("g"), key, object())

    assert with_it.holds_topic_metadata
    assert not _with_other(with_it, key, None).holds_topic_metadata


def test_the_records_that_end_a_group_name_a_replaced_member_by_its_new_id():
    """The others stay as they are."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B")

    records = group_tombstones(it.group, old="A", new="C")

    assert {"B", "C"} == {
        record.key.member_id for record in records if hasattr(record.key, "member_id")
    }


def test_an_unknown_instance_finds_no_room_in_a_full_group():
    """One that the group knows replaces its member, which costs no room."""
    it = ConsumerGroupDriver(group_consumer_max_size=1)
    it.join("A", instance="i")

    assert ErrorCode.GROUP_MAX_SIZE_REACHED == it.join("B", instance="j").error
    it.beat("A", -2, instance="i")
    assert ErrorCode.NONE == it.join("B", instance="i").error


def test_a_pattern_that_the_library_refuses_has_its_message():
    """It is what the client is told."""
    with pytest.raises(ValueError, match=r"\w"):
        matcher("(")


def test_a_member_is_reported_when_it_comes_and_when_it_replaces_another():
    """Not when it joins again with the same id."""
    it = ConsumerGroupDriver()
    it.join("A", instance="i")
    it.join("A", instance="i")
    assert ["A"] == [fact.member_id for fact in it.emitted(MemberAdded)]

    it.beat("A", -2, instance="i")
    it.join("B", instance="i")
    assert ["A", "B"] == [fact.member_id for fact in it.emitted(MemberAdded)]


def test_a_classic_member_is_reported_once_in_a_group_of_consumers():
    """Its second JoinGroup adds nobody."""
    it = Migration()
    it.join("C")
    it.enter("x")
    assert ["C", it.ids["x"]] == [fact.member_id for fact in it.emitted(MemberAdded)]

    it.join_classic("x")
    assert ["C", it.ids["x"]] == [fact.member_id for fact in it.emitted(MemberAdded)]


def test_a_static_classic_member_of_a_consumer_group_is_fenced_by_its_instance():
    """Only the id that holds the instance has a place in the group."""
    it = Migration()
    it.enter_static("x", "i")
    it.join("C")
    epoch = it.member(it.ids["x"]).current.epoch

    def answered(member_id: str) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=epoch, member_id=member_id, group_instance_id="i"
        )
        return it.send(request, "x").error

    assert ErrorCode.FENCED_INSTANCE_ID == answered("other")
    assert ErrorCode.REBALANCE_IN_PROGRESS == answered(it.ids["x"])
