"""A partition as one broker shows it to one kind of reader, and the records in ranges of its offsets."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.world.cluster.partitions.committed_log import CommittedLog
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.partitions.stale_log import StaleLog

ShownLog = PartitionLog | StaleLog | CommittedLog


def runs_of(
    log: PartitionLog | None, first: int, end: int, *, committed: bool
) -> Iterable[tuple[int, int]]:
    """Return the ranges of offsets that hold records only; *committed*: for such a reader."""
    if log is None or log.gaps is None:
        return ((first, end),)
    gaps = log.committed_gaps if committed else log.gaps
    assert gaps is not None, "readers of committed records skip at least as much"
    return gaps.runs(first, end)


def records_in(log: ShownLog, first: int, end: int) -> int:
    """Return the number of records in a range of offsets."""
    return end - first if log.gaps is None else log.gaps.count_in(first, end)


def bytes_in(log: ShownLog, first: int, end: int) -> int:
    """Return the size of the records in a range of offsets."""
    return records_in(log, first, end) * log.record_size


def offset_after(log: ShownLog, offset: int, records: int) -> int:
    """Return the offset before which so many records from *offset* on are."""
    return offset + records if log.gaps is None else log.gaps.move(offset, records)
