"""Commits as columns are row by row what the value decoder says, in bounded record batches."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.logs.offsets_log import columns, columns_rows
from emulator.logs.offsets_log.columns import SCHEMA, CommitColumns
from emulator.logs.offsets_log.columns_left_out import LeftOut
from protocols.offsets_topic.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownValue,
    encode,
)
from protocols.offsets_topic.records.markers import ControlType
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.reader import read_log
from protocols.offsets_topic.segments.record import LogRecord

from ....protocols.offsets_topic.records.golden import cases
from ....protocols.offsets_topic.segments.control import encode_marker, marker_of
from .columns_expected import KEY, VALUE, assert_equal, log_of, logs, read, stored
from .segments import CAPTURES, KEPT


def is_of_a_commit(case) -> bool:
    return int(case["key_hex"][:4], 16) < 2


# -- they are what the value decoder says ------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [each for each in cases("record", "decode-record") if is_of_a_commit(each)],
    ids=lambda case: case["id"],
)
def test_golden_commits_are_what_the_value_decoder_says(case):
    """All versions of both types, tombstones included."""
    value = case["value_hex"]
    record = LogRecord(5, 9, bytes.fromhex(case["key_hex"]), value and bytes.fromhex(value))
    rows, _ = assert_equal(encode_batch([record]))

    assert 1 == len(rows)


@pytest.mark.parametrize("segment", sorted(KEPT.glob("*.log.gz")), ids=lambda path: path.name[:21])
def test_real_segments_are_what_the_value_decoder_says(segment):
    """Commits as rows, everything else counted."""
    data = gzip.decompress(segment.read_bytes())
    rows, left_out = assert_equal(data)
    records = sum(len(found.records) for found in read_log(data))

    assert len(rows) > 50
    assert records == len(rows) + left_out.other_types.total() + left_out.markers


@pytest.mark.skipif(CAPTURES is None, reason="no captures at hand")
def test_every_captured_segment_is_what_the_value_decoder_says():
    """The large ones, too."""
    segments = sorted(Path(CAPTURES or ".", "offsets-log").glob("*.log.gz"))

    assert segments
    for segment in segments:
        assert_equal(gzip.decompress(segment.read_bytes()))


@pytest.mark.long
@given(logs(), st.integers(1, 30), st.integers(1, 9))
def test_any_log_is_what_the_value_decoder_says(log, rows, run):
    """However it is cut, whatever is wrong with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_RUN", run)
        assert_equal(log, rows=rows)


@pytest.mark.parametrize("version", range(5))
def test_usual_values_need_no_decoder(version, monkeypatch):
    """Without metadata they are read together, each version, with or without a topic id."""
    known = {"leader_epoch": 3} if version >= 3 else {}
    known |= {"expire_timestamp": 9} if version == 1 else {}
    value = OffsetCommitValue(7, 1_000, **known, value_version=version)
    also = value._replace(topic_id="5NQWC11cQ9qhnk8CMkFiZQ") if version == 4 else value
    log = log_of((KEY, value), (KEY, also), (KEY, None), (KEY, value))
    monkeypatch.setattr(columns_rows, "decode_value", None)
    rows, _ = read(log)

    assert [stored(each) for each in (value, also, None, value)] == [
        {name: row[name] for name in stored(value)} for row in rows
    ]


def test_values_of_one_length_may_be_of_many_kinds():
    """Four versions and two with bytes behind them have a length in common."""
    values = [
        OffsetCommitValue(1, 2, value_version=0, trailing=b"more"),
        OffsetCommitValue(3, 4, value_version=2, trailing=b"more"),
        OffsetCommitValue(5, 6, leader_epoch=7, value_version=3),
        OffsetCommitValue(8, 9, leader_epoch=10, value_version=4),
        OffsetCommitValue(8, 9, metadata="four", value_version=2),
    ]
    log = log_of(*((KEY, value) for value in values))
    rows, left_out = assert_equal(log)

    assert {24} == {len(encode(Record(KEY, value))[1] or b"") for value in values}
    assert ([1, 3, 5, 8, 8], 2) == ([row["offset"] for row in rows], left_out.unknown_parts)


def test_the_oldest_form_is_not_taken_for_the_newer_one():
    """Its version 0 is the same, but it has no other."""
    old = LegacyOffsetCommitKey("g", "t", 0)
    value = LegacyOffsetCommitValue(offset=7, commit_timestamp=9)
    of_type_1 = encode(Record(KEY, OffsetCommitValue(1, 2, value_version=2)))[1]
    log = log_of((old, value), (KEY, VALUE), (old, UnknownValue(of_type_1 or b"")))
    rows, left_out = assert_equal(log)

    assert [(0, 0), (1, 4)] == [(row["record_type"], row["value_version"]) for row in rows]
    assert 1 == left_out.unreadable


# -- record batches ----------------------------------------------------------------------------


def test_record_batches_are_bounded_and_of_one_schema():
    """Also where one batch of the log has more records than fit, and where a file is read."""
    few = b"".join(log_of((KEY, VALUE), (KEY, None)) for _ in range(40))
    many = log_of(*((KEY, VALUE._replace(offset=at)) for at in range(95)))
    batches = list(CommitColumns(io.BytesIO(few + many + few), rows=30))
    offsets = [offset for batch in batches for offset in batch["offset"].to_pylist()]

    assert [7, None] * 40 + [*range(95)] + [7, None] * 40 == offsets
    assert all(0 < batch.num_rows <= 30 for batch in batches)
    assert {SCHEMA} == {batch.schema for batch in batches}


def test_text_is_encoded_by_dictionaries_of_what_there_is():
    """Each text once in a record batch."""
    keys = [OffsetCommitKey(f"g{at % 3}", f"t{at % 2}", at) for at in range(12)]
    (batch,) = CommitColumns(log_of(*((key, VALUE._replace(metadata="m")) for key in keys)))

    assert ["g0", "g1", "g2"] == batch["group"].dictionary.to_pylist()
    assert ["t0", "t1"] == batch["topic"].dictionary.to_pylist()
    assert ["", "m"] == batch["metadata"].dictionary.to_pylist()
    assert ["AAAAAAAAAAAAAAAAAAAAAA"] == batch["topic_id"].dictionary.to_pylist()


def test_nothing_gives_no_record_batches():
    """Neither an empty stream nor one without commits."""
    marker = encode_marker(
        marker_of(ControlType.COMMIT, 1),
        offset=0,
        timestamp=0,
        producer_id=7,
        producer_epoch=0,
        partition_leader_epoch=0,
    )

    assert ([], LeftOut()) == read(b"")
    assert ([], LeftOut(markers=1)) == read(marker)
    assert Counter({9: 1}) == read(encode_batch([LogRecord(0, 0, b"\0\x09", b"")]))[1].other_types


def test_the_package_does_not_need_numpy():
    """Only who asks for columns waits for it and for Arrow."""
    program = (
        "import sys, emulator.logs.offsets_log, emulator.logs.offsets_log.dumping\n"
        "print({'numpy', 'pyarrow'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "set()\n" == done.stdout
