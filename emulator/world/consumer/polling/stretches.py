"""Polls of the consumer protocol that a consumer has played before, from the same state.

The delays of its two threads repeat after some seconds, so that its polls have no shorter period, and
heartbeats and commits come in between. So its state is noted at the beginning of each stretch of polls
and at some points of that time (:class:`Known`), relative to the time and to its positions. Where it
comes to a known state again, at the same point of the delays, everything up to the next known one is
the same as before (:class:`Part`), and is not played.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.scenario.estimates import periods
from emulator.world.consumer.handling.handler import Batch, Unreported
from emulator.world.consumer.polling.exchanges import ALL, ARRIVAL
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.kip848.machine import Client

if TYPE_CHECKING:
    from collections.abc import Mapping

    from emulator.world.consumer.blueprints import AnyClient
    from emulator.world.consumer.interfaces import ConsumerProcess
    from emulator.world.consumer.polling.calm_fetches import CalmFetches, SavedFetches
    from protocols.consumer.kip848.calm import SavedPoll

PARTS = 5
"""The number of parts of the time after which delays repeat, which are known by themselves."""

MIN_BATCHES = 4
"""The fewest batches of a part that is noted: to play it again costs little more than to take it."""

MAX_KNOWN = 64
"""The most states of one consumer that are kept."""

MAX_PARTS = 8
"""The most parts that are kept behind one state."""

MAX_IN_VAIN = 32
"""After so many states none of which came again the search pauses."""

SHORTEST_PAUSE_US = 10_000_000

BEGIN = -1
"""What is left at the instant at which a stretch begins: everything."""


Ends = dict[TopicPartition, tuple[int, int]]
"""By partition, the end of finished records, and when the first batch with them began."""


class State(NamedTuple):
    """All that decides what a calm consumer does next; times and offsets are relative."""

    poll: SavedPoll
    fetches: SavedFetches
    begin_us: int
    ranges: tuple[Handed, ...]
    """The batch in progress and its beginning; no ranges: there is none."""

    def batch_ends(self) -> Ends:
        """Return the end of each partition in that batch, and when it began."""
        return {tp: (end, self.begin_us) for tp, _, end in self.ranges}


@dataclass(frozen=True, slots=True)
class Known:
    """A state that was noted, and the parts that follow, by length and by what is left at their end."""

    state: State
    parts: dict[tuple[int, int], Part] = field(default_factory=dict)


class Part(NamedTuple):
    """What happens from one state to the next; times and offsets are relative to its beginning."""

    end: Known
    brought: dict[TopicPartition, int]
    """How far it moves each position."""

    sent: int
    """The number of fetches sent."""

    finished: Ends
    """Those of batches that begin and end in it."""

    handed: dict[TopicPartition, int]
    """The end of what is handed out, by partition."""

    queue_times: tuple[int, ...] | None
    """When queued events waited for the background thread; None: that was not watched."""


Reached = tuple[dict[TopicPartition, int], Unreported]
"""The end of what was handed out of each partition, and what is finished and not counted."""


class Taken(NamedTuple):
    """A part that comes again, and where it begins now."""

    begin: Known
    part: Part
    at_us: int
    positions: dict[TopicPartition, int]


class Loop(Protocol):
    """The poll loop of a consumer."""

    calm: Any
    """The poll in the client's place."""

    batch: Batch | None
    """The batch in progress."""

    def play_events(self, until: int, first_left: int) -> bool:
        """Play events before *until*, and of that instant those before *first_left*; return whether any came."""

    def leave_batch(self) -> None:
        """End the batch in progress."""

    def resume(self, batch: Batch | None) -> None:
        """Work on a batch, or wait in poll."""


class Stretches:
    """Notes the parts of the stretches of one consumer, and takes those that come again."""

    def __init__(self, loop: Loop, fetches: CalmFetches, client: Client, reached: Reached) -> None:
        self._loop, self._fetches = loop, fetches
        self._handed, self._finished = reached
        self._queue_times = client.consumer.queue_times
        self._length_us = max(periods.LAGS_REPEAT_US // PARTS, 1)
        self._all: dict[tuple[int, int], Known] = {}
        """The last state by the time since delays began again, and by what is left at that instant."""

        self._at: Known | None = None
        """The state in which the consumer is now; None: it was not noted."""

        self._begins = False
        """Whether nothing of the stretch was played but its first poll."""

        self._at_us = 0
        self._positions: dict[TopicPartition, int] = {}
        self._batches: list[Batch] = []
        """The batches that began in the part that is played."""

        self._sent = self._noted = 0
        """The number of fetches sent before it, and of queue times noted."""

        self._in_vain = self._paused_until_us = 0
        self._pause_us = SHORTEST_PAUSE_US

    def begin(self, now: int) -> None:
        """Begin a stretch, outside poll; the application enters it then."""
        self._at, self._at_us = self._known(now, BEGIN), now
        self._positions = self._fetches.positions()
        self._begins = True

    def _begin_part(self) -> None:
        self._begins, self._batches = False, []
        self._sent, self._noted = self._fetches.sent, len(self._queue_times.times or ())

    def began(self, batch: Batch) -> None:
        """Note a batch that begins."""
        self._batches.append(batch)

    def play(self, until: int, first_left: int) -> None:
        """Play events before *until*, and of that instant those before *first_left*."""
        last = until, first_left
        if self._begins:
            self._begin_part()
        while True:
            self._take(last)
            end = min(self._next_end(self._at_us), last)
            if self._loop.play_events(*end) or end != last:
                self._played(*end)
            if end == last:
                return

    def _next_end(self, now: int) -> tuple[int, int]:
        """Return the end of the part that goes on now, unless that is asked for before."""
        return now - now % self._length_us + self._length_us, ARRIVAL

    # -- known states ------------------------------------------------------------------------------

    def _arrive(self, known: Known | None, now: int) -> None:
        """Note that the consumer is in a state now; None: one that is not noted."""
        self._at, self._at_us = known, now
        if known is not None:
            self._positions = self._fetches.positions()
        self._begin_part()

    def _known(self, now: int, left: int) -> Known | None:
        """Return the state of now, which may be known; None: it is irregular, or not to be noted."""
        if now < self._paused_until_us:
            return None
        positions, batch = self._fetches.positions(), self._loop.batch
        fetches = self._fetches.saved(now, positions)
        if fetches is None:
            return None
        begun = (0, ()) if batch is None else (batch.begin_us - now, _less(batch, positions))
        state = State(self._loop.calm.saved(now), fetches, *begun)
        place = now % periods.LAGS_REPEAT_US, left
        known = self._all.get(place)
        if known is not None and known.state == state:
            self._in_vain, self._pause_us = 0, SHORTEST_PAUSE_US
            return known
        self._rest(now)
        known = self._all[place] = Known(state)
        if len(self._all) > MAX_KNOWN:
            del self._all[next(iter(self._all))]
        return known

    def _rest(self, now: int) -> None:
        """Pause, each time for longer, if no state came again for long."""
        self._in_vain += 1
        if self._in_vain > MAX_IN_VAIN:
            self._in_vain, self._paused_until_us = 0, now + self._pause_us
            self._pause_us *= 2

    # -- parts -------------------------------------------------------------------------------------

    def _take(self, last: tuple[int, int]) -> None:
        """Go on behind the known parts that come now, up to *last*."""
        at, at_us, positions, parts = self._at, self._at_us, self._positions, []
        while at is not None and (at_us, ALL) < last:
            end = min(self._next_end(at_us), last)
            part = at.parts.get((end[0] - at_us, end[1]))
            if part is None or (part.queue_times is None and self._queue_times.times is not None):
                break
            parts.append(Taken(at, part, at_us, positions))
            positions = {tp: offset + part.brought[tp] for tp, offset in positions.items()}
            at, at_us = part.end, end[0]
        if at is not None and parts and self._fetches.comes_to(at.state.fetches, at_us, positions):
            self._restore(at, at_us, positions, parts)

    def _restore(
        self,
        known: Known,
        now: int,
        positions: Mapping[TopicPartition, int],
        parts: list[Taken],
    ) -> None:
        """Put everything behind these parts."""
        loop, state, times = self._loop, known.state, self._queue_times.times
        if loop.batch is not None:
            loop.leave_batch()
        for number, (begin, part, at_us, before) in enumerate(parts):
            if number:
                self._finished.add(begin.state.batch_ends(), at_us, before)
            self._handed.update({tp: before[tp] + end for tp, end in part.handed.items()})
            self._finished.add(part.finished, at_us, before)
            self._fetches.count(part.sent)
            if times is not None:
                times += [at_us + each for each in part.queue_times or ()]
        loop.calm.restore(state.poll, now)
        self._fetches.restore(state.fetches, now, positions)
        batch = None
        if state.ranges:
            ranges = [
                Handed(tp, low + positions[tp], end + positions[tp])
                for tp, low, end in state.ranges
            ]
            batch = Batch.of(tuple(ranges), state.begin_us + now)
        loop.resume(batch)
        self._arrive(known, now)

    def _played(self, end_us: int, left: int) -> None:
        """Note the part that was played up to *end_us*, and the state there."""
        before, batches, known = self._at, self._batches, None
        if len(batches) >= MIN_BATCHES and (before is not None or left == ARRIVAL):
            known = self._known(end_us, left)
        if before is not None and known is not None:
            at_us, positions, times = self._at_us, self._positions, self._queue_times.times
            if len(before.parts) >= MAX_PARTS:
                before.parts.clear()
            before.parts[end_us - at_us, left] = Part(
                end=known,
                brought={tp: at - positions[tp] for tp, at in self._fetches.positions().items()},
                sent=self._fetches.sent - self._sent,
                finished=_finished(
                    batches if self._loop.batch is None else batches[:-1], at_us, positions
                ),
                handed={tp: end - positions[tp] for each in batches for tp, _, end in each.ranges},
                queue_times=None
                if times is None
                else tuple([each - at_us for each in times[self._noted :]]),
            )
        self._arrive(known, end_us)


def _less(batch: Batch, positions: Mapping[TopicPartition, int]) -> tuple[Handed, ...]:
    """Return the records of a batch relative to these positions."""
    return tuple(
        [Handed(tp, low - positions[tp], end - positions[tp]) for tp, low, end in batch.ranges]
    )


def _finished(batches: list[Batch], at_us: int, positions: Mapping[TopicPartition, int]) -> Ends:
    """Return the end of each partition in these batches, relative to a time and to *positions*."""
    found: Ends = {}
    for batch in batches:
        for tp, _, end in batch.ranges:
            first_us = found[tp][1] if tp in found else batch.begin_us - at_us
            found[tp] = end - positions[tp], first_us
    return found


def stretches_of(
    loop: Loop,
    process: ConsumerProcess,
    fetches: CalmFetches,
    client: AnyClient,
    reached: Reached,
) -> Stretches | None:
    """Return the stretches of a process of the consumer protocol that does nothing by chance.

    None: it uses another one, its work or lateness is drawn, its records are watched, or a topic has
    no constant rate.
    """
    blueprint, run = process.blueprint, process.run
    if not isinstance(client, Client) or run.recorder.on_record is not None:
        return None
    if blueprint.each_us is None or blueprint.lateness_us is not None:
        return None
    rates = [topic.rate for topic in run.scenario.topic]
    return (
        Stretches(loop, fetches, client, reached)
        if all(isinstance(each, float) for each in rates)
        else None
    )
