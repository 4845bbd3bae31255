"""Records and batches: golden ones, small ones, and ones drawn at random."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import (
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Producer,
)
from protocols.offsets_topic.segments.record import LogRecord

INT_32 = st.integers(-(2**31), 2**31 - 1)
TIMES = st.integers(0, 2**45)
KEYS = st.binary(max_size=90) | st.sampled_from([b"a", b"b", b"k" * 63, b"k" * 64, b"k" * 200])
VALUES = st.none() | st.binary(max_size=90) | st.sampled_from([b"v" * 64, b"v" * 9000])
HEADERS = st.lists(
    st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=70)), max_size=2
).map(tuple)


def golden(kind: str) -> list[dict[str, Any]]:
    """Return the cases of a kind, ``batch`` or ``marker``, with the bytes that Kafka writes."""
    lines = Path(__file__).with_name("batches.jsonl").read_text().splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] == kind]


@st.composite
def records(draw: st.DrawFn, most: int = 8) -> list[LogRecord]:
    """Draw the records of one batch: ascending offsets with gaps, times in any order."""
    offset, time = draw(st.integers(0, 2**60)), draw(TIMES)
    near = st.integers(-(10**6), 10**6)
    drawn = []
    for _ in range(draw(st.integers(1, most))):
        key, value = draw(st.none() | KEYS), draw(VALUES)
        drawn.append(LogRecord(offset, time + draw(st.just(0) | near), key, value, draw(HEADERS)))
        offset += draw(st.sampled_from([1, 1, 1, 2, 63, 64, 70, 2**20]))
    return drawn


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, list[LogRecord]]:
    """Draw a batch with any header values, and what was put into it."""
    put = draw(records())
    flags = draw(st.sampled_from([0, TRANSACTIONAL, TRANSACTIONAL | CONTROL, LOG_APPEND_TIME]))
    if flags == LOG_APPEND_TIME:
        put = [record._replace(timestamp=put[0].timestamp) for record in put]
    encoded = encode_batch(
        put,
        base_offset=put[0].offset - draw(st.integers(0, min(3, put[0].offset))),
        last_offset=put[-1].offset + draw(st.integers(0, 3)),
        partition_leader_epoch=draw(INT_32),
        attributes=flags | draw(st.sampled_from(Compression)),
        producer=Producer(
            draw(st.integers(-1, 2**63 - 1)), draw(st.integers(-1, 2**15 - 1)), draw(INT_32)
        ),
        delete_horizon_ms=draw(st.none() | TIMES) if flags != LOG_APPEND_TIME else None,
    )
    return encoded, put


def commits(
    keys: Sequence[str], offset: int = 0, *, time: int = 1_000, last: int | None = None, **more
) -> Batch:
    """Return a batch with a record for each key, its value saying at which offset; "-k" deletes k."""
    put = [
        LogRecord(at, time, key.removeprefix("-").encode(), None if key[0] == "-" else b"%d" % at)
        for at, key in enumerate(keys, offset)
    ]
    return Batch.read(encode_batch(put, last_offset=last, **more))
