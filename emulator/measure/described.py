"""A group of the consumer protocol as its coordinator would describe it at some event of a run.

Put together from what the coordinator told step by step, by the rules by which it describes
itself (``ConsumerGroupDescribe``): who is how far, has what, gives up what, and waits for what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev

Partitions = tuple[TopicPartition, ...]

ARRIVED = "STABLE"
"""Kafka's name of the state of a member that has all of its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """One member: its epoch and state, what it may own, and what its target is."""

    consumer: str
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
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedMember, ...]

    @property
    def state(self) -> str:
        """The state of the group in Kafka's words."""
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        arrived = all(
            member.state == ARRIVED and member.epoch == self.target_epoch for member in self.members
        )
        return "Stable" if arrived else "Reconciling"


def describe(group: str, history: Iterable[ev.Event], until: int) -> DescribedGroup | None:
    """Describe a group after the event with the id *until*; None if it is none of this protocol."""
    book = _Book(group)
    for event in history:
        if event.id > until:
            break
        what: Any = event.what  # the table decides by its type
        rule = _RULES.get(type(what))
        if rule is not None and what.group == group:
            rule(book, what)
    return book.described()


@dataclass(slots=True)
class _Book:
    """What is known of a group up to some event."""

    group: str
    is_consumer: bool = False
    epoch: int = 0
    target_epoch: int = 0
    assignor: str = ""
    members: dict[str, DescribedMember] = field(default_factory=dict)
    stable: dict[str, Partitions] = field(default_factory=dict)
    """Who had what when the group was last stable, under either protocol."""

    def described(self) -> DescribedGroup | None:
        if not self.is_consumer:
            return None
        return DescribedGroup(
            group=self.group,
            epoch=self.epoch,
            target_epoch=self.target_epoch,
            assignor=self.assignor,
            members=tuple(self.members[name] for name in sorted(self.members)),
        )

    def change(self, consumer: str, **new: Any) -> None:
        known = self.members.get(consumer, DescribedMember(consumer=consumer))
        self.members[consumer] = replace(known, **new)


def _added(book: _Book, what: ev.MemberAdded) -> None:
    book.change(what.consumer)


def _removed(book: _Book, what: ev.MemberRemoved) -> None:
    book.members.pop(what.consumer, None)


def _raised(book: _Book, what: ev.GroupEpochRaised) -> None:
    book.is_consumer, book.epoch = True, what.epoch


def _computed(book: _Book, what: ev.TargetComputed) -> None:
    book.target_epoch, book.assignor = what.epoch, what.assignor
    for consumer, target in what.changed:
        book.change(consumer, target=target)


def _moved(book: _Book, what: ev.MemberMoved) -> None:
    book.change(
        what.consumer,
        epoch=what.epoch,
        state=what.state,
        assigned=what.assigned,
        revoking=what.revoking,
    )


def _stable(book: _Book, what: ev.GroupStabilised) -> None:
    book.stable = dict(what.assignment)


def _emptied(book: _Book, what: ev.GroupEmptied) -> None:
    """The last one's leave counts as a target of its own epoch."""
    book.epoch = book.target_epoch = what.generation
    book.members.clear()


def _converted(book: _Book, what: ev.GroupConverted) -> None:
    """Who comes along from a classic group goes on with what it had."""
    book.is_consumer = what.protocol == "consumer"
    book.epoch = book.target_epoch = what.generation
    book.members.clear()
    for consumer in what.members:
        had = book.stable.get(consumer, ())
        book.change(consumer, epoch=what.generation, assigned=had, target=had)


_RULES: dict[type, Callable[[_Book, Any], None]] = {
    ev.MemberAdded: _added,
    ev.MemberRemoved: _removed,
    ev.GroupEpochRaised: _raised,
    ev.TargetComputed: _computed,
    ev.MemberMoved: _moved,
    ev.GroupStabilised: _stable,
    ev.GroupEmptied: _emptied,
    ev.GroupConverted: _converted,
}
