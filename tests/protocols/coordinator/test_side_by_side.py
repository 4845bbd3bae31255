"""One coordinator, groups of both protocols: they share a log and never meet."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from assignors.types import Subscription, TopicPartition
from protocols.coordinator.machine import GroupCoordinator
from protocols.coordinator.replay import replayed
from protocols.groups.classic.group import Group as ClassicGroup
from protocols.groups.kip848.group import Group as ConsumerGroup
from protocols.groups.shard import Durable
from protocols.machine import Append, Send
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    Envelope,
    Header,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Protocol,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.settings import BrokerSettings

TOPIC = TopicDescription("t", "MqLAo9DuQMWcW0M5zgcNyw", (1,) * 4)


class Host:
    """The least that a coordinator needs around it."""

    def __init__(self) -> None:
        self.coordinator = GroupCoordinator(
            BrokerSettings(), new_id=lambda prefix: f"{prefix}-{next(self.ids)}", topics=[TOPIC]
        )
        self.ids = count()
        self.log: list[Record] = []
        self.coordinator.loaded(0)

    def send(self, request: Any, now_us: int = 0) -> Any:
        """Send a request; return its answer, or None if it is kept open."""
        step = self.coordinator.handle(Envelope(Header("c", 0, "c"), request), now_us)
        answers = [effect.message for effect in step.effects if isinstance(effect, Send)]
        for effect in step.effects:
            if isinstance(effect, Append):
                self.log += effect.records
                done = self.coordinator.durable(self.coordinator.next_log_offset, now_us)
                answers += [each.message for each in done.effects if isinstance(each, Send)]
        self.coordinator.check()
        assert self.coordinator.state.durable == replayed(Durable(), self.log)
        return answers[0] if answers else None

    def joined(self, group: str, member: str = "A", **more: Any) -> Any:
        return self.send(
            ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member,
                member_epoch=0,
                rebalance_timeout_ms=1_000,
                subscribed_topic_names=("t",),
                topic_partitions=(),
                **more,
            )
        )

    def left(self, group: str, member: str = "A") -> Any:
        return self.send(
            ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=-1)
        )

    def join_classic(self, group: str, member: str = "", **more: Any) -> Any:
        return self.send(
            JoinGroupRequest(
                group_id=group,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                member_id=member,
                protocols=(Protocol("range", Subscription(topics=("t",))),),
                **more,
            )
        )

    def commit(self, group: str, member: str = "", generation: int = -1) -> ErrorCode:
        offsets = (OffsetToCommit(TopicPartition("t", 0), 5),)
        request = OffsetCommitRequest(
            group_id=group, member_id=member, generation_id=generation, offsets=offsets
        )
        return self.send(request).errors[0][1]

    def fetched(self, group: str) -> int:
        request = OffsetFetchRequest(group_id=group, partitions=(TopicPartition("t", 0),))
        return self.send(request).offsets[0].offset

    def type_of(self, group: str) -> type:
        known = self.coordinator.state.durable.groups.get(group)
        if isinstance(known, ConsumerGroup):
            return ConsumerGroup
        return type(self.coordinator.state.groups.get(group))

    @property
    def types(self) -> list[str]:
        return [f"{key.record_type}{'x' if value is None else ''}" for key, value in self.log]


@pytest.fixture
def host() -> Host:
    return Host()


def test_each_group_lives_by_its_own_rules(host):
    """A classic join waits for others, a heartbeat is answered at once."""
    member = host.join_classic("old").member_id
    assert host.join_classic("old", member) is None
    assert 2 == host.joined("new").member_epoch

    assert (ClassicGroup, ConsumerGroup) == (host.type_of("old"), host.type_of("new"))
    assert (0, 2) == (host.coordinator.generation("old"), host.coordinator.generation("new"))
    assert -1 == host.coordinator.generation("none")


def test_a_timer_ends_a_classic_join(host):
    """A timer of no group does nothing."""
    member = host.join_classic("old").member_id
    host.join_classic("old", member)
    host.coordinator.wake("join-old", 3_000_000)
    host.coordinator.wake("join-none", 3_000_000)

    assert 1 == host.coordinator.generation("old")


def test_a_state_recurs_while_only_answers_to_commits_wait():
    """The first commit makes a group, which ends if the append fails; the second one does not."""
    coordinator = GroupCoordinator(BrokerSettings(), new_id=str)
    coordinator.loaded(0)
    assert coordinator.recurring(0) is not None
    offsets = (OffsetToCommit(TopicPartition("t", 0), 5),)
    request = OffsetCommitRequest(group_id="g", offsets=offsets)

    coordinator.handle(Envelope(Header("c", 0, "c"), request), 0)
    assert coordinator.recurring(0) is None

    coordinator.durable(1, 0)
    durable = coordinator.recurring(0)
    assert durable is not None

    coordinator.handle(Envelope(Header("c", 1, "c"), request), 10)
    assert coordinator.recurring(10) not in (None, durable)
    assert [Header("c", 1, "c")] == coordinator.log.waiting()


def test_offsets_alone_make_a_group_that_either_protocol_may_take_over(host):
    """The offsets stay."""
    host.commit("g")

    assert 2 == host.joined("g").member_epoch
    assert (5, ConsumerGroup) == (host.fetched("g"), host.type_of("g"))
    assert ["1", "2x", "5", "3", "7", "6", "8"] == host.types


def test_an_empty_consumer_group_makes_room_for_a_classic_member(host):
    """Its records are deleted and the classic group's begin, in one batch."""
    host.joined("g")
    host.commit("g", "A", 2)
    host.left("g")
    before = len(host.log)

    assert ErrorCode.MEMBER_ID_REQUIRED == host.join_classic("g").error

    assert ["6x", "4x", "3x", "2"] == host.types[before:]
    assert (ClassicGroup, 5) == (host.type_of("g"), host.fetched("g"))


def test_an_empty_classic_group_makes_room_for_a_consumer_member(host):
    """It has no members; the offsets stay."""
    host.join_classic("g")
    host.commit("g")
    before = len(host.log)

    assert 2 == host.joined("g").member_epoch

    assert ["2x", "5", "3", "7", "6", "8"] == host.types[before:]
    assert (ConsumerGroup, 5) == (host.type_of("g"), host.fetched("g"))


def test_a_refused_member_changes_no_group(host):
    """An empty group stays what it was."""
    host.join_classic("g")
    before = len(host.log)

    refused = host.joined("g", subscribed_topic_regex="(")

    assert ErrorCode.INVALID_REGULAR_EXPRESSION == refused.error
    assert (ClassicGroup, before) == (host.type_of("g"), len(host.log))


def test_a_change_of_type_is_taken_back_when_its_append_fails(host):
    """The group is what it was before, offsets and all."""
    host.join_classic("g")
    host.commit("g")
    start = len(host.log)
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="A",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=("t",),
        topic_partitions=(),
    )
    host.coordinator.handle(Envelope(Header("c", 0, "c"), request), 0)
    host.coordinator.rejected(start, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    host.coordinator.check()

    assert (ClassicGroup, 5) == (host.type_of("g"), host.fetched("g"))


def test_groups_of_both_types_are_deleted_in_one_batch(host):
    """Each by its own tombstones."""
    host.joined("new")
    host.left("new")
    host.join_classic("old")
    before = len(host.log)

    answer = host.send(DeleteGroupsRequest(group_ids=("new", "old", "none")))

    assert [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND] == [
        error for _, error in answer.results
    ]
    assert ["6x", "4x", "3x", "2x"] == host.types[before:]


def test_a_log_that_makes_a_consumer_group_of_a_living_classic_one_is_broken(host):
    """Its record was never deleted."""
    host.joined("g")
    member = Host()
    member.join_classic("g", member.join_classic("g").member_id)
    classic = [record._replace(value=record.value) for record in member.log]
    named = [
        Record(key, value) if value is None else Record(key, _with_type(value))
        for key, value in classic
    ]

    with pytest.raises(BrokenLogError, match="g is a classic group"):
        replayed(Durable(), [*named, *host.log])


def _with_type(value: Any) -> Any:
    """Return a driver whose group has been used with this protocol."""
    return replace(value, protocol_type="consumer")
