"""The batches of one period of a calm consumer, at each of which it can be entered and left.

The period that :mod:`~emulator.world.consumer.polling.calm` finds begins with one of its batches.
A consumer that comes back into it after an exchange is at any of them, and what is asked for ends
behind any of them. So the state at each batch is kept once, and what happens up to the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from emulator.world.consumer.handling.handler import Batch
from emulator.world.consumer.interfaces import Cycle, State
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.reader import Counts, Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assignors.types import TopicPartition
    from emulator.world.consumer.polling.calm_fetches import SavedFetches
    from protocols.consumer.reader import PollClock
    from protocols.messages import FetchResponse

    Shape = tuple[tuple[TopicPartition, int], ...]

FEWEST = 2
"""The fewest batches behind whole periods that are skipped: to take a state over costs as much as to play
one or two."""


class Point(NamedTuple):
    """What is there when a batch of the period begins; times and offsets are those of then."""

    at_us: int
    shape: Shape
    state: State
    turn_phase_us: int
    """The time since the heartbeat thread last read responses."""

    ranges: tuple[Handed, ...]
    positions: Mapping[TopicPartition, int]
    fetches: SavedFetches
    sent: int
    """The number of fetches sent before."""

    unread: list[tuple[int, FetchResponse]]
    polled_us: int
    """When the poll loop took its last turn."""

    noted: Counts | None
    """How much was collected of its polls before."""

    def batch(self, later_us: int, records: Mapping[TopicPartition, int]) -> Batch:
        """Return the batch, so much later and further."""
        ranges = [
            Handed(tp, first + records[tp], end + records[tp]) for tp, first, end in self.ranges
        ]
        return Batch.of(tuple(ranges), self.at_us + later_us)


class Skip(NamedTuple):
    """What is skipped: from one batch of a period up to another, that so many periods later."""

    begin: int
    end: int
    periods: int


class Lap:
    """All batches of one period, in their order; the first one is that with which it was found."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._points: list[Point] = []
        self._offsets: list[int] = []
        """When each of them begins in the period."""

        self._numbers: dict[Shape, list[int]] = {}
        """Which of them have so many records of these partitions."""

        self._notes: list[Notes | None] = []
        """What is collected of the polls between each of them and the next one; None: it is unknown."""

        self._firsts: dict[tuple[int, int], list[tuple[TopicPartition, int]]] = {}
        """What :meth:`first_us` has found, by the numbers of the first batch and of all."""

    # -- noting it -------------------------------------------------------------------------------

    @property
    def is_whole(self) -> bool:
        """Whether all its batches are known."""
        return bool(self._points) and len(self._notes) == len(self._points)

    def add(self, point: Point, clock: PollClock) -> None:
        """Add the batch that begins now, behind the last one."""
        if self._points:
            self.close(clock)
        self._numbers.setdefault(point.shape, []).append(len(self._points))
        self._points.append(point)
        self._offsets.append(point.at_us - self._points[0].at_us)

    def close(self, clock: PollClock) -> None:
        """End the last batch."""
        last = self._points[-1]
        self._notes.append(clock.since(last.noted, last.at_us))

    @property
    def is_noted(self) -> bool:
        """Whether it is known what is collected of its polls."""
        return None not in self._notes

    # -- finding a batch, and going on -----------------------------------------------------------

    def has(self, shape: Shape) -> bool:
        """Return whether a batch has so many records of these partitions."""
        return shape in self._numbers

    def find(self, shape: Shape, state: State | None, turn_phase_us: int) -> int | None:
        """Return the number of the batch that begins in this state; None: it is not known."""
        for number in self._numbers[shape]:
            point = self._points[number]
            if point.state == state:
                is_same = not self._cycle.late_reads or point.turn_phase_us == turn_phase_us
                return number if is_same else None
        return None

    def offset_us(self, number: int) -> int:
        """Return when a batch begins in the period."""
        return self._offsets[number]

    def skip(self, begin: int, most_us: int) -> Skip | None:
        """Return what can be skipped from a batch on in that time; None: it is too short."""
        if most_us <= 0:
            return None
        periods, left_us = divmod(self._offsets[begin] + most_us, self._cycle.period_us)
        skip = Skip(begin, bisect_right(self._offsets, left_us) - 1, periods)
        if self.batches(skip) % len(self._points) < FEWEST:
            skip = Skip(begin, begin, most_us // self._cycle.period_us)
        return skip if self.batches(skip) else None

    def batches(self, skip: Skip) -> int:
        """Return how many batches are skipped."""
        return skip.periods * len(self._points) + skip.end - skip.begin

    def end(self, skip: Skip) -> Point:
        """Return the batch behind what is skipped."""
        return self._points[skip.end]

    def length_us(self, skip: Skip) -> int:
        """Return the time that is skipped."""
        periods_us = skip.periods * self._cycle.period_us
        return periods_us + self._offsets[skip.end] - self._offsets[skip.begin]

    def records(self, skip: Skip) -> dict[TopicPartition, int]:
        """Return the number of records of each partition that are skipped."""
        begin, every = self._points[skip.begin].positions, self._cycle.records
        return {
            tp: skip.periods * every.get(tp, 0) + at - begin[tp]
            for tp, at in self._points[skip.end].positions.items()
        }

    def fetches(self, skip: Skip) -> int:
        """Return the number of fetches that are skipped."""
        behind = self._points[skip.end].sent - self._points[skip.begin].sent
        return skip.periods * self._cycle.fetches + behind

    def first_us(self, skip: Skip, now: int) -> dict[TopicPartition, int]:
        """Return when the first batch with records of each partition begins, if it is skipped from *now* on."""
        key = skip.begin, min(self.batches(skip), len(self._points))
        firsts = self._firsts.get(key)
        if firsts is None:
            firsts = self._firsts[key] = self._first(*key)
        return {tp: now + later_us for tp, later_us in firsts}

    def _first(self, begin: int, batches: int) -> list[tuple[TopicPartition, int]]:
        found: dict[TopicPartition, int] = {}
        for number, later_us in self._following(begin, batches):
            for tp, _ in self._points[number].shape:
                found.setdefault(tp, later_us)
        return list(found.items())

    def repeat(self, skip: Skip, clock: PollClock, now: int) -> None:
        """Note what is collected of the polls that are skipped from *now* on, if that is collected."""
        if clock.waits is None:
            return
        whole, rest = divmod(self.batches(skip), len(self._points))
        period_us = self._cycle.period_us
        if whole:
            clock.repeat(self._noted(skip.begin, len(self._points)), now, period_us, whole)
        if rest:
            clock.repeat(self._noted(skip.begin, rest), now + whole * period_us, 1, 1)

    def _noted(self, begin: int, batches: int) -> Notes:
        """Return what is collected while some batches follow each other."""
        waits, partial = list[int](), list[int]()
        for number, later_us in self._following(begin, batches):
            notes = self._notes[number]
            assert notes is not None, "it is collected"
            waits += [later_us + each for each in notes.waits]
            partial += [later_us + each for each in notes.partial]
        return Notes(tuple(waits), tuple(partial))

    def _following(self, begin: int, batches: int) -> Iterator[tuple[int, int]]:
        """Yield the numbers of batches that follow each other, and how much later each begins."""
        count, begin_us = len(self._points), self._offsets[begin]
        for number in range(begin, begin + batches):
            periods, place = divmod(number, count)
            yield place, periods * self._cycle.period_us + self._offsets[place] - begin_us
