"""Segments to read: small ones made here, and real ones with what Kafka said of them."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

from emulator.logs.offsets_log.dumping import LogDump, Wanted
from emulator.logs.offsets_log.recognising import read_segment
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record, encode
from protocols.offsets_topic.records.markers import ControlType
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import NO_PRODUCER, TRANSACTIONAL, Producer
from protocols.offsets_topic.segments.record import LogRecord

from ....protocols.offsets_topic.segments.control import encode_marker, marker_of

KEPT = Path(__file__).parents[3] / "captures" / "offsets-log"
"""Two small real segments, the dumps of one group on each, and the coordinator's lines of it."""

GROUPS = {4: "kip848-crash-1-cad7p", 11: "rolling-static-1-26gt5"}
"""The groups by the partition they were on."""

CAPTURES = os.environ.get("REBALANCE_CAPTURES")
PRODUCER = Producer(4000, 1)
NAME = "00000000000000000000.log"

DUMPED = re.compile(
    r"\| offset: (\d+) (\w+Time): (\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: (-?\d+) "
    r"headerKeys: \[\] key: (\{.*\}) payload: (.*)"
)


def segment_of(partition: int) -> Path:
    """Return the kept segment of a partition."""
    return KEPT / f"__consumer_offsets-{partition}.{NAME}.gz"


def bytes_of(partition: int) -> bytes:
    """Return the kept segment's bytes."""
    return gzip.decompress(segment_of(partition).read_bytes())


def lines_of(path: Path) -> list[str]:
    """Return the lines of a gzipped text."""
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def dumped_record(line: str) -> dict[str, Any]:
    """Return one line of Kafka's dump tool as the values that it holds, in its order."""
    match = DUMPED.fullmatch(line)
    assert match is not None, line
    offset, time_word, time, key_size, value_size, sequence, key, payload = match.groups()
    return {
        "offset": int(offset),
        time_word: int(time),
        "keySize": int(key_size),
        "valueSize": int(value_size),
        "sequence": int(sequence),
        "headerKeys": [],
        "key": json.loads(key),
        "payload": payload if payload == "<DELETE>" else json.loads(payload),
    }


def dumped_batch(line: str) -> dict[str, Any]:
    """Return a line about a batch, as above."""
    words = line.split()
    fields = dict(zip((word.removesuffix(":") for word in words[::2]), words[1::2], strict=True))
    kept = {"compresscodec"}
    fields["deleteHorizonMs"] = fields["deleteHorizonMs"].replace("OptionalLong.empty", "null")
    return {name: value if name in kept else json.loads(value) for name, value in fields.items()}


# -- read --------------------------------------------------------------------------------------


def shown(path: Path, *group_ids: str, **wanted: bool) -> list[dict[str, Any]]:
    """Return the lines about a segment."""
    dump = LogDump(Wanted(group_ids=frozenset(group_ids), **wanted))
    parts = read_segment(path)
    return [line.content for part in parts for line in dump.lines(part) if line.content is not None]


def followed(path: Path, *group_ids: str) -> list[dict[str, Any]]:
    """Return the same, with what groups looked like after each record."""
    return shown(path, *group_ids, states=True)


# -- made here ---------------------------------------------------------------------------------


def commit(group: str = "g", offset: int = 5, partition: int = 0, topic: str = "t") -> Record:
    """Return the commit of an offset."""
    return Record(OffsetCommitKey(group, topic, partition), OffsetCommitValue(offset, 1_000))


def batch(
    *records: Record, at: int = 0, producer: Producer = NO_PRODUCER, attributes: int = 0
) -> bytes:
    """Return the bytes of one batch of records, the first of them at a log offset."""
    return raw_batch(
        *(encode(record) for record in records), at=at, producer=producer, attributes=attributes
    )


def raw_batch(
    *pairs: tuple[bytes | None, bytes | None],
    at: int = 0,
    producer: Producer = NO_PRODUCER,
    attributes: int = 0,
) -> bytes:
    """Return the bytes of a batch of keys and values, whatever they are."""
    records = [LogRecord(at + n, 1_000 + n, *pair) for n, pair in enumerate(pairs)]
    if producer is not NO_PRODUCER:
        attributes |= TRANSACTIONAL
    return encode_batch(records, producer=producer, attributes=attributes)


def marker(at: int, *, is_committed: bool = True) -> bytes:
    """Return the bytes of the batch that ends the transaction of ``PRODUCER``."""
    return encode_marker(
        marker_of(ControlType.COMMIT if is_committed else ControlType.ABORT, 5),
        offset=at,
        timestamp=2_000,
        producer_id=PRODUCER.id,
        producer_epoch=PRODUCER.epoch,
        partition_leader_epoch=0,
    )


def written(folder: Path, data: bytes, name: str = NAME) -> Path:
    """Write a segment and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path
