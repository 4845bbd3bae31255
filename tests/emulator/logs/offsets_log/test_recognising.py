"""Whether a file is a segment of the offsets topic, decided before any output."""

from __future__ import annotations

import gzip
import struct
from itertools import islice

import pytest

from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.offsets_log.recognising import Cut, read_segment
from protocols.offsets_topic.segments.batch import encode_batch, encode_empty_batch
from protocols.offsets_topic.segments.header import CONTROL
from protocols.offsets_topic.segments.reader import BatchRecords, Gap
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.resync import GapKind

from .segments import batch, bytes_of, commit, marker, raw_batch, segment_of, written


def parts(folder, data: bytes) -> list:
    return list(read_segment(written(folder, data)))


def batches(count: int, magic: int) -> bytes:
    """Return a log of batches that say they are of this format."""
    sound = (batch(commit(), at=at) for at in range(count))
    return b"".join(data[:16] + bytes([magic]) + data[17:] for data in sound)


def refusal(folder, data: bytes) -> str:
    """Return why a file of these bytes is refused."""
    path = written(folder, data)
    with pytest.raises(LogFileError) as refused:
        list(read_segment(path))
    assert str(path) == refused.value.path
    return refused.value.problem


def test_a_real_segment_is_read_whole():
    """Compressed or not."""
    found = list(read_segment(segment_of(11)))

    assert all(isinstance(part, BatchRecords) for part in found)
    assert len(bytes_of(11)) == sum(len(part.batch.data) for part in found)


def test_an_empty_file_has_no_parts(tmp_path):
    """Nor has an empty compressed one."""
    assert [] == parts(tmp_path, b"") == parts(tmp_path, gzip.compress(b""))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "not a log: it contains no record batch"),
        (b"a text of some lines\n" * 99, "not a log: it contains no record batch"),
        (b"short", "the log ends after 5 bytes of a header of 61"),
        (bytes(3_000_000), "zeros: space set aside and not written"),
        (gzip.compress(b"some text " * 99, mtime=0), "not a log: it contains no record batch"),
        (
            gzip.compress(bytes_of(11), mtime=0)[:40],
            "gzip: cut off before its end, with no record batch",
        ),
        (b"\x1f\x8b not really", "gzip: damaged (Error -3 while decompressing data"),
        (batch(commit())[:-1], "the batch says it has"),
        (
            bytes(16) + b"\1" + b"old" * 99,
            "If this is a log, it was written by a Kafka before 0.11",
        ),
        (
            batches(4_000, magic=3),
            "message format 3; only 2 is read. If this is a log, it was written by a newer",
        ),
    ],
    ids=[
        "picture",
        "text",
        "short",
        "zeros",
        "zipped",
        "cut",
        "no gzip",
        "cut log",
        "old",
        "newer",
    ],
)
def test_other_files_are_refused(tmp_path, data, said):
    """With the first thing that is wrong, and what is wanted instead."""
    assert said in refusal(tmp_path, data)


LONG = struct.pack(">q", 1234)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (None, "none"),
        (b"", "empty"),
        (b"\0", "00"),
        (b"customer-17", "'customer-17'"),
        (struct.pack(">i", 77), "0000004d"),
        (LONG, LONG.hex()),
        (b"\0\0\0\x05txn-1", b"\0\0\0\x05txn-1".hex()),
        (b"\0\x18\0\x09cut", b"\0\x18\0\x09cut".hex()),
        (b"k" * 99, repr("k" * 24) + "..."),
    ],
)
def test_a_log_of_another_topic_is_refused(tmp_path, key, shown):
    """No key is one of the offsets topic, whatever its type: text, number, transactional id."""
    problem = refusal(tmp_path, raw_batch((key, b"v")) + raw_batch((key, b"v"), at=1))

    assert problem.startswith("a log of another topic: its batches are valid, but")
    assert (
        f"the keys of its first 2 records are not those of __consumer_offsets (the first key: {shown})"
        in problem
    )


def test_a_large_log_of_another_topic_is_refused_soon(tmp_path):
    """Not only at its end."""
    data = b"".join(raw_batch(*[(b"k", b"v")] * 500, at=500 * n) for n in range(9))

    assert "the keys of its first 1000 records" in refusal(tmp_path, data)


@pytest.mark.parametrize("strange", [1, 900])
def test_one_key_of_the_offsets_topic_is_enough(tmp_path, strange):
    """Records before it are shown as what they are."""
    data = raw_batch(*[(b"k", b"v")] * strange) + batch(commit(), at=strange)

    assert strange + 1 == sum(len(part.records) for part in parts(tmp_path, data))


def test_types_of_a_newer_kafka_are_no_other_topic(tmp_path):
    """A type that is not far off, and a group's id."""
    assert 1 == len(parts(tmp_path, raw_batch((b"\0\x18\0\1g", b"\0\0"))))


def test_a_log_may_hold_markers_only(tmp_path):
    """Or batches that compaction has emptied."""
    empty = encode_empty_batch(parts(tmp_path, batch(commit()))[0].batch.header)

    assert 2 == len(parts(tmp_path, marker(0) + empty))


def test_control_records_do_not_identify_their_topic(tmp_path):
    """Those of the metadata log look alike; its records have no keys."""
    leader = encode_batch([LogRecord(0, 0, b"\0\0\0\2", b"\0\0")], attributes=CONTROL)

    assert "another topic" in refusal(tmp_path, leader + raw_batch((None, b"v"), at=1))


def test_a_gap_before_the_first_batch_is_yielded_with_it(tmp_path):
    """In the order of the file."""
    gap, found = parts(tmp_path, bytes(100) + batch(commit()))

    assert (Gap, GapKind.ZEROS, 100) == (type(gap), gap.kind, found.batch.position)


def test_a_file_that_is_cut_short_ends_with_it(tmp_path):
    """Behind what could be read."""
    found = parts(tmp_path, gzip.compress(bytes_of(11))[:-2000])

    assert Cut(found[-1].position, "gzip: cut off before its end") == found[-1]
    assert found[-1].position == sum(
        part.size if isinstance(part, Gap) else len(part.batch.data) for part in found[:-1]
    )


def test_a_file_with_output_is_not_refused_any_more(tmp_path):
    """After very many gaps a file is not refused any more."""
    data = b"".join(batch(commit(), at=at)[:-1] + b"\xff" for at in range(1_200))

    assert 1_200 == len(parts(tmp_path, data))


def test_nothing_more_is_held_back_than_needed(tmp_path):
    """The first parts come before the last are read."""
    path = written(tmp_path, bytes_of(4))

    assert 3 == len(list(islice(read_segment(path), 3)))
