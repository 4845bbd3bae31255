"""The state of groups after an event, as ``ConsumerGroupDescribe`` or ``DescribeGroups`` shows it.

A :class:`Describer` follows the events of the coordinator; a :class:`DescribedGroup` is the result.
What a replaced coordinator reports is left out: the elected one describes the group.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace
from typing import Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev

Partitions = tuple[TopicPartition, ...]

ARRIVED = "STABLE"
"""Kafka's state of a member that owns its target assignment."""


class Protocol(enum.StrEnum):
    """The protocol of a group or member, as in ``group.protocol``."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Phase(enum.StrEnum):
    """The state of a group, by Kafka's name."""

    EMPTY = "Empty"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """One member: its epoch, state, assignment and target assignment.

    In a classic group the epoch is the generation, and there is no target.
    """

    consumer: str
    protocol: str = Protocol.CONSUMER
    """Its protocol: a group of the consumer protocol may have classic members."""

    epoch: int = 0
    state: str = ARRIVED
    assigned: Partitions = ()
    revoking: Partitions = ()
    target: Partitions = ()

    @property
    def missing(self) -> Partitions:
        """The partitions of its target that it does not own yet."""
        return tuple(sorted(set(self.target) - set(self.assigned)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """One group with its members, by name."""

    group: str
    protocol: str
    phase: Phase
    """The state of a classic group."""

    epoch: int
    """Of a classic group: its generation."""

    target_epoch: int
    assignor: str
    reason: str
    """The reason of the last increase of its epoch."""

    members: tuple[DescribedMember, ...]
    unowned: Partitions
    """The partitions of the target assignment that no member owns."""

    since_us: int
    """Start of its present state."""

    unserved_us: int
    """The longest wait for a new target assignment while all members were classic: their
    heartbeats do not compute one."""

    @property
    def state(self) -> Phase:
        """The state of the group, by Kafka's name."""
        if self.protocol == Protocol.CLASSIC:
            return self.phase
        return state_of(self.epoch, self.target_epoch, self.members)

    @property
    def late(self) -> tuple[DescribedMember, ...]:
        """Members that have not reached the target assignment; none in a classic group."""
        if self.protocol == Protocol.CLASSIC:
            return ()
        return tuple(one for one in self.members if not arrived(one, self.target_epoch))


def state_of(epoch: int, target_epoch: int, members: Collection[DescribedMember]) -> Phase:
    """Return the state of a group of the consumer protocol, by Kafka's name."""
    if not members:
        return Phase.EMPTY
    if epoch > target_epoch:
        return Phase.ASSIGNING
    return Phase.STABLE if all(arrived(one, target_epoch) for one in members) else Phase.RECONCILING


def arrived(member: DescribedMember, target_epoch: int) -> bool:
    """Return whether a member has reached the target assignment."""
    return member.state == ARRIVED and member.epoch == target_epoch


class Describer:
    """Follows the groups of a run; pass every event to ``feed``."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupState] = {}
        self._now_us = 0

    def feed(self, event: ev.Event) -> None:
        """Apply an event if it concerns a group."""
        self._now_us = event.at_us
        rule = RULES.get(type(event.what))
        if rule is None or ev.by_replaced_coordinator(event.what):
            return
        what: Any = event.what  # the table selects the handler by type
        group = self._groups.get(what.group)
        if group is None:
            group = self._groups[what.group] = GroupState(what.group)
        rule(group, what)
        group.note(event.at_us)

    @property
    def groups(self) -> tuple[DescribedGroup, ...]:
        """Every group that had a member, in its present state, by name."""
        for group in self._groups.values():
            group.note(self._now_us)
        return tuple(self._groups[name].described for name in sorted(self._groups))


def describe(group: str, history: Iterable[ev.Event], until: int) -> DescribedGroup | None:
    """Return a group after the row *until*; None if it is not of the consumer protocol."""
    describer = Describer()
    for event in history:
        if event.row > until:
            break
        describer.feed(event)
    found = (
        one for one in describer.groups if one.group == group and one.protocol == Protocol.CONSUMER
    )
    return next(found, None)


@dataclass(slots=True)
class GroupState:
    """The state of one group."""

    group: str
    protocol: str = Protocol.CLASSIC
    phase: Phase = Phase.EMPTY
    """The state of a classic group; that of a KIP-848 group follows from its epochs."""

    epoch: int = 0
    target_epoch: int = 0
    reason: str = ""
    assignor: str = ""
    members: dict[str, DescribedMember] = field(default_factory=dict)
    """By member id: a process may have restarted while its previous member still exists."""

    newest: dict[str, str] = field(default_factory=dict)
    """Consumer: the newest of its member ids."""

    stable: dict[str, Partitions] = field(default_factory=dict)
    """Consumer: its partitions when the group was last stable, under either protocol."""

    aimed: frozenset[TopicPartition] = frozenset()
    """All partitions of the target assignment."""

    since_us: int = 0
    unserved_us: int = 0
    _last: Phase = Phase.EMPTY
    _unserved: bool = False
    """Whether a new target is due and no member's heartbeat computes it."""

    @property
    def described(self) -> DescribedGroup:
        """The group in its present state."""
        held = {tp for one in self.members.values() for tp in (*one.assigned, *one.revoking)}
        return DescribedGroup(
            group=self.group,
            protocol=self.protocol,
            phase=self.phase,
            epoch=self.epoch,
            target_epoch=self.target_epoch,
            assignor=self.assignor,
            reason=self.reason,
            members=tuple(sorted(self.members.values(), key=lambda member: member.consumer)),
            unowned=tuple(sorted(self.aimed - held)),
            since_us=self.since_us,
            unserved_us=self.unserved_us,
        )

    def note(self, now: int) -> None:
        """Update the start of the present state and the wait for a target."""
        if self._unserved:
            self.unserved_us = max(self.unserved_us, now - self.since_us)
        state = self._state()
        if state != self._last:
            self._last, self.since_us = state, now
        members = self.members.values()
        self._unserved = state == Phase.ASSIGNING and all(
            one.protocol == Protocol.CLASSIC for one in members
        )

    def _state(self) -> Phase:
        if self.protocol == Protocol.CLASSIC:
            return self.phase
        return state_of(self.epoch, self.target_epoch, self.members.values())

    def change(self, consumer: str, **new: Any) -> None:
        """Change the newest member of a consumer."""
        member_id = self.newest.get(consumer, consumer)
        known = self.members.get(member_id)
        if known is None:
            known = DescribedMember(consumer=consumer, protocol=self.protocol)
        self.members[member_id] = replace(known, **new)

    def rename_previous(self, consumer: str) -> None:
        """Rename the member of a process that has ended, because its consumer joins again."""
        old = self.newest.get(consumer, consumer)
        if old in self.members:
            before = f"{consumer} (previous process)"
            self.members[old] = replace(self.members[old], consumer=before)


def _added(group: GroupState, what: ev.MemberAdded) -> None:
    if what.replaced:
        replaced = group.members.pop(what.replaced, None)
        if replaced is not None:
            group.members[what.member_id] = replaced
    else:
        group.rename_previous(what.consumer)
    group.newest[what.consumer] = what.member_id
    if what.protocol == Protocol.CONSUMER:
        group.protocol = Protocol.CONSUMER
    group.change(what.consumer, protocol=what.protocol)


def _removed(group: GroupState, what: ev.MemberRemoved) -> None:
    known = what.member_id in group.members
    group.members.pop(what.member_id if known else what.consumer, None)


def _raised(group: GroupState, what: ev.GroupEpochRaised) -> None:
    group.protocol, group.epoch, group.reason = Protocol.CONSUMER, what.epoch, what.reason


def _computed(group: GroupState, what: ev.TargetComputed) -> None:
    group.target_epoch, group.assignor = what.epoch, what.assignor
    for consumer, target in what.changed:
        group.change(consumer, target=target)
    group.aimed = frozenset(tp for one in group.members.values() for tp in one.target)


def _moved(group: GroupState, what: ev.MemberMoved) -> None:
    group.change(
        what.consumer,
        epoch=what.epoch,
        state=what.state,
        assigned=what.assigned,
        revoking=what.revoking,
    )


def _started(group: GroupState, _: ev.RebalanceStarted) -> None:
    group.phase = Phase.PREPARING_REBALANCE


def _joined(group: GroupState, what: ev.JoinPhaseEnded) -> None:
    """Begin a classic generation with the members of the event."""
    group.phase, group.epoch, group.assignor = (
        Phase.COMPLETING_REBALANCE,
        what.generation,
        what.protocol,
    )
    group.members.clear()
    for consumer in what.consumers:
        group.change(consumer, epoch=what.generation, protocol=Protocol.CLASSIC)


def _stable(group: GroupState, what: ev.GroupStabilised) -> None:
    group.stable = dict(what.assignment)
    if group.protocol == Protocol.CLASSIC:
        group.phase, group.epoch = Phase.STABLE, what.generation
        for consumer, had in what.assignment:
            group.change(consumer, epoch=what.generation, assigned=had, protocol=Protocol.CLASSIC)


def _emptied(group: GroupState, what: ev.GroupEmptied) -> None:
    """Apply the leave of the last member, which is also a target assignment."""
    group.phase = Phase.EMPTY
    group.epoch = group.target_epoch = what.generation
    group.members.clear()


def _loaded(group: GroupState, _: ev.CoordinatorMoved) -> None:
    """Apply a load: a loaded classic group is in the generation of its record."""
    group.phase = Phase.STABLE if group.members else Phase.EMPTY


def _converted(group: GroupState, what: ev.GroupConverted) -> None:
    """Apply a conversion: members of a classic group keep their partitions."""
    group.protocol = what.protocol
    group.phase = Phase.STABLE
    group.epoch = group.target_epoch = what.generation
    group.members.clear()
    for consumer in what.members:
        had = group.stable.get(consumer, ())
        group.change(
            consumer, epoch=what.generation, assigned=had, target=had, protocol=Protocol.CLASSIC
        )
    group.aimed = frozenset(tp for one in group.members.values() for tp in one.target)


RULES: dict[type, Callable[[GroupState, Any], None]] = {
    ev.MemberAdded: _added,
    ev.MemberRemoved: _removed,
    ev.GroupEpochRaised: _raised,
    ev.TargetComputed: _computed,
    ev.MemberMoved: _moved,
    ev.RebalanceStarted: _started,
    ev.JoinPhaseEnded: _joined,
    ev.GroupStabilised: _stable,
    ev.GroupEmptied: _emptied,
    ev.CoordinatorMoved: _loaded,
    ev.GroupConverted: _converted,
}
