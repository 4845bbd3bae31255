"""Segments that a real Kafka wrote, beside what its own dump tool says of them.

Two small ones are kept with the tests. Where ``REBALANCE_CAPTURES`` names a folder of captures,
all segments in it are held against their dumps.
"""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import Producer
from protocols.offsets_topic.segments.reader import BatchRecords, read_log

HERE = Path(__file__).parents[3] / "captures" / "offsets-log"
SEGMENTS = sorted(HERE.glob("*.log.gz"))
HEADER = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) baseSequence: (-?\d+) "
    r"lastSequence: (-?\d+) producerId: (-?\d+) producerEpoch: (-?\d+) "
    r"partitionLeaderEpoch: (-?\d+) isTransactional: (\w+) isControl: (\w+) "
    r"deleteHorizonMs: (\S+) position: (\d+) CreateTime: (\d+) size: (\d+) "
    r"magic: (\d+) compresscodec: (\w+) crc: (\d+) isvalid: true"
)
RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) keySize: (\d+) valueSize: (-?\d+) ")


def batches_of(segment: Path) -> list[BatchRecords]:
    return list(read_log(gzip.decompress(segment.read_bytes())))


def named(path: Path) -> str:
    return path.name.split(".")[0].removeprefix("__consumer_offsets-")


@pytest.mark.parametrize("segment", SEGMENTS, ids=named)
def test_batches_of_a_real_log_are_written_again_from_their_parts(segment):
    """The same bytes, batch by batch, and nothing between the batches."""
    data = gzip.decompress(segment.read_bytes())
    again = [
        encode_batch(
            records,
            base_offset=batch.header.base_offset,
            last_offset=batch.header.last_offset,
            partition_leader_epoch=batch.header.partition_leader_epoch,
            attributes=batch.header.attributes,
            producer=Producer(
                batch.header.producer_id, batch.header.producer_epoch, batch.header.base_sequence
            ),
        )
        for batch, records in read_log(data)
    ]

    assert len(again) > 90
    assert data == b"".join(again)


def test_two_real_segments_are_at_hand():
    """Partitions 4 and 11."""
    assert ["11", "4"] == [named(path) for path in SEGMENTS]


def header_said(found: BatchRecords) -> tuple[str, ...]:
    """Return the numbers of a header in the order of the dump tool."""
    position, header, _ = found.batch
    told_ = (
        *(header.base_offset, header.last_offset, header.record_count, header.base_sequence),
        *(header.last_sequence, header.producer_id, header.producer_epoch),
        header.partition_leader_epoch,
        str(header.is_transactional).lower(),
        str(header.is_control).lower(),
        "OptionalLong.empty" if header.delete_horizon_ms is None else header.delete_horizon_ms,
        *(position, header.max_timestamp, header.size, header.magic, "none", header.crc),
    )
    return tuple(map(str, told_))


def records_said(found: BatchRecords) -> list[tuple[int, int, int, int]]:
    """Return log offset, time and sizes of the records, as the dump tool prints them."""
    return [
        (each.offset, each.timestamp, len(each.key), -1 if each.value is None else len(each.value))
        for each in found.records
    ]


@pytest.mark.skipif("REBALANCE_CAPTURES" not in os.environ, reason="no captures at hand")
def test_real_segments_are_read_as_kafka_dumps_them():
    """Every header and every record, of every segment that has a dump beside it."""
    folder = Path(os.environ.get("REBALANCE_CAPTURES", ".")) / "offsets-log"
    segments = sorted(folder.glob("__consumer_offsets-*.log.gz"))
    for segment in segments:
        dump = segment.with_name(segment.name.split(".")[0] + ".dump.txt.gz")
        lines = gzip.decompress(dump.read_bytes()).decode().splitlines()
        headers = [HEADER.match(line) for line in lines if line.startswith("baseOffset")]
        records = [RECORD.match(line) for line in lines if line.startswith("|")]
        found = batches_of(segment)

        assert [line and line.groups() for line in headers] == [header_said(each) for each in found]
        assert [line and tuple(map(int, line.groups())) for line in records] == [
            told_ for each in found for told_ in records_said(each)
        ]
    assert segments
