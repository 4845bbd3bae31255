"""Damaged segments through ``rebalance log``: reported or refused, every byte accounted for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import HEADER, HEADER_BYTES, SUMMED_FROM
from protocols.offsets_topic.segments.reader import BatchRecords, Gap, read_log
from protocols.offsets_topic.segments.record import LogRecord

from ..commands import rebalance
from .test_log import CONSUMER, FIRST, STATIC

REAL = [gzip.decompress(path.read_bytes()) for path in (CONSUMER, STATIC)]
PARTS = [data[:4000] for data in REAL] + [REAL[0][38_000:], REAL[1][-3_000:]]
GZIP_HEADER_BYTES = 10
ASKED = [
    ("--batches",),
    ("--follow-state", "--batches"),
    ("--group", "cds", "--batches", "--follow-state"),
    ("--state-only",),
    ("--table",),
]
MODERATE = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a real segment with something wrong: bits, bytes, cuts, pieces moved or left out."""
    data = draw(st.sampled_from(PARTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 400)))
        match draw(st.integers(0, 5)):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + bytes(end - at) + data[end:]
            case 3:
                data = data[:at] + draw(st.binary(max_size=20)) + data[end:]
            case 4:
                data = data[:end] + data[at:end] + data[end:]
            case _ if at < len(data):
                bit = 1 << draw(st.integers(0, 7))
                data = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
    return data


def accounted(path: Path, size: int, *options: str) -> int:
    """Call the command; see that nothing is left out, and return its status."""
    status, out, err = rebalance("log", path, *options)
    assert "Traceback" not in err
    if status == 2:
        assert "" == out
        assert err.startswith(f"{path}: ")
        assert err.count("\n") == 1
        return status
    documents = [json.loads(line) for line in out.splitlines()] if "--table" not in options else []
    assert (status == 1) == ("could not" in err or "out of order" in err or "not know" in err)
    if "--batches" in options:
        spans = [
            (line["position"], line["position"] + line["size"])
            for line in documents
            if {"baseOffset", "gap"} & line.keys() and line["size"] is not None
        ]
        assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), size]
    return status


@MODERATE
@given(data=damaged(), options=st.sampled_from(ASKED))
def test_a_damaged_segment_is_reported_or_refused(tmp_path, data, options):
    """Batches and gaps cover it from its first byte to its last."""
    path = tmp_path / FIRST
    path.write_bytes(data)

    accounted(path, len(data), *options)


@pytest.mark.long
@MODERATE
@given(chosen=st.sampled_from(REAL), data=st.data())
def test_a_damaged_compressed_segment_is_reported_or_refused(tmp_path, chosen, data):
    """All bytes before the damage are read."""
    zipped = gzip.compress(chosen, mtime=0)
    at = data.draw(st.integers(GZIP_HEADER_BYTES, len(zipped) - 1))
    cut = data.draw(st.booleans())
    spoilt = zipped[:at] if cut else zipped[:at] + bytes([zipped[at] ^ 0x55]) + zipped[at + 1 :]
    path = tmp_path / f"{FIRST}.gz"
    path.write_bytes(spoilt)

    status, out, err = rebalance("log", path)

    assert "Traceback" not in err
    assert status in {1, 2}
    assert (status == 2) == (not out)


@st.composite
def rewritten(draw: st.DrawFn) -> bytes:
    """Draw a real segment whose batches are right and whose keys or values are not."""
    data = draw(st.sampled_from(PARTS))
    batches = [part for part in read_log(data) if isinstance(part, BatchRecords)]
    again = []
    for batch, records in batches:
        again.append(
            encode_batch(
                [LogRecord(*record[:2], *map(draw, _parts(record))) for record in records],
                base_offset=batch.header.base_offset,
                last_offset=batch.header.last_offset,
                attributes=batch.header.attributes & ~0x07,
            )
        )
    return b"".join(again)


def _parts(record: LogRecord) -> tuple[st.SearchStrategy[bytes | None], ...]:
    """Return what key and value may become: mostly themselves."""
    return tuple(
        st.one_of(
            *[st.just(part)] * 6,
            st.just(None),
            st.binary(max_size=30),
            st.integers(0, len(part or b"")).map(lambda cut, part=part: (part or b"")[:cut]),
            st.integers(0, 30).map(
                lambda number, part=part: number.to_bytes(2) + (part or b"")[2:]
            ),
        )
        for part in (record.key, record.value)
    )


@pytest.mark.long
@MODERATE
@given(data=rewritten(), options=st.sampled_from(ASKED))
def test_meaningless_records_are_shown_with_the_rest(tmp_path, data, options):
    """Their batches are right: each record has its line."""
    path = tmp_path / FIRST
    path.write_bytes(data)
    found = list(read_log(data))
    assert not [part for part in found if isinstance(part, Gap)]

    status = accounted(path, len(data), *options)

    if options == ("--batches",) and status != 2:
        out = rebalance("log", path).out
        assert sum(len(part.records) for part in found) == out.count("\n")


@pytest.mark.parametrize("magic", [3, 7, 127])
def test_a_batch_of_a_newer_format_is_a_gap(tmp_path, magic):
    """Named by its number; the batches around it are read."""
    parts = [part.batch for part in read_log(REAL[1])][:3]
    middle = bytearray(parts[1].data)
    middle[16] = magic
    path = tmp_path / FIRST
    path.write_bytes(parts[0].data + bytes(middle) + parts[2].data)

    status, out, _ = rebalance("log", path)
    (gap,) = [line for line in map(json.loads, out.splitlines()) if "gap" in line]

    assert (1, "unknown format", len(middle)) == (status, gap["gap"], gap["size"])
    assert f"message format {magic}" in gap["reason"]


@pytest.mark.long
def test_batches_that_would_fill_the_memory_are_gaps(tmp_path):
    """One that says it has 2 GB, and one that grows to 200 MB when it is decompressed."""
    good = next(part.batch.data for part in read_log(REAL[1]))
    huge = HEADER.pack(1, 2**31 - 1, 0, 2, *[0] * 9)
    body = gzip.compress(bytes(200 * 10**6))
    head = bytearray(encode_batch([LogRecord(1, 0, b"k", None)], attributes=1)[:HEADER_BYTES])
    head[8:12] = (HEADER_BYTES - 12 + len(body)).to_bytes(4)
    head[17:21] = crc32c(bytes(head[SUMMED_FROM:]) + body).to_bytes(4)
    bomb = bytes(head) + body
    path = tmp_path / FIRST
    path.write_bytes(good + bomb + good + huge)

    status, out, _ = rebalance("log", path)
    gaps = [line for line in map(json.loads, out.splitlines()) if "gap" in line]

    assert 1 == status
    assert ["bad records", "bad length"] == [gap["gap"] for gap in gaps]
