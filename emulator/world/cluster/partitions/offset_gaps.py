"""Which offsets of a topic's partitions hold no record, and which of them no record for a reader.

Behind each transaction its producer writes a marker, which every reader skips. The records of aborted
transactions stay in the log: with ``isolation.level=read_committed`` a consumer skips them, too
(``CompletedFetch.nextFetchedRecord``).
"""

from __future__ import annotations

from emulator.scenario.model import Topic
from protocols.messages.records import Gaps


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
