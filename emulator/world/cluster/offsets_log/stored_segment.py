"""One segment of a stored log: its size, and the records that compaction needs.

A record that a newer one of its key follows in the same segment is gone after the segment's
first compaction. So only the newest record of each key is held,
and the bytes of the others are only counted: what the cleaner makes of the batches that are
written from the held ones is, byte for byte, what it would make of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from protocols.offsets_topic.records import Record
from protocols.offsets_topic.segments.header import BatchHeader
from protocols.offsets_topic.segments.segment import Segment

if TYPE_CHECKING:
    from protocols.offsets_topic.segments.batch import Batch

_PIECE_BYTES = 2**20


class Spool(Protocol):
    """Takes the bytes of batches that are read at the end of the run."""

    def add(self, data: bytes) -> int:
        """Append bytes; return their position."""

    def read(self, position: int, size: int) -> bytes:
        """Return appended bytes."""


class Held(NamedTuple):
    """The newest record of a key in a segment."""

    log_offset: int
    record: Record
    header: BatchHeader
    """Of the batch it was appended with."""


class StoredSegment:
    """A segment with the batches that are durable on every replica."""

    __slots__ = ("about", "cleaned", "extents", "newest", "records")

    def __init__(self, about: Segment) -> None:
        self.about = about
        self.records = 0
        self.newest: dict[Any, Held] = {}
        """By key; empty after the segment has been cleaned."""

        self.cleaned: tuple[Batch, ...] | None = None
        """All its batches, after it has been cleaned."""

        self.extents: list[tuple[int, int]] = []
        """Position and size of its parts in the spool, if there is one."""

    def fork(self) -> StoredSegment:
        """Return a separate segment with the same content."""
        made = StoredSegment(self.about)
        made.records, made.cleaned = self.records, self.cleaned
        made.newest, made.extents = dict(self.newest), list(self.extents)
        return made

    def note_place(self, position: int, size: int) -> None:
        """Store the position of the next batch's bytes."""
        if self.extents and sum(self.extents[-1]) == position:
            begin, before = self.extents[-1]
            self.extents[-1] = (begin, before + size)
        else:
            self.extents.append((position, size))

    def content(self, spool: Spool) -> Iterator[bytes]:
        """Yield all its bytes in pieces of moderate size."""
        if self.cleaned is not None:
            yield from (batch.data for batch in self.cleaned)
            return
        for begin, size in self.extents:
            for at in range(begin, begin + size, _PIECE_BYTES):
                yield spool.read(at, min(_PIECE_BYTES, begin + size - at))


class LogFiles(Protocol):
    """Receives the offsets partitions of one run, batch by batch, and stores their leaders' logs."""

    def spool(self, log_partition: int) -> Spool:
        """Return the spool for the batches of a partition."""

    def keep(self, log_partition: int, segments: Iterable[tuple[int, Iterable[bytes]]]) -> None:
        """Store each remaining segment: its base offset and bytes."""
