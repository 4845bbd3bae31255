"""Generate commits as a coordinator writes them, for measurements: endless and deterministic.

Groups commit in turns. A commit is a batch of 2 to 6 records, with a topic id and no metadata;
each commit of a group continues with the next of its partitions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record, encode
from protocols.offsets_topic.records.wire import uuid_text
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.record import LogRecord

GROUPS, PARTITIONS = 50, 20
TOPICS = 10
NOON_MS = 1_767_225_600_000
TOPIC_IDS = [uuid_text(hashlib.md5(b"%d" % number).digest()) for number in range(TOPICS)]  # noqa: S324  an id, no secret


@dataclass(frozen=True)
class Commit:
    """One commit of a group: the records of one batch."""

    offset: int
    """Log offset of the first record."""

    time_ms: int
    records: list[Record]

    def encoded(self) -> bytes:
        """Return the encoded batch."""
        put = [
            LogRecord(offset, self.time_ms, *encode(record))
            for offset, record in enumerate(self.records, self.offset)
        ]
        return encode_batch(put, partition_leader_epoch=3)


def commits(groups: int = GROUPS) -> Iterator[Commit]:
    """Yield commits endlessly; each one of a group continues with the next of its partitions."""
    offset = number = 0
    while True:
        visit, group = divmod(number, groups)
        count, topic = 2 + group % 5, group % TOPICS
        time_ms = NOON_MS + 3 * number
        value = OffsetCommitValue(
            offset=7 * visit,
            commit_timestamp=time_ms - number % 2,
            leader_epoch=5,
            topic_id=TOPIC_IDS[topic],
        )
        keys = (
            OffsetCommitKey(f"billing-{group:05}", f"orders-{topic}", at % PARTITIONS)
            for at in range(visit * count, (visit + 1) * count)
        )
        yield Commit(offset, time_ms, [Record(key, value) for key in keys])
        offset += count
        number += 1


def of_records(count: int, groups: int = GROUPS) -> Iterator[Commit]:
    """Yield commits with *count* records in total."""
    for commit in commits(groups):
        left = count - commit.offset
        if left <= 0:
            return
        yield Commit(commit.offset, commit.time_ms, commit.records[:left])


def write_segment(path: Path, size: int) -> None:
    """Write a segment of at least *size* bytes."""
    with path.open("wb") as file:
        batches = (commit.encoded() for commit in commits())
        while file.tell() < size:
            file.write(next(batches))
