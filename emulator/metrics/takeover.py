"""Measure how long after a fault other consumers took over the faulted member's partitions.

For each partition that a member named by a fault owned when the fault began: the time until another
incarnation (of any consumer) began the first record it processed of that partition. Where a member
is started, every partition of the run is watched, and those that move count. A newer fault takes
over the watch on a partition; the watch ends if its owner survives the fault and commits again.
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
class Blow:
    """One fault: the partitions under watch because of it, and when each was taken over."""

    fault: str
    at_us: int
    partitions: int
    ended: bool = False
    taken_us: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Watch:
    """A partition that waits for its next owner."""

    blow: Blow
    owner: Incarnation


class TakeoverMeter:
    """Watches for other incarnations that process where a faulted member stopped."""

    def __init__(self) -> None:
        self._blows: list[Blow] = []
        self._held: dict[str, dict[Key, None]] = {}
        self._incarnations: dict[str, int] = {}
        self._watches: dict[Key, Watch] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: self._stopped,
            ev.EpochOpened: self._opened,
            ev.EpochClosed: self._closed,
            ev.FaultBegan: self._began,
            ev.FaultEnded: self._ended,
            ev.Processed: self._processed,
            ev.CommitAccepted: self._accepted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the takeovers of each fault that had any."""
        blows = [blow for blow in self._blows if blow.taken_us]
        return Reading(
            values={
                "takeover_first_s": longest(min(blow.taken_us) for blow in blows),
                "takeover_last_s": longest(max(blow.taken_us) for blow in blows),
            },
            listings={"takeovers": tuple(_row(blow) for blow in blows)},
        )

    def _started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        self._incarnations[what.consumer] = what.incarnation
        self._held.setdefault(what.consumer, {}).clear()

    def _stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._held.setdefault(what.consumer, {}).clear()

    def _opened(self, _: ev.Event, what: ev.EpochOpened) -> None:
        self._held.setdefault(what.consumer, {})[what.group, what.partition] = None

    def _closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        self._held.setdefault(what.consumer, {}).pop((what.group, what.partition), None)

    def _began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        named = [word for word in _WORDS.findall(what.target) if word in self._held]
        struck = list(self._held) if what.verb == "start" else named
        blow = Blow(what.fault, event.at_us, 0)
        for name in struck:
            owner = (name, self._incarnations.get(name, 0))
            for key in self._held[name]:
                self._watches[key] = Watch(blow, owner)
                blow.partitions += 1
        if blow.partitions:
            self._blows.append(blow)

    def _ended(self, _: ev.Event, what: ev.FaultEnded) -> None:
        for watch in self._watches.values():
            if watch.blow.fault == what.fault:
                watch.blow.ended = True

    def _processed(self, _: ev.Event, what: ev.Processed) -> None:
        if not self._watches:
            return
        key = (what.group, what.partition)
        watch = self._watches.get(key)
        if watch is None or what.began_us < watch.blow.at_us:
            return
        if watch.owner != (what.consumer, self._incarnations.get(what.consumer, 0)):
            watch.blow.taken_us.append(what.began_us - watch.blow.at_us)
            del self._watches[key]

    def _accepted(self, _: ev.Event, what: ev.CommitAccepted) -> None:
        if not self._watches:
            return
        sender = (what.consumer, self._incarnations.get(what.consumer, 0))
        for partition, _offset in what.offsets:
            watch = self._watches.get((what.group, partition))
            if watch is not None and watch.blow.ended and watch.owner == sender:
                del self._watches[what.group, partition]


def _row(blow: Blow) -> Row:
    return {
        "fault": blow.fault,
        "at_s": seconds(blow.at_us),
        "partitions": blow.partitions,
        "taken_over": len(blow.taken_us),
        "first_s": seconds(min(blow.taken_us)),
        "last_s": seconds(max(blow.taken_us)),
    }
