"""What a member with a background thread does in a period, as far as metadata requests depend on it.

That thread handles each response when it arrives, and with the consumer protocol then takes the
events that are queued for it: a response that arrives while some are changes when the next fetches are sent.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import TYPE_CHECKING, Any

from assignors.values import dataclass
from emulator.world.periods.in_flight import is_classic

if TYPE_CHECKING:
    from emulator.world.consumer.process import Process


@dataclass(slots=True, kw_only=True)
class ThreadHabit:
    """What a client of the consumer protocol does in a period; times (us) are relative to its beginning."""

    period_us: int
    waits: array[int]
    """Begin and end of each time in which events are queued, in turns."""

    beats: AbstractSet[int]
    """When heartbeats were due."""

    commits_follow: bool
    """Whether commits that are sent in the instant of a request are sent behind it."""

    sent: set[int] = field(default_factory=set)
    """When commits were sent."""

    def handled_us(self, arrives_us: int, thread_us: int) -> int | None:
        """Return when a response is handled: when it arrives; None: events are queued then."""
        del thread_us
        return None if bisect_right(self.waits, arrives_us % self.period_us) % 2 else arrives_us

    def meets(self, sent_us: int, handled_us: int) -> bool:
        """Return whether the thread, or the queuing of an event, does something in the instants of a request.

        *handled_us*: when its response is handled.
        """
        sent_us, handled_us = sent_us % self.period_us, handled_us % self.period_us
        if sent_us in self.sent and not self.commits_follow:
            return True
        return handled_us in self.sent or self._does(sent_us) or self._does(handled_us)

    def _does(self, phase_us: int) -> bool:
        place = bisect_left(self.waits, phase_us)
        return phase_us in self.waits[place : place + 1] or phase_us in self.beats


def thread_habit(
    process: Process,
    waits: Iterable[int],
    turns: Iterable[tuple[int, int]],
    begin_us: int,
    end_us: int,
) -> ThreadHabit:
    """Return what a client does in a period.

    A classic client that works in the background requests metadata before it commits automatically.
    *waits*: begin and end of each time in which events are queued. *turns*: of its heartbeat timer, as
    ``Deadlines`` collects them.
    """
    period_us = end_us - begin_us
    return ThreadHabit(
        period_us=period_us,
        waits=array("q", [at - begin_us for at in waits]),
        beats=frozenset([(when - begin_us) % period_us for _, when in turns]),
        commits_follow=is_classic(process)
        and process.blueprint.commit.call not in ("sync", "async"),
    )


def queue_times(process: Process) -> Sequence[int]:
    """Return when events waited for the background thread; in a classic client none do."""
    client: Any = process.client
    return [] if is_classic(process) else client.consumer.queue_times.times or []
