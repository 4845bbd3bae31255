"""The newest log offset of each key in the dirty part of a log: what compaction goes by.

Kafka keeps a hash of each key; here the keys themselves are kept, so two keys are never taken
for one. The bound is the same: when the map is full, mapping stops and so does the compaction.

Source: ``SkimpyOffsetMap``, ``Cleaner.buildOffsetMap``, ``CleanerConfig``
(spec classic-coordinator 5.8).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from protocols.log.batch import CONTROL, Batch, BatchHeader
from protocols.log.eligibility import LogToClean, segments_between
from protocols.log.record import KeyAt
from protocols.log.segment import Segment
from protocols.log.transactions import AbortedTransaction, TransactionsPassed

_BYTES_AN_ENTRY: Final = 24
_MOST_BYTES_A_THREAD: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Keys and their newest offsets in a part of a log."""

    newest: Mapping[bytes, int]
    survivors: Sequence[int]
    """The newest offsets in order: all that the part will keep."""

    start_offset: int
    end_offset: int
    """Everything from the start to before the end is mapped."""

    def has_no_use_for(self, header: BatchHeader) -> bool:
        """Say whether no record of a mapped batch survives, without reading its records."""
        if header.base_offset < self.start_offset or header.next_offset > self.end_offset:
            return False
        at = bisect_left(self.survivors, header.base_offset)
        return at == len(self.survivors) or self.survivors[at] > header.last_offset


def most_entries(
    dedupe_buffer_bytes: int = 134_217_728, threads: int = 1, load_factor: float = 0.9
) -> int:
    """Return how many keys a map of Kafka's holds.

    The arguments are ``log.cleaner.dedupe.buffer.size``, ``log.cleaner.threads`` and
    ``log.cleaner.io.buffer.load.factor``.

    >>> most_entries()
    5033164
    """
    buffer_bytes = min(dedupe_buffer_bytes // threads, _MOST_BYTES_A_THREAD)
    return int(buffer_bytes // _BYTES_AN_ENTRY * load_factor)


DEFAULT_ENTRIES: Final = most_entries()


def build_offset_map(
    segments: Sequence[Segment],
    read: Callable[[Segment], Iterable[Batch]],
    to_clean: LogToClean,
    aborted: Iterable[AbortedTransaction] = (),
    entries: int = DEFAULT_ENTRIES,
) -> OffsetMap:
    """Map the dirty part of a log that may be compacted, or as much of it as fits.

    *read*: gives the batches of a segment, from its beginning. *aborted*: of the whole log.
    *entries*: how many keys fit, see :func:`most_entries`.
    Raises :class:`BadBatch` where records cannot be read.
    """
    start, stop = to_clean.first_dirty_offset, to_clean.first_uncleanable_offset
    passed = TransactionsPassed(each for each in aborted if each.last_offset >= start)
    newest: dict[bytes, int] = {}
    end = start
    for batch in chain.from_iterable(map(read, segments_between(segments, start, stop))):
        next_offset = batch.header.next_offset
        if next_offset <= start:
            continue
        if not passed.note(batch) and not batch.header.attributes & CONTROL:
            full_at = _map_keys(newest, batch.keys(), start, entries)
            if full_at is not None:
                return OffsetMap(newest, sorted(newest.values()), start, max(end, full_at))
        end = next_offset
    return OffsetMap(newest, sorted(newest.values()), start, max(start, stop))


def _map_keys(
    newest: dict[bytes, int], keys: Iterable[KeyAt], start: int, entries: int
) -> int | None:
    """Map the keys from *start* on; return the end of what is mapped if the map is full."""
    end = start
    for offset, key in keys:
        if key is not None and offset >= start:
            if len(newest) >= entries:
                return end
            newest[key] = offset
            end = offset + 1
    return None
