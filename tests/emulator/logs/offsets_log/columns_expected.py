"""Logs to be read as columns, and what the value decoder says of them, record by record."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from emulator.logs.offsets_log.columns import CommitColumns
from emulator.logs.offsets_log.columns_left_out import LeftOut
from protocols.offsets_topic.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MalformedRecordError,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownValue,
    decode,
    encode,
)
from protocols.offsets_topic.records.markers import ControlType
from protocols.offsets_topic.records.record import RECORD_TYPES
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import LOG_APPEND_TIME, NO_PRODUCER, Producer
from protocols.offsets_topic.segments.reader import Gap, read_log
from protocols.offsets_topic.segments.record import LogRecord

from ....protocols.offsets_topic.records.strategies import (
    records_of,
    spoilt,
    unknown_records,
)
from ....protocols.offsets_topic.segments.control import OTHER, encode_marker, marker_of

KEY = OffsetCommitKey("g", "t", 0)
VALUE = OffsetCommitValue(offset=7, commit_timestamp=1_000, leader_epoch=3)

Row = dict[str, Any]


# -- what is expected --------------------------------------------------------------------------


def expected(data: bytes) -> tuple[list[Row], LeftOut]:
    """Return the rows of a log and what is left out, by the value decoder, record by record."""
    rows, left_out = [], LeftOut()
    for found in read_log(data):
        if isinstance(found, Gap):
            left_out.gap(found)
        elif found.batch.header.is_control:
            left_out.markers += len(found.records)
        else:
            for record in found.records:
                rows += expected_row(record, found.batch.header.producer_id, left_out)
    return rows, left_out


def expected_row(record: LogRecord, producer_id: int, left_out: LeftOut) -> list[Row]:
    if record.key is None:
        left_out.record(record.offset, "the record has no key")
        return []
    try:
        key, value = decode(record.key, record.value)
    except MalformedRecordError as error:
        left_out.record(record.offset, str(error))
        return []
    if not isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey):
        left_out.other_types[key.record_type] += 1
        return []
    if isinstance(value, UnknownValue):
        reason = f"Kafka 4.4 does not know version {value.value_version}"
        left_out.record(record.offset, f"value, byte 0, version: {reason}")
        return []
    unknown = getattr(value, "unknown_tags", ()) or getattr(value, "trailing", b"")
    left_out.unknown_parts += bool(unknown or record.headers)
    named = {
        "log_offset": record.offset,
        "timestamp": record.timestamp,
        "producer_id": producer_id,
        "is_tombstone": value is None,
    }
    return [named | key._asdict() | stored(value)]


def stored(value: OffsetCommitValue | LegacyOffsetCommitValue | None) -> Row:
    """Return what the columns have of a value; the oldest form has no more than it had."""
    if isinstance(value, LegacyOffsetCommitValue):
        newer = OffsetCommitValue(value.offset, value.commit_timestamp, metadata=value.metadata)
        return stored(newer._replace(value_version=0))
    names = [*OffsetCommitValue._fields[:-2]]
    return {name: None if value is None else getattr(value, name) for name in names}


def read(source: bytes | Any, **more: Any) -> tuple[list[Row], LeftOut]:
    reading = CommitColumns(source, **more)
    rows = [row for batch in reading for row in batch.to_pylist()]
    return rows, reading.left_out


def assert_equal(data: bytes, **more: Any) -> tuple[list[Row], LeftOut]:
    rows, left_out = read(data, **more)
    expected_rows, expected_left_out = expected(data)

    assert expected_rows == rows
    assert {*expected_left_out.faults} == {*left_out.faults}
    left_out.faults = expected_left_out.faults  # they come in the order of fields, not of records
    assert expected_left_out == left_out
    return rows, left_out


# -- logs --------------------------------------------------------------------------------------


def log_record(offset: int, record: tuple[Any, Any], timestamp: int = 1_000) -> LogRecord:
    return LogRecord(offset, timestamp, *encode(Record(*record)))


def log_of(*records: tuple[Any, Any], **more: Any) -> bytes:
    """Return one batch of some records."""
    return encode_batch([log_record(at, record) for at, record in enumerate(records)], **more)


COMMITS = st.sampled_from(
    [(RECORD_TYPES[1], version) for version in RECORD_TYPES[1].versions] + [(RECORD_TYPES[0], 0)]
).flatmap(lambda layout: records_of(*layout))
USUAL = st.builds(
    lambda offset, time, epoch, topic_id: OffsetCommitValue(
        offset, time, leader_epoch=epoch, topic_id=topic_id
    ),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**50),
    st.integers(-1, 2**31 - 1),
    st.sampled_from(["AAAAAAAAAAAAAAAAAAAAAA", "5NQWC11cQ9qhnk8CMkFiZQ"]),
)
USUAL_COMMITS = st.builds(Record, st.builds(KEY._replace, partition=st.integers(0, 3)), USUAL)
NEWER = st.builds(
    lambda version, rest: Record(KEY, UnknownValue(version.to_bytes(2, signed=True) + rest)),
    st.sampled_from([-1, 5, 9]),
    st.binary(max_size=40),
)
MIXED = (
    USUAL_COMMITS
    | USUAL_COMMITS
    | COMMITS
    | NEWER
    | unknown_records
    | records_of(RECORD_TYPES[2], 3)
)


@st.composite
def log_records(draw: st.DrawFn) -> LogRecord:
    """Draw a record of the log, of any kind, now and then with something wrong in it."""
    key, value = encode(draw(MIXED))
    if draw(st.integers(0, 9)) == 0:
        key, value = draw(st.none() | spoilt(key)), draw(st.just(value) | spoilt(value or b""))
    headers = draw(st.sampled_from([(), (), (), ((b"h", b"v"),)]))
    return LogRecord(0, draw(st.integers(0, 2**45)), key, value, headers)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Draw a log: batches of any codec and producer, markers, and bytes that are neither."""
    parts, offset = [], draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["records", "records", "records", "marker", "noise"]))
        if kind == "noise":
            parts.append(draw(st.binary(min_size=1, max_size=80)))
        elif kind == "marker":
            marker = draw(st.sampled_from([*(marker_of(each, 1) for each in ControlType), OTHER]))
            about = {"producer_id": 7, "producer_epoch": 1, "partition_leader_epoch": 0}
            parts.append(encode_marker(marker, offset=offset, timestamp=5, **about))
            offset += 1
        else:
            drawn = draw(st.lists(log_records(), min_size=1, max_size=12))
            put = [each._replace(offset=at) for at, each in enumerate(drawn, offset)]
            codec = draw(st.sampled_from([Compression.NONE, Compression.NONE, Compression.LZ4]))
            append_time = draw(st.sampled_from([0, 0, LOG_APPEND_TIME]))
            producer = draw(st.sampled_from([NO_PRODUCER, NO_PRODUCER, Producer(7, 1)]))
            parts.append(encode_batch(put, attributes=codec | append_time, producer=producer))
            offset += len(put)
    return b"".join(parts)
