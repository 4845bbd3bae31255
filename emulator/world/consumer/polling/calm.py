"""The periods of a calm consumer that repeat.

A consumer that reads steady streams over a network of constant latency does the same again and
again: after some time its fetches, its batch and the records to come are where they were, later by
one period. :class:`Cycles` finds such a state: it compares the states at which batches begin with
an earlier one (:class:`Mark`), which it renews at growing distances, as Brent's search for cycles
does. From then on whole periods are skipped: times move by multiples of the period, offsets by the
records of so many periods. It is also known when poll waits, before that is calculated. If a period
has several batches, all of them are noted once (:mod:`emulator.world.consumer.polling.laps`): a
consumer that comes back into its period enters it at any of them, and leaves it at any other.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from emulator.world.consumer.handling.handler import Batch, Unreported
from emulator.world.consumer.interfaces import ConsumerProcess, Cycle, Mark, State

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.polling.calm_fetches import CalmFetches
    from emulator.world.consumer.polling.fetch_in_flight import Ahead
    from emulator.world.consumer.polling.laps import Lap, Point, Skip
    from protocols.consumer.classic.calm import CalmPoll


LONGEST_SEARCH = 1 << 12
"""The most batches between two marks."""

SHORTEST_SEARCH = 16
"""The least batches, besides two periods, until a period that does not come again is given up."""

MIN_BATCHES, MAX_BATCHES = 4, 32
"""The fewest and the most batches of a period of which all are noted: to take a state over costs as
much as to play one or two."""


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

        self._waits: list[int] = []
        """Begin and end of each wait in poll since the mark (us)."""

        self._first_us: dict[TopicPartition, int] = {}
        """When the first batch with records of each partition began, since the mark."""

        self._since_us: int | None = None
        """A begin of the known period, which repeats since then; None: it may not."""

        self._ahead: list[Ahead] = []
        """The records that were ahead then."""

        self._repeats = 0
        """The number of periods behind which the same records are known to come; 0: none is known."""

        self._lap: Lap | None = None
        """The batches of the known period, or those noted so far; None: they are not known."""

        self._noted = False
        """Whether they were noted, or could not be."""

    def on_wait(self, now: int) -> None:
        """Note that poll waits."""
        if self._cycle is None and not len(self._waits) % 2:
            self._waits.append(now)

    def on_return(self, now: int) -> None:
        """Note that poll returns records."""
        if len(self._waits) % 2:
            self._waits.append(now)

    def is_waiting(self, now: int) -> bool:
        """Return whether poll certainly waits, and waited before and will wait after this instant."""
        cycle, since_us = self._cycle, self._since_us
        if cycle is None or since_us is None:
            return False
        whole, phase_us = divmod(now - since_us, cycle.period_us)
        number = bisect_left(cycle.waits, phase_us)
        if not number % 2 or cycle.waits[number] == phase_us:
            return False
        times = whole + 1
        if times == self._repeats:
            return True
        records = {tp: times * count for tp, count in cycle.records.items()}
        if not self._fetches.repeats(times * cycle.period_us, records, self._ahead):
            return False
        self._repeats = times
        return True

    def interrupted(self, *, goes_on: bool = False) -> None:
        """Note that something else happened: a period that is not known yet is not measured.

        *goes_on*: what the consumer does next is the same as without it.
        """
        if not goes_on:
            self._since_us = None
        if self._cycle is None:
            self._mark = None
            self._batches = 0
        if not self._is_lap_known:
            self._lap = None

    def began_again(self) -> None:
        """Note that the client has polled by itself meanwhile: it may read from other leaders."""
        self.interrupted()
        self._lap, self._noted = None, False

    def skip(self, calm: CalmPoll, batch: Batch, until_us: int) -> Batch | None:
        """Skip what repeats and ends before *until_us*; return the batch that begins then.

        *batch* begins now. None: nothing is skipped.
        """
        if calm.clock.waits is not None:
            self._take_noted(calm)
        number = self._place(calm, batch)
        if number is None:
            self._note_point(calm, batch)
            self._search(calm, batch)
            return None
        if self._cycle is None:
            assert self._mark is not None, "its state is here again"
            self._cycle = self._measured(calm, self._mark, batch.begin_us)
            self._distance = max(2 * self._batches, SHORTEST_SEARCH)
        self._batches = 0
        most_us = until_us - 1 - batch.begin_us
        if not self._is_lap_known and self._learns(calm, batch, self._cycle, most_us):
            return None
        lap = self._lap
        self._begins(batch.begin_us - (0 if lap is None else lap.offset_us(number)))
        if lap is not None:
            skip = lap.skip(number, most_us)
            return None if skip is None else self._go(calm, batch, lap, skip)
        times = most_us // self._cycle.period_us
        return self._later(calm, batch, self._cycle, times) if times > 0 else None

    def _take_noted(self, calm: CalmPoll) -> None:
        """Forget a period, or batches of it, of which it is not known what the clock collects."""
        if not self._is_noted(calm):
            self._give_up()
            self._mark, self._batches = None, 0
        elif self._lap is not None and not self._lap.is_noted:
            self._lap, self._noted = None, False

    def _give_up(self) -> None:
        """Forget the period that was known."""
        self._cycle = self._lap = self._since_us = None
        self._distance, self._noted = 1, False

    def _place(self, calm: CalmPoll, batch: Batch) -> int | None:
        """Return which batch of the known period this is, or 0 for the marked state; None: neither."""
        lap, mark, now = self._lap, self._mark, batch.begin_us
        if lap is None or not self._is_lap_known:
            if mark is None or batch.shape != mark.shape:
                return None
            return 0 if self._is_again(mark, calm, batch) else None
        if not lap.has(batch.shape):
            return None
        return lap.find(batch.shape, self._state(calm, now), calm.turn_phase_us(now))

    # -- the batches of the period ---------------------------------------------------------------

    @property
    def _is_lap_known(self) -> bool:
        return self._lap is not None and self._lap.is_whole

    def _learns(self, calm: CalmPoll, batch: Batch, cycle: Cycle, most_us: int) -> bool:
        """Begin or end to note the batches of the period; return whether they are noted from now on.

        *batch* is the first one; nothing else happens for *most_us*.
        """
        lap = self._lap
        if lap is not None:
            lap.close(calm.clock)
            return False
        if self._noted or most_us < cycle.period_us or not _is_worth(cycle):
            return False
        from emulator.world.consumer.polling.laps import Lap  # noqa: PLC0415  few have such a period

        self._lap, self._noted = Lap(cycle), True
        self._note_point(calm, batch)
        return self._lap is not None

    def _note_point(self, calm: CalmPoll, batch: Batch) -> None:
        """Note the batch that begins now, if those of the period are noted."""
        lap = self._lap
        if lap is not None and not lap.is_whole:
            point = self._point(calm, batch)
            if point is None:
                self._lap = None
            else:
                lap.add(point, calm.clock)

    def _is_noted(self, calm: CalmPoll) -> bool:
        """Return whether it is known what the clock collects in a period, or will be when it is measured."""
        if self._cycle is not None:
            return self._cycle.notes is not None
        return self._mark is None or calm.clock.counts_on(self._mark.noted)

    def _begins(self, now: int) -> None:
        self._since_us, self._ahead, self._repeats = now, self._fetches.ahead(), 0

    def _is_again(self, mark: Mark, calm: CalmPoll, batch: Batch) -> bool:
        """Return whether the marked state is here again."""
        if self._state(calm, batch.begin_us) != mark.state:
            return False
        late = calm.late_reads > mark.late_reads if self._cycle is None else self._cycle.late_reads
        return not late or calm.turn_phase_us(batch.begin_us) == mark.turn_phase_us

    def _state(self, calm: CalmPoll, now: int) -> State | None:
        fetches = self._fetches.state(now)
        return None if fetches is None else (fetches, calm.unread_state(now))

    def _point(self, calm: CalmPoll, batch: Batch) -> Point | None:
        """Return what is there now, when a batch begins; None: it is not regular."""
        from emulator.world.consumer.polling.laps import Point  # noqa: PLC0415  as above

        now, positions = batch.begin_us, self._fetches.positions()
        state, fetches = self._state(calm, now), self._fetches.saved(now, positions)
        if state is None or fetches is None:
            return None
        return Point(
            at_us=now,
            shape=batch.shape,
            state=state,
            turn_phase_us=calm.turn_phase_us(now),
            ranges=batch.ranges,
            positions=positions,
            fetches=fetches,
            sent=self._fetches.sent,
            unread=list(calm.unread),
            polled_us=calm.clock.polled_us,
            noted=calm.clock.counts,
        )

    def _go(self, calm: CalmPoll, batch: Batch, lap: Lap, skip: Skip) -> Batch | None:
        """Go on to another batch of the period, unless the records to come are others then."""
        now, end = batch.begin_us, lap.end(skip)
        at_us = now + lap.length_us(skip)
        if not self._go_fetches(lap, skip, at_us):
            return None
        positions = self._fetches.positions()
        later_us = at_us - end.at_us
        further = {tp: at - end.positions[tp] for tp, at in positions.items()}
        later = end.batch(later_us, further)
        self._finished.skip(lap.first_us(skip, now), later, positions)
        lap.repeat(skip, calm.clock, now)
        calm.unread = end.unread
        calm.move(later_us, further, polled_us=end.polled_us + later_us)
        return later

    def _go_fetches(self, lap: Lap, skip: Skip, at_us: int) -> bool:
        """Move all fetches behind what is skipped; False, and nothing done: other records come then."""
        records, fetches = lap.records(skip), self._fetches
        if skip.begin == skip.end:
            return fetches.move(lap.length_us(skip), records, lap.fetches(skip))
        saved = lap.end(skip).fetches
        positions = {tp: at + records[tp] for tp, at in fetches.positions().items()}
        if not fetches.comes_to(saved, at_us, positions):
            return False
        fetches.restore(saved, at_us, positions)
        fetches.count(lap.fetches(skip))
        return True

    def _search(self, calm: CalmPoll, batch: Batch) -> None:
        """Count a batch that does not begin as the marked one; renew the mark at times."""
        self._batches += 1
        if self._mark is not None and self._batches < self._distance:
            self._note(batch)
            return
        if self._cycle is not None:
            self._give_up()
        self._mark, self._batches, self._since_us = None, 0, None
        self._waits.clear()
        self._first_us.clear()
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
            noted=calm.clock.counts,
            turn_phase_us=calm.turn_phase_us(now),
        )
        self._distance = min(2 * self._distance, LONGEST_SEARCH)
        self._note(batch)

    def _note(self, batch: Batch) -> None:
        """Note the partitions of a batch that begins before a period is known."""
        if self._cycle is None:
            for tp, _, _ in batch.ranges:
                self._first_us.setdefault(tp, batch.begin_us)

    def _measured(self, calm: CalmPoll, mark: Mark, now: int) -> Cycle:
        """Return the period between the marked state and the same one now."""
        before = mark.positions
        brought = {tp: at - before[tp] for tp, at in self._fetches.positions().items()}
        return Cycle(
            period_us=now - mark.at_us,
            records={tp: count for tp, count in brought.items() if count},
            fetches=self._fetches.sent - mark.fetches,
            late_reads=calm.late_reads > mark.late_reads,
            notes=calm.clock.since(mark.noted, mark.at_us),
            waits=tuple([at_us - mark.at_us for at_us in self._waits]),
            first_us={tp: at_us - mark.at_us for tp, at_us in self._first_us.items()},
            since_polled_us=now - calm.clock.polled_us,
            batches=self._batches + 1,
        )

    def _later(self, calm: CalmPoll, batch: Batch, cycle: Cycle, times: int) -> Batch | None:
        """Move everything by some periods, unless the records to come are others then."""
        later_us = times * cycle.period_us
        records = {tp: times * count for tp, count in cycle.records.items()}
        if not self._fetches.move(later_us, records, times * cycle.fetches):
            return None
        later = batch.moved(later_us, records)
        first_us = {tp: batch.begin_us + us for tp, us in cycle.first_us.items()}
        self._finished.skip(first_us, later, self._fetches.positions())
        calm.clock.repeat(cycle.notes, batch.begin_us, cycle.period_us, times)
        calm.move(later_us, records, polled_us=later.begin_us - cycle.since_polled_us)
        self._begins(batch.begin_us + later_us)
        return later


def cycles_of(
    process: ConsumerProcess, fetches: CalmFetches, finished: Unreported
) -> Cycles | None:
    """Return the search for periods of a process, unless work or lateness is drawn or records watched."""
    blueprint = process.blueprint
    if process.run.recorder.on_record is not None or blueprint.lateness_us is not None:
        return None
    if blueprint.settings.group_protocol != "classic" or blueprint.each_us is None:
        return None
    return Cycles(fetches, finished)


def _is_worth(cycle: Cycle) -> bool:
    """Return whether to note the batches of a period."""
    return MIN_BATCHES <= cycle.batches <= MAX_BATCHES
