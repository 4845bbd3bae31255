"""The coordinator of the tiny world."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any, NamedTuple, Self

from assignors.types import TopicPartition
from protocols.groups.kip848.group import Group
from protocols.groups.kip848.group import MemberState as Reached

from ..driver import GROUP, ConsumerGroupDriver, topic
from .likeness import Likeness
from .parties import ALL, TOPICS, Party, by_name


class Placed(NamedTuple):
    """One member as its coordinator has it."""

    epoch: int
    state: Reached
    assigned: frozenset[TopicPartition]
    revoking: frozenset[TopicPartition]
    target: frozenset[TopicPartition]


class Coordinated(NamedTuple):
    """The part of the coordinator that the laws and the search see."""

    epoch: int
    target_epoch: int
    state: str
    members: dict[str, Placed]
    timers: tuple[str, ...]
    read: tuple[TopicPartition, ...] = ()
    """The partitions of all topics that somebody reads, sorted."""


class Coordinator(Party, ConsumerGroupDriver):
    """A coordinator whose log is durable at once, and whose clock does not move."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(*(topic(name, count) for name, count in TOPICS.items()), **settings)
        self.checks = False

    def copied(self) -> Self:
        twin = copy.copy(self)
        twin.coordinator = copy.copy(self.coordinator)
        log = twin.coordinator._log = copy.copy(self.coordinator._log)
        for waiting in ("_proposals", "_deferred", "_facts"):
            setattr(log, waiting, copy.copy(getattr(log, waiting)))
        twin.timers, twin.log = dict(self.timers), list(self.log)
        twin.facts, twin.effects, twin.batches, twin._calls = [], [], [], {}
        return twin

    def likeness(self) -> Hashable:
        shard = self.coordinator.state
        like = Likeness(self.now_us)
        offsets = tuple(
            (name, number, value.offset)
            for name, partitions in shard.durable.topics_of(GROUP).items()
            for number, value in partitions.items()
        )
        group = shard.durable.groups.get(GROUP)
        return (like.of(group), like.of(shard.soft), offsets, tuple(sorted(self.timers)))

    def seen(self) -> Coordinated:
        self.coordinator.check()
        group = self.coordinator.state.durable.groups.get(GROUP)
        if not isinstance(group, Group):
            return Coordinated(0, 0, "Dead", {}, ())
        return Coordinated(
            group.epoch,
            group.target_epoch,
            self.state,
            {member.member_id: self._placed(group, member) for member in group},
            tuple(sorted(self.timers)),
            tuple(tp for tp in ALL if tp.topic in group.name_readers),
        )

    def _placed(self, group: Group, member: Any) -> Placed:
        return Placed(
            member.current.epoch,
            member.current.state,
            by_name(member.current.assigned.items()),
            by_name(member.current.revoking.items()),
            by_name(group.targets.get(member.member_id, {}).items()),
        )

    def moved(self, move: Any) -> tuple[Any, ...]:
        match move:
            case ("timer", name):
                del self.timers[name]
                self._carry_out(self.coordinator.wake(name, self.now_us))
                return ()
            case "fails over":
                self.fail_over()
                return ()
        name, request = move
        return tuple(self.send(request, name).answers)
