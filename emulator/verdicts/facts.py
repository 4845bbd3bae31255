"""The facts about a run that verdicts need besides its ledger and its metrics.

A :class:`FactsMeter` follows faults, processes and the members of each group; :class:`Facts` are its
values at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emulator import events as ev
from emulator.metrics.readings import Handler

POISON = "poison"
"""The verb of a record that takes long or fails, which has no end."""


class Missed(NamedTuple):
    """A fault that did not fire, and why."""

    fault: str
    why: str


class Lasting(NamedTuple):
    """A fault that had not ended."""

    fault: str
    verb: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEnd:
    """One group at the end of a run."""

    group: str
    rebalancing_since_us: int | None = None
    """The start of the rebalance that had not ended; None: the group was stable or empty."""

    absent: tuple[str, ...] = ()
    """Consumers whose process had ended, but which the coordinator still had as members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The state at the end of a run, as far as it concerns verdicts."""

    ended_us: int
    groups: tuple[GroupEnd, ...] = ()
    missed: tuple[Missed, ...] = ()
    lasting: tuple[Lasting, ...] = ()


class Process(NamedTuple):
    """One start of a consumer."""

    consumer: str
    incarnation: int


@dataclass(slots=True)
class GroupFacts:
    """The members and the rebalance of one group."""

    members: dict[str, Process] = field(default_factory=dict)
    """By member id."""

    by_coordinator: bool = False
    """Whether it is a group of the consumer protocol."""

    rebalancing_since_us: int | None = None

    def begin_rebalance(self, at_us: int) -> None:
        """Note the start of a rebalance, unless one is running."""
        if self.rebalancing_since_us is None:
            self.rebalancing_since_us = at_us

    def keep(self, consumers: Iterable[str]) -> None:
        """Keep the newest member of each of *consumers*, and no other."""
        newest = {process.consumer: name for name, process in self.members.items()}
        kept = {newest[consumer] for consumer in consumers if consumer in newest}
        self.members = {name: one for name, one in self.members.items() if name in kept}


class FactsMeter:
    """Follows a run; pass every event to ``feed``, then call ``close`` once."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupFacts] = {}
        self._incarnations: dict[str, int] = {}
        self._running: set[Process] = set()
        self._missed: list[Missed] = []
        self._lasting: dict[str, Lasting] = {}
        self._now_us = 0
        self._handlers: dict[type, Handler] = {
            ev.FaultBegan: self._on_fault_began,
            ev.FaultEnded: self._on_fault_ended,
            ev.FaultMissed: self._on_fault_missed,
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.MemberAdded: self._on_added,
            ev.MemberRemoved: self._on_removed,
            ev.RebalanceStarted: self._on_rebalance,
            ev.GroupEpochRaised: self._on_rebalance,
            ev.JoinPhaseEnded: self._on_joined,
            ev.GroupStabilised: self._on_stable,
            ev.GroupEmptied: self._on_emptied,
            ev.GroupConverted: self._on_converted,
            ev.CoordinatorMoved: self._on_moved,
        }

    def feed(self, event: ev.Event) -> None:
        """Follow one event."""
        self._now_us = event.at_us
        handler = self._handlers.get(type(event.what))
        if handler is not None:
            handler(event, event.what)

    def close(self) -> Facts:
        """Return the facts of a finished run."""
        return Facts(
            ended_us=self._now_us,
            groups=tuple(self._end_of(name) for name in sorted(self._groups)),
            missed=tuple(self._missed),
            lasting=tuple(self._lasting.values()),
        )

    def _end_of(self, name: str) -> GroupEnd:
        group = self._groups[name]
        absent = {
            process.consumer
            for process in group.members.values()
            if process.consumer and process not in self._running
        }
        return GroupEnd(
            group=name,
            rebalancing_since_us=group.rebalancing_since_us,
            absent=tuple(sorted(absent)),
        )

    def _group(self, name: str) -> GroupFacts:
        return self._groups.setdefault(name, GroupFacts())

    # -- faults ------------------------------------------------------------------------------

    def _on_fault_began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        """Note a fault that ends; the steps of a rolling restart have a cause."""
        if event.cause is None and what.verb != POISON:
            self._lasting[what.fault] = Lasting(what.fault, what.verb, what.target)

    def _on_fault_ended(self, _: ev.Event, what: ev.FaultEnded) -> None:
        self._lasting.pop(what.fault, None)

    def _on_fault_missed(self, _: ev.Event, what: ev.FaultMissed) -> None:
        self._missed.append(Missed(what.fault, what.why))

    # -- processes and members ---------------------------------------------------------------

    def _on_started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        self._incarnations[what.consumer] = what.incarnation
        self._running.add(Process(what.consumer, what.incarnation))

    def _on_stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._running.discard(Process(what.consumer, self._incarnations.get(what.consumer, 0)))

    def _on_added(self, _: ev.Event, what: ev.MemberAdded) -> None:
        group = self._group(what.group)
        group.by_coordinator |= what.protocol == "consumer"
        group.members.pop(what.replaced, None)
        incarnation = self._incarnations.get(what.consumer, 0)
        group.members[what.member_id] = Process(what.consumer, incarnation)

    def _on_removed(self, _: ev.Event, what: ev.MemberRemoved) -> None:
        self._group(what.group).members.pop(what.member_id, None)

    # -- groups ------------------------------------------------------------------------------

    def _on_rebalance(
        self, event: ev.Event, what: ev.RebalanceStarted | ev.GroupEpochRaised
    ) -> None:
        self._group(what.group).begin_rebalance(event.at_us)

    def _on_joined(self, _: ev.Event, what: ev.JoinPhaseEnded) -> None:
        """Begin a classic generation with the members of the event."""
        self._group(what.group).keep(what.consumers)

    def _on_stable(self, _: ev.Event, what: ev.GroupStabilised) -> None:
        self._group(what.group).rebalancing_since_us = None

    def _on_emptied(self, _: ev.Event, what: ev.GroupEmptied) -> None:
        group = self._group(what.group)
        group.members.clear()
        group.rebalancing_since_us = None

    def _on_converted(self, _: ev.Event, what: ev.GroupConverted) -> None:
        group = self._group(what.group)
        group.by_coordinator = what.protocol == "consumer"
        group.rebalancing_since_us = None

    def _on_moved(self, _: ev.Event, what: ev.CoordinatorMoved) -> None:
        """Apply a load: a loaded classic group is in the generation of its record."""
        group = self._group(what.group)
        if not group.by_coordinator:
            group.rebalancing_since_us = None


def facts_of(history: Iterable[Any]) -> Facts:
    """Return the facts of a whole run."""
    meter = FactsMeter()
    for event in history:
        meter.feed(event)
    return meter.close()
