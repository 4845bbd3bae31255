"""The offset map of compaction: the newest log offset of each key in the dirty part of a log.

Kafka keeps a hash of each key; this map keeps the keys themselves, so there are no collisions.
The bound is the same: when the map is full, mapping stops and so does the compaction.

Source: ``SkimpyOffsetMap``, ``Cleaner.buildOffsetMap``, ``CleanerConfig``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from assignors.values import dataclass
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import CONTROL, BatchHeader
from protocols.offsets_topic.segments.record import RecordFields
from protocols.offsets_topic.segments.segment import LogToClean, Segment, segments_between
from protocols.offsets_topic.segments.transactions import AbortedTransaction, TransactionsPassed

_BYTES_AN_ENTRY: Final = 24
_MAX_BYTES_A_THREAD: Final = 2**31 - 1
_MAX_SUPERSEDED: Final = 4_096
_MAX_WAITING: Final = 512


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Keys and their newest offsets in a part of a log."""

    newest: Mapping[bytes | None, int]
    survivors: Sequence[int]
    """The newest offsets in order: the records that compaction keeps."""

    tombstones: Sequence[int]
    """The newest offsets that are tombstones."""

    start_offset: int
    end_offset: int
    """Everything from the start to before the end is mapped."""

    def survivors_of(self, header: BatchHeader) -> int | None:
        """Return the number of records of a batch that survive, without reading them.

        None if the batch is not mapped completely. Records without a key count as superseded.
        """
        if header.base_offset < self.start_offset or header.next_offset > self.end_offset:
            return None
        return _count(self.survivors, header)

    def has_tombstones_of(self, header: BatchHeader) -> bool:
        """Return whether any survivor of a mapped batch is a tombstone."""
        return _count(self.tombstones, header) > 0


def _count(offsets: Sequence[int], header: BatchHeader) -> int:
    """Return how many of some ordered offsets belong to a batch."""
    first = bisect_left(offsets, header.base_offset)
    return bisect_right(offsets, header.last_offset, first) - first


def max_entries(
    dedupe_buffer_bytes: int = 134_217_728, threads: int = 1, load_factor: float = 0.9
) -> int:
    """Return the maximum number of keys in Kafka's offset map.

    The arguments are ``log.cleaner.dedupe.buffer.size``, ``log.cleaner.threads`` and
    ``log.cleaner.io.buffer.load.factor``.

    >>> max_entries()
    5033164
    """
    buffer_bytes = min(dedupe_buffer_bytes // threads, _MAX_BYTES_A_THREAD)
    return int(buffer_bytes // _BYTES_AN_ENTRY * load_factor)


DEFAULT_ENTRIES: Final = max_entries()


def build_offset_map(
    segments: Sequence[Segment],
    read: Callable[[Segment], Iterable[Batch]],
    to_clean: LogToClean,
    aborted: Iterable[AbortedTransaction] = (),
    entries: int = DEFAULT_ENTRIES,
) -> OffsetMap:
    """Map the dirty part of a log that may be compacted, or as much of it as fits.

    *read*: returns the batches of a segment from its beginning. *aborted*: of the whole log.
    *entries*: the maximum number of keys, see :func:`max_entries`.
    Raises :class:`BadBatch` if records cannot be read.
    """
    start, stop = to_clean.first_dirty_offset, to_clean.first_uncleanable_offset
    passed = TransactionsPassed(each for each in aborted if each.last_offset >= start)
    mapping = _Mapping(start, entries)
    end = start
    for batch in chain.from_iterable(map(read, segments_between(segments, start, stop))):
        next_offset = batch.header.next_offset
        if next_offset <= start:
            continue
        if not passed.note(batch) and not batch.header.attributes & CONTROL:
            full_at = mapping.add(batch)
            if full_at is not None:
                return mapping.map(max(end, full_at))
        end = next_offset
    return mapping.map(max(start, stop))


class _Mapping:
    """The builder of an offset map; its memory is proportional to the number of keys."""

    __slots__ = ("_entries", "_newest", "_start", "_tombstones", "_waiting")

    def __init__(self, start: int, entries: int) -> None:
        self._start = start
        self._entries = entries
        self._newest: dict[bytes | None, int] = {}
        self._tombstones: set[int] = set()
        """Offsets of tombstones; superseded ones are removed from time to time."""

        self._waiting = RecordFields.empty()
        """Records that fit, buffered to be mapped together."""

    def add(self, batch: Batch) -> int | None:
        """Map a batch's keys; return the end of the mapped part if the map is full."""
        header, waiting = batch.header, self._waiting
        most = len(self._newest) + len(waiting.keys) + header.record_count
        if most > self._entries or header.base_offset < self._start:
            self._map_waiting()
            return self._add_singly(batch)
        batch.add_to(waiting)
        if len(waiting.keys) >= _MAX_WAITING:
            self._map_waiting()
        return None

    def map(self, end: int) -> OffsetMap:
        """Return the offset map."""
        self._map_waiting()
        survivors = sorted(self._newest.values())
        tombstones = sorted(self._tombstones.intersection(survivors))
        return OffsetMap(self._newest, survivors, tombstones, self._start, end)

    def _map_waiting(self) -> None:
        waiting = self._waiting
        self._newest.update(zip(waiting.keys, waiting.offsets, strict=True))
        self._newest.pop(None, None)  # a record without a key supersedes nothing
        self._note_tombstones(waiting)
        waiting.forget_from(0)

    def _add_singly(self, batch: Batch) -> int | None:
        fields = RecordFields.empty()
        batch.add_to(fields)
        full_at = self._map_singly(fields)
        self._note_tombstones(fields)
        return full_at

    def _map_singly(self, fields: RecordFields) -> int | None:
        end = self._start
        for offset, key in zip(fields.offsets, fields.keys, strict=True):
            if key is not None and offset >= self._start:
                if len(self._newest) >= self._entries:
                    return end
                self._newest[key] = offset
                end = offset + 1
        return None

    def _note_tombstones(self, fields: RecordFields) -> None:
        if None not in fields.values:
            return
        values = zip(fields.offsets, fields.values, strict=True)
        self._tombstones.update(offset for offset, value in values if value is None)
        if len(self._tombstones) > _MAX_SUPERSEDED + 2 * len(self._newest):
            self._tombstones.intersection_update(self._newest.values())
