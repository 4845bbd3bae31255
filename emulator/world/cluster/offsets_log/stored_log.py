"""The stored log of an offsets partition's replicas: the batches of one branch.

Replicas whose logs agree share one :class:`StoredLog` and differ only in how far they have it.
Where their histories diverge (a new leader begins below the end of the old one's log, or a deposed
leader continues because it has not learned of the new one) one of them forks.

The log is that of Kafka: record batches of format 2 in segments that roll and are compacted, all
of it to the byte. Records that are not read again are only counted: of what every replica has and
knows to be safe, the newest record of each key in each segment is held, so memory does not grow
with simulated time. With a spool every batch is also written out.

Replicas that share a log are compacted together; what was there before the run, the backlog, is
bytes of which nothing is known, and stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from emulator.world.cluster.offsets_log.stored_segment import Held, Spool, StoredSegment
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.codec import sizes_of
from protocols.offsets_topic.segments.header import BatchHeader, batch_size, header_to_be
from protocols.offsets_topic.segments.segment import (
    LogSettings,
    LogToClean,
    RollReason,
    Segment,
    log_to_clean,
    longest_segment_ms,
    roll_reason,
)
from protocols.values import replace

MAX_ENTRIES = 5_033_164
"""The default capacity of the offset map of a compaction, in keys."""


class StoredBatch(NamedTuple):
    """Records that were appended together."""

    records: tuple[Record, ...]
    header: BatchHeader
    segment: Segment
    """Its segment, up to its end."""

    opened: RollReason | None
    """Why the segment begins with it; None: it does not."""

    position: int
    """The position of its bytes in the spool, if there is one."""

    first: int
    """Log offset of its first record."""

    end: int
    """Log offset after its last record."""

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.header.size


class Amount(NamedTuple):
    """The amount that a load reads."""

    size: int
    """Bytes."""

    records: int

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.size - other.size, self.records - other.records)


NOTHING = Amount(0, 0)
OF_THE_OFFSETS_TOPIC = LogSettings()


class StoredLog:
    """An append-only log of record batches, each with the epoch of the leader that wrote it."""

    __slots__ = (
        "_amount",
        "_batches",
        "_checkpoint",
        "_epochs",
        "_is_compacted",
        "_newest",
        "_segments",
        "_settings",
        "_spool",
        "end",
        "settled",
    )

    def __init__(
        self,
        backlog: Amount = NOTHING,
        settings: LogSettings = OF_THE_OFFSETS_TOPIC,
        *,
        is_compacted: bool = True,
        spool: Spool | None = None,
    ) -> None:
        """Begin behind a *backlog*. *is_compacted*: False where the cleaner is off."""
        self.end = backlog.records
        """The log offset of the next record."""

        self.settled = self.end
        """Below it only the newest record of each key is kept."""

        self._amount = backlog
        self._settings = settings
        self._is_compacted = is_compacted
        self._spool = spool
        self._segments = [StoredSegment(Segment(self.end, self.end))]
        """With what is settled; those that only have batches from then on are empty here."""

        self._checkpoint: int | None = None
        self._newest: dict[Any, Held] = {}
        """The newest settled record of each key; no tombstones."""

        self._batches: deque[StoredBatch] = deque()
        """Batches that are not settled."""

        self._epochs: list[tuple[int, int]] = [(0, 0)]

    # -- writing ---------------------------------------------------------------------------------

    def append(
        self, records: tuple[Record, ...], epoch: int, now_ms: int, size: int | None = None
    ) -> StoredBatch:
        """Append one batch in a leader epoch; *now_ms*: by the wall clock.

        *size*: its bytes, where they are known.
        """
        if self._epochs[-1][0] != epoch:
            self._epochs.append((epoch, self.end))
        if size is None:
            size = batch_size(map(sizes_of, records))
        header = header_to_be(self.end, len(records), size, epoch, now_ms)
        active = self._batches[-1].segment if self._batches else self._segments[-1].about
        opened = None  # an empty segment that rolls keeps its base offset
        if active.size_bytes:
            opened = roll_reason(active, header, self._settings, now_ms)
        if opened is not None:
            active = Segment(self.end, self.end, created_ms=now_ms)
            self._segments.append(StoredSegment(active))
        position = -1 if self._spool is None else self._spooled(self._spool, records, header)
        first, end = self.end, self.end + len(records)
        batch = StoredBatch(records, header, active.appended(header), opened, position, first, end)
        self._batches.append(batch)
        self.end = end
        before, count = self._amount
        self._amount = Amount(before + size, count + len(records))
        return batch

    def room_for(self, size: int, now_ms: int) -> int:
        """Return how many more periods of *size* bytes fit into the active segment.

        *now_ms*: the end of the last of them by the wall clock if they are as many as fit.
        """
        active = self._active
        young = now_ms - active.first_timestamp_ms < longest_segment_ms(self._settings)
        return (self._settings.segment_bytes - active.size_bytes) // size if young else 0

    @property
    def _active(self) -> Segment:
        return self._batches[-1].segment if self._batches else self._segments[-1].about

    def skip(self, period: Sequence[StoredBatch], times: int) -> None:
        """Count so many periods of appends; the batches of the last one are appended."""
        if not period:
            return
        if times > 1:
            size = sum(batch.header.size for batch in period)
            count = sum(batch.header.record_count for batch in period)
            self._count(Amount((times - 1) * size, (times - 1) * count))
        for batch in period:
            self.append(batch.records, self._epochs[-1][0], batch.header.max_timestamp, batch.size)

    def _count(self, skipped: Amount) -> None:
        """Count records that the next ones of their keys replace, all of them settled."""
        self.settle(self.end)
        self.end += skipped.records
        self.settled = self.end
        active = replace(
            self._active,
            next_offset=self.end,
            size_bytes=self._active.size_bytes + skipped.size,
        )
        stored = self._segments[-1]
        stored.about = active
        stored.records += skipped.records
        self._amount = Amount(
            self._amount.size + skipped.size, self._amount.records + skipped.records
        )

    @staticmethod
    def _spooled(spool: Spool, records: tuple[Record, ...], header: BatchHeader) -> int:
        from emulator.world.cluster.offsets_log.compaction import bytes_of  # noqa: PLC0415  few runs need it

        data = bytes_of(enumerate(records, header.base_offset), header)
        assert len(data) == header.size, "sizes are computed as they are written"
        return spool.add(data)

    def settle(self, below: int) -> None:
        """Discard older records of each key below an offset: no replica reads or forks below it."""
        batches, newest = self._batches, self._newest
        while batches and batches[0].end <= below:
            batch = batches.popleft()
            header = batch.header
            self.settled = batch.end
            segment = self._segment_of(batch)
            segment.about = batch.segment
            segment.records += header.record_count
            if self._spool is not None:
                segment.note_place(batch.position, header.size)
            for log_offset, record in enumerate(batch.records, batch.first):
                key = record.key
                held = Held(log_offset, record, header)
                if self._is_compacted:
                    # A dict keeps the first of equal keys: drop that of the older record.
                    segment.newest.pop(key, None)
                    segment.newest[key] = held
                newest.pop(key, None)
                if record.value is not None:
                    newest[key] = held

    def _segment_of(self, batch: StoredBatch) -> StoredSegment:
        base_offset = batch.segment.base_offset
        segment = self._segments[-1]
        if segment.about.base_offset == base_offset:
            return segment
        return next(each for each in self._segments if each.about.base_offset == base_offset)

    # -- reading ---------------------------------------------------------------------------------

    def _require_unsettled(self, end: int) -> None:
        """Raise ValueError for an end below which older records were discarded."""
        if end < self.settled:
            raise ValueError(f"end {end}: older records are discarded up to {self.settled}")

    def read(self, end: int) -> Iterator[tuple[int, Record]]:
        """Yield the records of a load up to ``end`` by log offset, without superseded ones."""
        self._require_unsettled(end)
        for held in sorted(self._newest.values(), key=lambda each: each.log_offset):
            yield held.log_offset, held.record
        for batch in self._batches:
            if batch.end <= end:
                yield from enumerate(batch.records, batch.first)

    def amount(self, end: int) -> Amount:
        """Return how much a load up to ``end`` reads: all that compaction has left."""
        if end >= self.end:
            return self._amount
        beyond = [batch for batch in self._batches if batch.end > end]
        size = sum(batch.header.size for batch in beyond)
        return self._amount - Amount(size, sum(batch.header.record_count for batch in beyond))

    @property
    def segments(self) -> int:
        """The number of segments; those from before the run do not count."""
        return len(self._segments)

    @property
    def active_base_offset(self) -> int:
        """The base offset of the segment that is written to."""
        return self._segments[-1].about.base_offset

    def content(self, end: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Yield the base offset and the bytes of each segment, up to an end; needs a spool."""
        spool = self._spool
        if spool is None:
            raise ValueError("a log without a spool has no bytes")
        self._require_unsettled(end)
        for segment in self._segments:
            base_offset = segment.about.base_offset
            behind = [
                spool.read(batch.position, batch.header.size)
                for batch in self._batches
                if batch.end <= end and batch.segment.base_offset == base_offset
            ]
            if base_offset <= end:
                yield base_offset, chain(segment.content(spool), behind)

    # -- compaction ------------------------------------------------------------------------------

    def to_clean(self, high_watermark: int, now_ms: int) -> LogToClean:
        """Return the log as the cleaner sees it; the cleaner ignores unsettled batches."""
        return log_to_clean(
            [segment.about for segment in self._segments],
            self._settings,
            checkpoint=self._checkpoint,
            last_stable_offset=min(high_watermark, self.settled),
            now_ms=now_ms,
        )

    def dirty(self) -> list[Segment]:
        """Return the closed segments that no compaction has completed."""
        clean = -1 if self._checkpoint is None else self._checkpoint
        closed = [segment.about for segment in self._segments[:-1]]
        ends = [segment.about.base_offset for segment in self._segments[1:]]
        return [about for about, end in zip(closed, ends, strict=True) if end > clean]

    def clean(
        self, what: LogToClean, high_watermark: int, now_ms: int, entries: int = MAX_ENTRIES
    ) -> Amount:
        """Compact once, up to *entries* keys; return what was removed."""
        from emulator.world.cluster.offsets_log.compaction import compacted  # noqa: PLC0415  few runs need it

        before, settings = self._segments, self._settings
        made, end = compacted(before, what, settings, high_watermark, now_ms, entries)
        replaced = [segment for segment in before if segment.about.base_offset < end]
        self._checkpoint = end
        self._segments = made + before[len(replaced) :]
        gone = _amount_of(replaced) - _amount_of(made)
        self._amount -= gone
        return gone

    # -- histories -------------------------------------------------------------------------------

    def fork(self, end: int) -> StoredLog:
        """Return a separate log with everything below ``end``."""
        self._require_unsettled(end)
        made = StoredLog(
            settings=self._settings, is_compacted=self._is_compacted, spool=self._spool
        )
        made._amount = self.amount(end)
        made._batches = deque(batch for batch in self._batches if batch.end <= end)
        made._checkpoint = self._checkpoint
        made._epochs = [(0, 0), *((e, at) for e, at in self._epochs[1:] if at < end)]
        made._newest = dict(self._newest)
        made._segments = [s.fork() for s in self._segments if s.about.base_offset <= end]
        made.settled = self.settled
        made.end = end
        return made

    def agreed_end(self, end: int, other: StoredLog, other_end: int) -> int:
        """Return the end of the common part of two replicas' logs (KIP-101, KIP-279).

        An epoch has one leader and one history, so two logs agree up to the end of their last
        common epoch.
        """
        if other is self:
            return min(end, other_end)
        agreed = 0
        pairs = zip(self._leader_runs(end), other._leader_runs(other_end), strict=False)
        for (epoch, start, stop), (other_epoch, other_start, other_stop) in pairs:
            if (epoch, start) != (other_epoch, other_start):
                break
            agreed = min(stop, other_stop)
            if stop != other_stop:
                break
        return agreed

    def _leader_runs(self, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the epoch, the start and the end of each leader's run of records."""
        starts = [start for _, start in self._epochs[1:]] + [end]
        for (epoch, start), stop in zip(self._epochs, starts, strict=True):
            if start < end:
                yield epoch, start, min(stop, end)


def _amount_of(segments: list[StoredSegment]) -> Amount:
    size = sum(segment.about.size_bytes for segment in segments)
    return Amount(size, sum(segment.records for segment in segments))
