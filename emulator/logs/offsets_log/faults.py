"""Faults of a log, and a summary of all faults in a few sentences."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from emulator.report.wording import counted


class FaultKind(enum.Enum):
    """Kinds of faults, in the order of the summary."""

    GAP = enum.auto()
    """Bytes that are not a batch."""

    DISORDER = enum.auto()
    """A batch whose offsets are not above those before it."""

    BAD_RECORD = enum.auto()
    """A key or a value that cannot be decoded."""

    UNKNOWN = enum.auto()
    """A record type or a version of a newer Kafka."""

    BROKEN = enum.auto()
    """A record at which a coordinator's load fails."""


class Fault(NamedTuple):
    """One fault and its position."""

    kind: FaultKind
    position: int
    """The position of its batch or of its first byte, in bytes from the beginning of the file."""

    reason: str
    offset: int | None = None
    """The log offset of its record, if it concerns one record."""

    size: int = 0
    """Bytes that were not read."""


class Tally:
    """All faults of one log: the number of each kind, and the first of each."""

    def __init__(self) -> None:
        self._counts = Counter[FaultKind]()
        self._first = dict[FaultKind, tuple[str, Fault]]()
        self._unread_bytes = 0

    def add(self, fault: Fault, file: str) -> None:
        """Count a fault in a file."""
        self._counts[fault.kind] += 1
        self._first.setdefault(fault.kind, (file, fault))
        self._unread_bytes += fault.size

    def __bool__(self) -> bool:
        return bool(self._counts)

    def sentences(self) -> Iterator[str]:
        """Yield a sentence about each kind that occurred."""
        for kind in FaultKind:
            if self._counts[kind]:
                file, first = self._first[kind]
                yield f"{file}: {self._sentence(kind, first)}"

    def _sentence(self, kind: FaultKind, first: Fault) -> str:
        count = self._counts[kind]
        place = f"byte {first.position}"
        if first.offset is not None:
            place = f"offset {first.offset}, in the batch at {place}"
        example = f"{first.reason} ({place})" if count == 1 else f"first {place}: {first.reason}"
        match kind:
            case FaultKind.GAP:
                unread = f", {counted(self._unread_bytes, 'byte')}," if self._unread_bytes else ""
                return f"{counted(count, 'gap')}{unread} could not be read: {example}"
            case FaultKind.DISORDER:
                return f"{counted(count, 'batch', 'batches')} out of order: {example}"
            case FaultKind.BAD_RECORD:
                return f"{counted(count, 'record')} could not be decoded: {example}"
            case FaultKind.UNKNOWN:
                known = "that Kafka 4.4.0 does not know"
                return f"{counted(count, 'record')} of a type or version {known}: {example}"
            case FaultKind.BROKEN:
                return f"a coordinator could not load it, for {counted(count, 'record')}: {example}"
