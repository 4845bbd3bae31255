"""The parts of a segment that are not in its columns: counts, and the first faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from assignors.values import dataclass
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.reader import Gap
from protocols.offsets_topic.segments.record import RecordFields

if TYPE_CHECKING:
    from protocols.offsets_topic.records import Key

MAX_FAULTS: Final = 100


class Unreadable(NamedTuple):
    """A record whose key or value cannot be read, in a batch that can."""

    log_offset: int
    reason: str
    """One sentence for the user."""


class Beside(Protocol):
    """Receives all parts of a stream that are not in the rows of commits."""

    unknown_parts: int
    """Number of rows whose records have more fields than the row, as in :class:`LeftOut`."""

    def gap(self, gap: Gap) -> None:
        """Handle bytes that are not batches."""

    def record(self, log_offset: int, reason: str) -> None:
        """Handle a record that cannot be read."""

    def marker(self, batch: Batch) -> None:
        """Handle a control batch."""

    def other(self, key: Key, fields: RecordFields, place: int) -> None:
        """Handle a record that is not a commit; *place*: its index in *fields*."""


@dataclass(slots=True)
class LeftOut:
    """Counts of the parts that are not in the rows; they grow while a stream is read."""

    other_types: Counter[int] = field(default_factory=Counter)
    """Records that are not commits, by the number of their type, known or not."""

    markers: int = 0
    """Control records: ends of transactions."""

    gaps: int = 0
    """Sequences of bytes that cannot be read as batches."""

    gap_bytes: int = 0
    unreadable: int = 0
    """Records whose key or value cannot be read."""

    unknown_parts: int = 0
    """Rows whose records have more fields than the columns: headers, tagged fields that 4.4 does not
    know, bytes after the last field."""

    faults: list[Gap | Unreadable] = field(default_factory=list)
    """The first gaps and unreadable records, at most ``MAX_FAULTS``."""

    def gap(self, gap: Gap) -> None:
        """Count bytes that are not batches."""
        self.gaps += 1
        self.gap_bytes += gap.size
        self._fault(gap)

    def record(self, log_offset: int, reason: str) -> None:
        """Count a record that cannot be read."""
        self.unreadable += 1
        self._fault(Unreadable(log_offset, reason))

    def marker(self, batch: Batch) -> None:
        """Count control records."""
        self.markers += batch.header.record_count

    def other(self, key: Key, fields: RecordFields, place: int) -> None:
        """Count a record of another type."""
        del fields, place
        self.other_types[key.record_type] += 1

    def _fault(self, fault: Gap | Unreadable) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)
