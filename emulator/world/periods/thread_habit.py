"""What a member of the consumer protocol does in a period, as far as metadata requests depend on it.

Its background thread handles each response when it arrives, and then takes the events that are queued
for it: a response that arrives while some are changes when the next fetches are sent.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import field

from assignors.values import dataclass


@dataclass(slots=True, kw_only=True)
class ThreadHabit:
    """What a client of the consumer protocol does in a period; times (us) are relative to its beginning."""

    period_us: int
    waits: array[int]
    """Begin and end of each time in which events are queued, in turns."""

    beats: AbstractSet[int]
    """When heartbeats were due."""

    sent: set[int] = field(default_factory=set)
    """When commits were sent."""

    def handled_us(self, arrives_us: int, thread_us: int) -> int | None:
        """Return when a response is handled: when it arrives; None: events are queued then."""
        del thread_us
        return None if bisect_right(self.waits, arrives_us % self.period_us) % 2 else arrives_us

    def meets(self, at_us: int) -> bool:
        """Return whether the thread, or the queuing of an event, does something in the same instant."""
        phase_us = at_us % self.period_us
        place = bisect_left(self.waits, phase_us)
        found = self.waits[place : place + 1]
        return phase_us in found or phase_us in self.sent or phase_us in self.beats


def thread_habit(
    waits: Iterable[int], turns: Iterable[tuple[int, int]], begin_us: int, end_us: int
) -> ThreadHabit:
    """Return what a client does in a period.

    *waits*: begin and end of each time in which events are queued. *turns*: of its heartbeat timer, as
    ``Deadlines`` collects them.
    """
    period_us = end_us - begin_us
    return ThreadHabit(
        period_us=period_us,
        waits=array("q", [at - begin_us for at in waits]),
        beats=frozenset([(when - begin_us) % period_us for _, when in turns]),
    )
