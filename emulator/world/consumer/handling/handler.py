"""The serial handler: the records of a batch, one after the other, as arithmetic.

A batch is one event at its end, however many records it has. Interruptions (a crash, a pause, a
close after the record in progress, a handler that hangs) ask how many records are finished.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assignors.types import TopicPartition
from emulator.world.draws import Sampler, sampler, stream_key
from protocols.consumer.fetch_buffer import Handed

if TYPE_CHECKING:
    from emulator.scenario.model import Distribution, Group
    from emulator.world.consumer.handling.conditions import Conditions
    from emulator.world.consumer.handling.poison import Rule, Rules

WorkTimes = Callable[[TopicPartition, int], int]
"""Partition and offset to the microseconds the handler spends on that record."""


def work_times(
    group: Group,
    usual: Distribution,
    seed: int,
    rules: Rules | None,
    conditions: Conditions | None,
) -> WorkTimes:
    """Return the work of each record: drawn by its address, the same for every consumer.

    *usual*: for topics without a time of their own.
    """
    by_topic = group.work_by.topic if group.work_by else {}
    samplers: dict[TopicPartition, Sampler] = {}

    def time_of(tp: TopicPartition, offset: int) -> int:
        sample = samplers.get(tp)
        if sample is None:
            times = by_topic.get(tp.topic, usual)
            sample = samplers[tp] = sampler(times, stream_key(seed, "work", str(tp)))
        us = sample(offset)
        if conditions is not None:
            us = round(us * conditions.factor(tp, offset))
        rule = None if rules is None else rules.of(tp, offset)
        return us if rule is None else rule.poison.work_us(us)

    return time_of


class RecordWork(NamedTuple):
    """The work on one record, from its beginning to its end."""

    partition: TopicPartition
    offset: int
    began_us: int
    ended_us: int


class Batch:
    """The records of one poll, and the progress of the handler in them."""

    __slots__ = ("_each", "_ends", "begin_us", "count", "flaws", "ranges", "reported")

    def __init__(self, ranges: tuple[Handed, ...], begin_us: int, count: int) -> None:
        self.ranges = ranges
        """All that poll returned."""

        self.count = count
        """How many of its records are worked on: fewer than it has after a close in mid-batch."""

        self.reported = 0
        """How many of its records have been counted as processed."""

        self.flaws: dict[int, Rule] | None = None
        """By place in the batch: records whose processing fails."""

        self.begin_us = begin_us
        self._each = 0
        self._ends: list[int] | None = None

    @classmethod
    def of(cls, ranges: tuple[Handed, ...], begin_us: int) -> Batch:
        """Return the batch of these ranges."""
        if len(ranges) == 1:
            return cls(ranges, begin_us, ranges[0].next_offset - ranges[0].first)
        return cls(ranges, begin_us, sum([part.next_offset - part.first for part in ranges]))

    @property
    def shape(self) -> tuple[tuple[TopicPartition, int], ...]:
        """The number of records of each range."""
        return tuple([(part.partition, part.next_offset - part.first) for part in self.ranges])

    def take_each(self, work_us: int) -> None:
        """Set the same processing time for every record."""
        self._each = work_us

    def take(self, times: WorkTimes) -> None:
        """Set each record's own processing time."""
        each = [
            times(tp, offset)
            for tp, first, following in self.ranges
            for offset in range(first, following)
        ]
        self._ends = list(accumulate(each))

    def records(self) -> Iterator[tuple[TopicPartition, int]]:
        """Return partition and offset of each record, in order of work."""
        for part in self.ranges:
            for offset in range(part.first, part.next_offset):
                yield part.partition, offset

    # -- how far -------------------------------------------------------------------------------

    def end_us(self, index: int) -> int:
        """Return when the record at ``index`` will be finished."""
        if self._ends is None:
            return self.begin_us + (index + 1) * self._each
        return self.begin_us + self._ends[index]

    def began_us(self, index: int) -> int:
        """Return when the work on the record at ``index`` begins."""
        return self.end_us(index - 1) if index else self.begin_us

    def finished(self, now: int) -> int:
        """Return how many records are finished at ``now``."""
        elapsed = now - self.begin_us
        if self._ends is not None:
            return min(self.count, bisect_right(self._ends, elapsed))
        return min(self.count, elapsed // self._each) if self._each else self.count

    def record(self, index: int) -> tuple[TopicPartition, int]:
        """Return partition and offset of the record at ``index``."""
        for part in self.ranges:
            length = part.next_offset - part.first
            if index < length:
                return part.partition, part.first + index
            index -= length
        raise AssertionError("no such record in the batch")

    def work(self, begin: int, end: int) -> Iterator[RecordWork]:
        """Yield the work on records ``begin`` up to ``end`` of the batch."""
        began_us, ends = self.began_us(begin), self._ends
        for index, (tp, offset) in enumerate(islice(self.records(), begin, end), start=begin):
            ended_us = self.begin_us + ((index + 1) * self._each if ends is None else ends[index])
            yield RecordWork(tp, offset, began_us, ended_us)
            began_us = ended_us

    def part(self, begin: int, end: int) -> Iterator[Handed]:
        """Return records ``begin`` up to ``end`` of the batch as ranges."""
        for part in self.ranges:
            length = part.next_offset - part.first
            low, high = max(begin, 0), min(end, length)
            if high - low == length:
                yield part
            elif low < high:
                yield Handed(part.partition, part.first + low, part.first + high)
            begin -= length
            end -= length

    # -- periods -------------------------------------------------------------------------------

    def relative(self, now: int, positions: Mapping[TopicPartition, int]) -> object:
        """Return the batch relative to *now* and to the positions.

        None: its work was changed, or a partition was given away beside it.
        """
        if self._ends is not None or self.flaws:
            return None
        if any(part.partition not in positions for part in self.ranges):
            return None
        ends = [(p.partition, p.first - positions[p.partition]) for p in self.ranges]
        return self.begin_us - now, self.reported, self.shape, tuple(ends)

    def moved(self, later_us: int, records: Mapping[TopicPartition, int]) -> Batch:
        """Return the batch after so many periods."""
        ranges = [
            Handed(tp, first + records.get(tp, 0), following + records.get(tp, 0))
            for tp, first, following in self.ranges
        ]
        batch = Batch(tuple(ranges), self.begin_us + later_us, self.count)
        batch.take_each(self._each)
        batch.reported = self.reported
        return batch

    # -- interruptions -------------------------------------------------------------------------

    def lengthen(self, index: int, extra_us: int) -> None:
        """Make the record at ``index`` take longer; all later ones shift."""
        ends = self._explicit()
        self._ends = ends[:index] + [end + extra_us for end in ends[index:]]

    def shift(self, extra_us: int) -> None:
        """Delay everything not yet reported, by the duration of a commit."""
        if extra_us:
            self.lengthen(self.reported, extra_us)

    def resume(self, index: int, now: int) -> None:
        """Go on after a pause in the record at ``index``: it ends now at the earliest.

        Work is taken for waiting (a call, a sleep): what should have ended during the pause
        ends with it, and the records behind it take their full time. A batch that was just
        done when the pause began has no such record.
        """
        if index >= self.count:
            return
        late = now - self.end_us(index)
        if late > 0:
            self.lengthen(index, late)

    def leave_after(self, index: int) -> None:
        """Work on no record after ``index``: the consumer closes instead."""
        self.count = min(self.count, index + 1)

    def take_back(self) -> None:
        """Take back the records that a close leaves: an error handler gets them, too."""
        self.count = self._length

    @property
    def _length(self) -> int:
        """The number of records that poll returned."""
        return sum([part.next_offset - part.first for part in self.ranges])

    def _explicit(self) -> list[int]:
        if self._ends is None:
            self._ends = [self._each * (index + 1) for index in range(self._length)]
        return self._ends


class Doing(enum.Enum):
    """The current activity of the application thread."""

    POLLING = "poll"
    WORKING = "its handler"
    COMMITTING = "commitSync"
    LISTENING = "its rebalance listener"
    CLOSING = "close"
    RECOVERING = "a pause after an exception it has caught"
    BACKING_OFF = "a wait after a record has failed"


class Ending(enum.Enum):
    """Whether the process was asked to end in order, and when it will close its consumer."""

    NOT_ASKED = "not asked to"
    AFTER_BATCH = "when its batch is done"
    AFTER_RECORD = "after the record in progress"
    BEGUN = "close was called"


class Worker(Protocol):
    """The application thread, as the count of finished records uses it."""

    uncommitted: dict[TopicPartition, int] | None
    """By partition, the next offset to commit; None: the application commits nothing."""

    def end_counted(self) -> None:
        """End a batch and count its records."""

    def end_uncounted(self) -> None:
        """End a batch whose records are counted already."""


class Reports(Protocol):
    """The progress of a process, as the count of finished records uses it."""

    def report(self, batch: Batch, begin: int, end: int) -> None:
        """Report the work on some records of a batch, if records are watched."""

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Count the records of a partition before *next_offset* as processed."""


class Unreported:
    """Unreported and not yet counted: by partition, the next offset and when work on it began."""

    __slots__ = ("_ends", "_progress", "_worker")

    def __init__(self, worker: Worker, progress: Reports) -> None:
        self._worker = worker
        self._progress = progress
        self._ends: dict[TopicPartition, list[int]] = {}

    def end(self, batch: Batch) -> None:
        """End the work on a batch; its records are counted before progress is read."""
        if batch.reported:
            self._worker.end_counted()
            return
        self._worker.end_uncounted()
        self._note(batch)
        self._progress.report(batch, 0, batch.count)

    def _note(self, batch: Batch) -> None:
        for tp, _, following in batch.ranges:
            known = self._ends.get(tp)
            if known is None:
                self._ends[tp] = [following, batch.begin_us]
            else:
                known[0] = following

    def skip(
        self,
        first_us: Mapping[TopicPartition, int],
        batch: Batch,
        positions: Mapping[TopicPartition, int],
    ) -> None:
        """Count the records before *batch*, which begins behind skipped batches, as finished.

        *first_us*: when the first of those with each partition began; *positions*: the end of what
        poll has returned.
        """
        ends = {tp: positions[tp] for tp in first_us}
        ends.update({tp: first for tp, first, _ in reversed(batch.ranges)})
        for tp, began_us in first_us.items():
            self._ends.setdefault(tp, [0, began_us])[0] = ends[tp]

    def add(
        self,
        finished: Mapping[TopicPartition, tuple[int, int]],
        later_us: int,
        records: Mapping[TopicPartition, int],
    ) -> None:
        """Count the batches of a stretch as finished, so much later and further.

        *finished*: the end of each partition, and when the first batch with it began.
        """
        for tp, (following, began_us) in finished.items():
            self._ends.setdefault(tp, [0, began_us + later_us])[0] = following + records[tp]

    def write(self) -> None:
        """Count what was finished since the last time as processed."""
        uncommitted = self._worker.uncommitted
        for tp, (following, began_us) in self._ends.items():
            self._progress.worked(tp, following, began_us)
            if uncommitted is not None:
                uncommitted[tp] = following
        self._ends.clear()
