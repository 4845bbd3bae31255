"""Skip what repeats: the periods of a calm consumer whose records, work and network are regular.

A consumer that reads steady streams over a network of constant latency does the same again and
again: after some time its fetches, its batch and the records to come are where they were, later by
one period. Such a state is found by comparing the states at which batches begin with an earlier one
(:class:`Mark`, renewed at growing distances, as in Brent's search for cycles). From then on whole
periods are skipped: times move by multiples of the period, offsets by what it brings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from emulator.world.consumer.handler import Batch
from protocols.consumer.fetching import Handed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignors.types import TopicPartition
    from emulator.world.consumer.calm_fetches import CalmFetches, State
    from emulator.world.consumer.progress import Unreported
    from protocols.consumer.classic.calm import CalmPoll

LONGEST_SEARCH = 1 << 12
"""The most batches between two marks."""


class Mark(NamedTuple):
    """A state that may come again."""

    at_us: int
    shape: tuple[tuple[TopicPartition, int], ...]
    """The number of records of the batch, by partition."""

    state: State
    positions: Mapping[TopicPartition, int]
    fetches: int
    """The number of fetches sent before."""

    late_reads: int
    """How often responses had waited for a poll before."""

    turn_phase_us: int
    """The time since the heartbeat thread last read responses."""


class Cycle(NamedTuple):
    """What one period of a consumer brings."""

    period_us: int
    records: Mapping[TopicPartition, int]
    fetches: int
    late_reads: bool
    """Whether responses wait for a poll: then it matters when the heartbeat thread read them."""


class Cycles:
    """Finds and skips the periods of one consumer of the classic protocol."""

    def __init__(self, fetches: CalmFetches, finished: Unreported) -> None:
        self._fetches = fetches
        self._finished = finished
        self._mark: Mark | None = None
        self._cycle: Cycle | None = None
        self._batches = 0
        self._distance = 1
        """The number of batches after which the mark is renewed."""

    def interrupted(self) -> None:
        """Note that something else happened: a period that is not known yet is not measured."""
        if self._cycle is None:
            self._mark = None
            self._batches = 0

    def skip(self, calm: CalmPoll, batch: Batch, until_us: int) -> Batch | None:
        """Skip whole periods that end before *until_us*; return the batch that begins then.

        *batch* begins now. None: nothing is skipped.
        """
        mark = self._mark
        if mark is None or batch.shape != mark.shape or not self._is_again(mark, calm, batch):
            self._search(calm, batch)
            return None
        self._batches = 0
        if self._cycle is None:
            self._cycle = self._measured(calm, mark, batch.begin_us)
        cycle = self._cycle
        times = (until_us - 1 - batch.begin_us) // cycle.period_us
        if times <= 0 or not self._finished.covers(cycle.records):
            return None
        return self._later(calm, batch, cycle, times)

    def _is_again(self, mark: Mark, calm: CalmPoll, batch: Batch) -> bool:
        """Return whether the marked state is here again."""
        if self._state(calm, batch.begin_us) != mark.state:
            return False
        late = calm.late_reads > mark.late_reads if self._cycle is None else self._cycle.late_reads
        return not late or calm.turn_phase_us(batch.begin_us) == mark.turn_phase_us

    def _state(self, calm: CalmPoll, now: int) -> State | None:
        fetches = self._fetches.state(now)
        return None if fetches is None else (fetches, calm.unread_state(now))

    def _search(self, calm: CalmPoll, batch: Batch) -> None:
        """Count a batch that does not begin as the marked one; renew the mark at times."""
        self._batches += 1
        if self._mark is not None and self._batches < self._distance:
            return
        if self._cycle is not None:
            self._cycle, self._distance = None, 1
        self._mark, self._batches = None, 0
        now = batch.begin_us
        state = self._state(calm, now)
        if state is None:
            return
        self._mark = Mark(
            at_us=now,
            shape=batch.shape,
            state=state,
            positions=self._fetches.positions(),
            fetches=self._fetches.sent,
            late_reads=calm.late_reads,
            turn_phase_us=calm.turn_phase_us(now),
        )
        self._distance = min(2 * self._distance, LONGEST_SEARCH)

    def _measured(self, calm: CalmPoll, mark: Mark, now: int) -> Cycle:
        """Return the period between the marked state and the same one now."""
        before = mark.positions
        brought = {tp: at - before[tp] for tp, at in self._fetches.positions().items()}
        self._distance = LONGEST_SEARCH
        return Cycle(
            period_us=now - mark.at_us,
            records={tp: count for tp, count in brought.items() if count},
            fetches=self._fetches.sent - mark.fetches,
            late_reads=calm.late_reads > mark.late_reads,
        )

    def _later(self, calm: CalmPoll, batch: Batch, cycle: Cycle, times: int) -> Batch | None:
        """Move everything by some periods, unless the records to come are others then."""
        later_us = times * cycle.period_us
        records = {tp: times * count for tp, count in cycle.records.items()}
        if not self._fetches.move(later_us, records, times * cycle.fetches):
            return None
        self._finished.move(records)
        calm.move(later_us, records)
        ranges = [
            Handed(tp, first + records[tp], following + records[tp])
            for tp, first, following in batch.ranges
        ]
        return Batch.of(tuple(ranges), batch.begin_us + later_us)
