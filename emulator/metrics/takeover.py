"""Measure how long after a fault other consumers took over the faulted member's partitions.

A takeover is measured for each partition that a faulted member owned when the fault began: the time
until another incarnation (of any consumer) began the first record it processed of that partition. If
the action starts a member, all owned partitions are observed, and those that move count. A later
fault replaces an earlier one for the same partition. A partition is no longer observed once its
owner has survived the fault and committed again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator import events as ev
from emulator.metrics.readings import Handler, Key, Reading, Row, longest, seconds

_WORDS = re.compile(r"[^\s,|<>()\[\]]+")

Incarnation = tuple[str, int]


@dataclass(slots=True)
class FaultTakeover:
    """One fault: how many partitions it affects, and the time until each was taken over."""

    fault: str
    at_us: int
    partitions: int
    ended: bool = False
    taken_us: list[int] = field(default_factory=list)


@dataclass(slots=True)
class PendingPartition:
    """A partition that is observed until another incarnation processes its records."""

    takeover: FaultTakeover
    owner: Incarnation


class TakeoverMeter:
    """Measures the time until other incarnations process a faulted member's partitions."""

    def __init__(self) -> None:
        self._takeovers: list[FaultTakeover] = []
        self._owned: dict[str, dict[Key, None]] = {}
        self._incarnations: dict[str, int] = {}
        self._pending: dict[Key, PendingPartition] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.FaultBegan: self._on_began,
            ev.FaultEnded: self._on_ended,
            ev.Processed: self._on_processed,
            ev.CommitAccepted: self._on_accepted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the takeovers of each fault that had any."""
        takeovers = [takeover for takeover in self._takeovers if takeover.taken_us]
        return Reading(
            values={
                "takeover_first_s": longest(min(takeover.taken_us) for takeover in takeovers),
                "takeover_last_s": longest(max(takeover.taken_us) for takeover in takeovers),
            },
            listings={"takeovers": tuple(_row(takeover) for takeover in takeovers)},
        )

    def _on_started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        self._incarnations[what.consumer] = what.incarnation
        self._owned.setdefault(what.consumer, {}).clear()

    def _on_stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._owned.setdefault(what.consumer, {}).clear()

    def _on_opened(self, _: ev.Event, what: ev.EpochOpened) -> None:
        self._owned.setdefault(what.consumer, {})[what.group, what.partition] = None

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        self._owned.setdefault(what.consumer, {}).pop((what.group, what.partition), None)

    def _on_began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        targets = [word for word in _WORDS.findall(what.target) if word in self._owned]
        affected = list(self._owned) if what.verb == "start" else targets
        takeover = FaultTakeover(what.fault, event.at_us, 0)
        for name in affected:
            owner = (name, self._incarnations.get(name, 0))
            for key in self._owned[name]:
                self._pending[key] = PendingPartition(takeover, owner)
                takeover.partitions += 1
        if takeover.partitions:
            self._takeovers.append(takeover)

    def _on_ended(self, _: ev.Event, what: ev.FaultEnded) -> None:
        for pending in self._pending.values():
            if pending.takeover.fault == what.fault:
                pending.takeover.ended = True

    def _on_processed(self, _: ev.Event, what: ev.Processed) -> None:
        if not self._pending:
            return
        key = (what.group, what.partition)
        pending = self._pending.get(key)
        if pending is None or what.began_us < pending.takeover.at_us:
            return
        if pending.owner != (what.consumer, self._incarnations.get(what.consumer, 0)):
            pending.takeover.taken_us.append(what.began_us - pending.takeover.at_us)
            del self._pending[key]

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted) -> None:
        if not self._pending:
            return
        sender = (what.consumer, self._incarnations.get(what.consumer, 0))
        for partition, _offset in what.offsets:
            pending = self._pending.get((what.group, partition))
            if pending is not None and pending.takeover.ended and pending.owner == sender:
                del self._pending[what.group, partition]


def _row(takeover: FaultTakeover) -> Row:
    return {
        "fault": takeover.fault,
        "at_s": seconds(takeover.at_us),
        "partitions": takeover.partitions,
        "taken_over": len(takeover.taken_us),
        "first_s": seconds(min(takeover.taken_us)),
        "last_s": seconds(max(takeover.taken_us)),
    }
