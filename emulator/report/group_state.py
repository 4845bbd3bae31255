"""A group as its coordinator would describe it at some event of a run, or at its end.

Put together from what the coordinator told step by step, by the rules by which it describes
itself (``ConsumerGroupDescribe``, ``DescribeGroups``): who is how far, has what, gives up what,
and waits for what.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev

Partitions = tuple[TopicPartition, ...]

ARRIVED = "STABLE"
"""Kafka's name of the state of a member that has all of its target."""

CLASSIC, CONSUMER = "classic", "consumer"

EMPTY, STABLE = "Empty", "Stable"
ASSIGNING, RECONCILING = "Assigning", "Reconciling"
PREPARING_REBALANCE, COMPLETING_REBALANCE = "PreparingRebalance", "CompletingRebalance"
"""Kafka's names of the states of groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """One member: its epoch and state, what it may own, and what its target is.

    In a classic group the epoch is the generation, and nobody has a target.
    """

    consumer: str
    protocol: str = CONSUMER
    """Which it speaks: a group of the consumer protocol may have classic members, too."""

    epoch: int = 0
    state: str = ARRIVED
    assigned: Partitions = ()
    revoking: Partitions = ()
    target: Partitions = ()

    @property
    def missing(self) -> Partitions:
        """What it shall have and does not have yet."""
        return tuple(sorted(set(self.target) - set(self.assigned)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """One group with its members, by name."""

    group: str
    protocol: str
    phase: str
    """The state of a classic group."""

    epoch: int
    """Of a classic group: its generation."""

    target_epoch: int
    assignor: str
    reason: str
    """What raised its epoch last."""

    members: tuple[DescribedMember, ...]
    unowned: Partitions
    """What the last target gave out and nobody has now."""

    since_us: int
    """Since when it is in its state."""

    unserved_us: int
    """How long at most it waited for a new target, in one go, while all its members were classic:
    their heartbeats let nobody compute one."""

    @property
    def state(self) -> str:
        """The state of the group in Kafka's words."""
        if self.protocol == CLASSIC:
            return self.phase
        return state_of(self.epoch, self.target_epoch, self.members)

    @property
    def late(self) -> tuple[DescribedMember, ...]:
        """Members that are not where the last target wants them; of a classic group: none."""
        if self.protocol == CLASSIC:
            return ()
        return tuple(one for one in self.members if not arrived(one, self.target_epoch))


def state_of(epoch: int, target_epoch: int, members: Collection[DescribedMember]) -> str:
    """Return the state of a group of the consumer protocol in Kafka's words."""
    if not members:
        return EMPTY
    if epoch > target_epoch:
        return ASSIGNING
    return STABLE if all(arrived(one, target_epoch) for one in members) else RECONCILING


def arrived(member: DescribedMember, target_epoch: int) -> bool:
    """Say whether a member is where the target wants it."""
    return member.state == ARRIVED and member.epoch == target_epoch


class Describer:
    """Keeps the groups of a run; ``hear`` every event."""

    def __init__(self) -> None:
        self._books: dict[str, Book] = {}
        self._now_us = 0

    def hear(self, event: ev.Event) -> None:
        """Take in one event; most of them are none of ours."""
        self._now_us = event.at_us
        rule = RULES.get(type(event.what))
        if rule is None:
            return
        what: Any = event.what  # the table decides by its type
        book = self._books.get(what.group)
        if book is None:
            book = self._books[what.group] = Book(what.group)
        rule(book, what)
        book.note(event.at_us)

    @property
    def groups(self) -> tuple[DescribedGroup, ...]:
        """Return every group that ever had a member, as it is now, by name."""
        for book in self._books.values():
            book.note(self._now_us)
        return tuple(self._books[name].described for name in sorted(self._books))


def describe(group: str, history: Iterable[ev.Event], until: int) -> DescribedGroup | None:
    """Describe a group after the event with the id *until*; None if it is none of this protocol."""
    describer = Describer()
    for event in history:
        if event.id > until:
            break
        describer.hear(event)
    found = (one for one in describer.groups if one.group == group and one.protocol == CONSUMER)
    return next(found, None)


@dataclass(slots=True)
class Book:
    """What is known of one group."""

    group: str
    protocol: str = CLASSIC
    phase: str = EMPTY
    """The state of a classic group; one of the consumer protocol has its own, by its epochs."""

    epoch: int = 0
    target_epoch: int = 0
    reason: str = ""
    assignor: str = ""
    members: dict[str, DescribedMember] = field(default_factory=dict)
    """By member id: a process may be back while the member of the one before is still there."""

    newest: dict[str, str] = field(default_factory=dict)
    """Consumer: the id it came with last."""

    stable: dict[str, Partitions] = field(default_factory=dict)
    """Who had what when the group was last stable, under either protocol."""

    aimed: frozenset[TopicPartition] = frozenset()
    """All that the last target gave out."""

    since_us: int = 0
    unserved_us: int = 0
    _last: str = EMPTY
    _unserved: bool = False
    """Whether a new target is due and nobody is there whose heartbeat would compute it."""

    @property
    def described(self) -> DescribedGroup:
        """Return the group as it is now."""
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
        """Note since when the group is in its state, and how long nobody could assign anew."""
        if self._unserved:
            self.unserved_us = max(self.unserved_us, now - self.since_us)
        state = self._state()
        if state != self._last:
            self._last, self.since_us = state, now
        members = self.members.values()
        self._unserved = state == ASSIGNING and all(one.protocol == CLASSIC for one in members)

    def _state(self) -> str:
        if self.protocol == CLASSIC:
            return self.phase
        return state_of(self.epoch, self.target_epoch, self.members.values())

    def change(self, consumer: str, **new: Any) -> None:
        """Change what is known of the newest member of a consumer."""
        member_id = self.newest.get(consumer, consumer)
        known = self.members.get(member_id)
        if known is None:
            known = DescribedMember(consumer=consumer, protocol=self.protocol)
        self.members[member_id] = replace(known, **new)

    def name_what_went_before(self, consumer: str) -> None:
        """Tell a member whose process is gone from the one that has come in its place."""
        old = self.newest.get(consumer, consumer)
        if old in self.members:
            before = f"{consumer} (its process before)"
            self.members[old] = replace(self.members[old], consumer=before)


def _added(book: Book, what: ev.MemberAdded) -> None:
    if what.replaced:
        replaced = book.members.pop(what.replaced, None)
        if replaced is not None:
            book.members[what.member_id] = replaced
    else:
        book.name_what_went_before(what.consumer)
    book.newest[what.consumer] = what.member_id
    book.change(what.consumer, protocol=what.protocol)


def _removed(book: Book, what: ev.MemberRemoved) -> None:
    known = what.member_id in book.members
    book.members.pop(what.member_id if known else what.consumer, None)


def _raised(book: Book, what: ev.GroupEpochRaised) -> None:
    book.protocol, book.epoch, book.reason = CONSUMER, what.epoch, what.reason


def _computed(book: Book, what: ev.TargetComputed) -> None:
    book.target_epoch, book.assignor = what.epoch, what.assignor
    for consumer, target in what.changed:
        book.change(consumer, target=target)
    book.aimed = frozenset(tp for one in book.members.values() for tp in one.target)


def _moved(book: Book, what: ev.MemberMoved) -> None:
    book.change(
        what.consumer,
        epoch=what.epoch,
        state=what.state,
        assigned=what.assigned,
        revoking=what.revoking,
    )


def _started(book: Book, _: ev.RebalanceStarted) -> None:
    book.phase = PREPARING_REBALANCE


def _joined(book: Book, what: ev.JoinPhaseEnded) -> None:
    """Begin a classic generation: who is in it now is known for sure."""
    book.phase, book.epoch, book.assignor = COMPLETING_REBALANCE, what.generation, what.protocol
    book.members.clear()
    for consumer in what.consumers:
        book.change(consumer, epoch=what.generation, protocol=CLASSIC)


def _stable(book: Book, what: ev.GroupStabilised) -> None:
    book.stable = dict(what.assignment)
    if book.protocol == CLASSIC:
        book.phase, book.epoch = STABLE, what.generation
        for consumer, had in what.assignment:
            book.change(consumer, epoch=what.generation, assigned=had, protocol=CLASSIC)


def _emptied(book: Book, what: ev.GroupEmptied) -> None:
    """The last one's leave counts as a target of its own epoch."""
    book.phase = EMPTY
    book.epoch = book.target_epoch = what.generation
    book.members.clear()


def _loaded(book: Book, _: ev.CoordinatorMoved) -> None:
    """A classic group that a coordinator has loaded is in the generation of its record."""
    book.phase = STABLE if book.members else EMPTY


def _converted(book: Book, what: ev.GroupConverted) -> None:
    """Who comes along from a classic group goes on with what it had."""
    book.protocol = what.protocol
    book.phase = STABLE
    book.epoch = book.target_epoch = what.generation
    book.members.clear()
    for consumer in what.members:
        had = book.stable.get(consumer, ())
        book.change(consumer, epoch=what.generation, assigned=had, target=had, protocol=CLASSIC)
    book.aimed = frozenset(tp for one in book.members.values() for tp in one.target)


RULES: dict[type, Callable[[Book, Any], None]] = {
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
