"""Which offsets of a topic's partitions hold no record, and which of them no record for a reader.

Behind each transaction its producer writes a marker, which every reader skips. The records of aborted
transactions stay in the log: with ``isolation.level=read_committed`` a consumer skips them, too
(``CompletedFetch.nextFetchedRecord``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from emulator.scenario.model import Topic
from protocols.messages.records import Gaps

if TYPE_CHECKING:
    from emulator.world.cluster.partition_log import PartitionLog, ShownLog


def gaps_of(topic: Topic) -> Gaps | None:
    """Return which offsets of a partition of a topic hold no record; None: all hold one."""
    if topic.transaction_records is not None:
        return Gaps(topic.transaction_records + 1, topic.transaction_records)
    if topic.compacted is not None:
        return Gaps(topic.compacted, 1, topic.backlog * topic.compacted)
    return None


def committed_gaps_of(topic: Topic) -> Gaps | None:
    """Return the same for readers of committed records: aborted ones are none for them."""
    if topic.transaction_records is None or topic.aborted_every is None:
        return gaps_of(topic)
    cycle = (topic.transaction_records + 1) * topic.aborted_every
    return Gaps(cycle, topic.transaction_records, parts=topic.aborted_every - 1)


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
