"""Damaged streams: all bytes, each once, never an exception, and reading goes on."""

from __future__ import annotations

import hashlib
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import Batch, encode_batch, encode_empty_batch
from protocols.offsets_topic.segments.reader import Gap, read_batches, read_log
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.resync import CHUNK_BYTES, GapKind, Limits, Window

from .drawn import commits
from .streams import BYTES, LOG, STARTS, OneByOne, gaps, offsets, patched, read


def test_a_log_cut_anywhere_keeps_its_whole_batches():
    """The rest of the last one is a gap to the end of the stream."""
    for cut in range(1, len(BYTES)):
        found = read(BYTES[:cut])
        whole = sum(end <= cut for end in STARTS[1:])

        assert whole == sum(not isinstance(each, Gap) for each in found)
        assert [STARTS[whole]] * (STARTS[whole] < cut) == [at for _, at, _ in gaps(found)]
        assert all(kind in {GapKind.TRUNCATED, GapKind.ZEROS} for kind, _, _ in gaps(found))


def test_a_truncated_batch_says_what_is_missing():
    """How long it says it is, and how much is there."""
    (gap,) = [each for each in read(BYTES[:-10]) if isinstance(each, Gap)]
    size = len(LOG[3].data)

    assert (GapKind.TRUNCATED, STARTS[3], size - 10) == (gap.kind, gap.position, gap.size)
    assert f"the batch says it has {size} bytes; {size - 10} are left" == gap.reason


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_flipped_anywhere_costs_no_other_batch(bit):
    """At most the one it is in; base offset and leader epoch, not summed, cost not even that."""
    for at in range(len(BYTES)):
        found = read(patched(BYTES, at, bytes([BYTES[at] ^ 1 << bit])))
        hit = max(start for start in STARTS if start <= at)
        kept = {each.batch.position for each in found if not isinstance(each, Gap)}

        assert set(STARTS[:-1]) - {hit} <= kept
        assert (at - hit < 8 or 12 <= at - hit < 16) == (hit in kept)


def test_a_wrong_checksum_is_named_with_both_sums():
    """The gap is the batch, by its own length."""
    at = STARTS[1] + 80
    found = read(patched(BYTES, at, b"\xff"))
    (gap,) = [each for each in found if isinstance(each, Gap)]

    assert (GapKind.BAD_CHECKSUM, STARTS[1], len(LOG[1].data)) == (gap.kind, gap.position, gap.size)
    assert f"offset 2 says {LOG[1].header.crc:08x}" in gap.reason
    assert [0, 1, 5, 6] == offsets(found)


@pytest.mark.parametrize("length", [-1, 0, 48, 20_001, 2**31 - 1])
def test_an_impossible_length_is_passed_over_to_the_next_batch(length):
    """The next place where everything is right, checksum included."""
    found = read(patched(BYTES, STARTS[1] + 8, length.to_bytes(4, signed=True)))

    assert [(GapKind.BAD_LENGTH, STARTS[1], len(LOG[1].data))] == gaps(found)
    assert [0, 1, 5, 6] == offsets(found)


def test_a_length_that_is_possible_and_wrong_is_found_out():
    """There is no batch at the next position: the search begins in the bad one."""
    found = read(patched(BYTES, STARTS[1] + 8, (150).to_bytes(4)))

    assert [(GapKind.BAD_CHECKSUM, STARTS[1], len(LOG[1].data))] == gaps(found)
    assert [0, 1, 5, 6] == offsets(found)


def test_a_length_beyond_the_end_hides_no_batch_behind_it():
    """The log seems cut, and is not."""
    found = read(patched(BYTES, STARTS[1] + 8, (15_000).to_bytes(4)))

    assert [(GapKind.TRUNCATED, STARTS[1], len(LOG[1].data))] == gaps(found)
    assert [0, 1, 5, 6] == offsets(found)


@pytest.mark.parametrize(
    ("magic", "kind"),
    [(1, "old format"), (0, "old format"), (3, "unknown format"), (255, "unknown format")],
)
def test_other_formats_are_named_and_passed_over(magic, kind):
    """By their own length, if a batch follows."""
    found = read(patched(BYTES, STARTS[1] + 16, bytes([magic])))
    (gap,) = [each for each in found if isinstance(each, Gap)]

    assert (kind, STARTS[1], len(LOG[1].data)) == (gap.kind, gap.position, gap.size)
    assert f"message format {magic}; only 2 is read" == gap.reason
    assert [0, 1, 5, 6] == offsets(found)


def test_a_whole_log_of_a_newer_format_is_one_gap():
    """Its batches are not looked at; those behind it are read."""
    sound = [commits(["a"], offset).data for offset in range(500)]
    newer = b"".join(patched(data, 16, b"\3") for data in sound)
    found = read(newer + commits(["a", "b"], 500).data)

    assert [(GapKind.UNKNOWN_FORMAT, 0, len(newer))] == gaps(found)
    assert [500, 501] == offsets(found)


def old_message(offset: int, magic: int) -> bytes:
    """Return a message as Kafka wrote it before 0.11."""
    time_there = bytes(8) if magic else b""
    rest = bytes(4) + bytes([magic, 0]) + time_there + b"\0\0\0\1k" + b"\0\0\0\1v"
    return offset.to_bytes(8) + len(rest).to_bytes(4) + rest


def test_a_whole_log_of_an_old_format_is_one_gap():
    """Its messages are not looked at; batches behind it are read."""
    older = b"".join(old_message(offset, 0) for offset in range(3))
    old = b"".join(old_message(offset, 1) for offset in range(3, 500))
    found = read(older + old + commits(["a", "b"], 500).data)

    assert [
        (GapKind.OLD_FORMAT, 0, len(older)),
        (GapKind.OLD_FORMAT, len(older), len(old)),
    ] == gaps(found)
    assert [500, 501] == offsets(found)


@pytest.mark.parametrize("zeros", [1, 16, 17, 60, 61, 5000, 3 * CHUNK_BYTES + 1])
def test_a_preallocated_tail_is_one_gap(zeros):
    """However long it is."""
    found = read(BYTES + bytes(zeros))

    assert [(GapKind.ZEROS, len(BYTES), zeros)] == gaps(found)
    assert 7 == len(offsets(found))


@pytest.mark.parametrize("zeros", [17, 100, CHUNK_BYTES - 3, CHUNK_BYTES, 2 * CHUNK_BYTES + 11])
@pytest.mark.parametrize("first", [0, 1, 255, 2**40])
def test_zeros_end_where_a_batch_begins_although_it_begins_with_zeros(zeros, first):
    """Base offset 0 and a short length are eleven zeros that belong to the batch."""
    found = read(bytes(zeros) + commits(["a"], first).data + BYTES)

    assert [(GapKind.ZEROS, 0, zeros)] == gaps(found)
    assert [first, 0, 1, 2, 3, 4, 5, 6] == offsets(found)


def test_a_hole_of_zeros_in_a_batch_costs_that_batch():
    """As a page that was never written leaves it."""
    found = read(patched(BYTES, STARTS[1] + 5, bytes(len(LOG[1].data) - 5)))

    assert [0, 1, 5, 6] == offsets(found)
    assert [GapKind.ZEROS] == [kind for kind, _, _ in gaps(found)]


NOISE = hashlib.shake_128(b"noise").digest(2_000_000)


class Zeros(io.RawIOBase):
    """A file of more zeros than fit in memory."""

    def __init__(self, size: int, tail: bytes) -> None:
        self.left = size
        self.tail = tail

    def read(self, size: int = -1) -> bytes:
        now, self.left = min(size, self.left), max(0, self.left - size)
        if now:
            return bytes(now)
        tail, self.tail = self.tail, b""
        return tail


@pytest.mark.long
def test_ten_gigabytes_of_zeros_are_one_gap_in_little_memory():
    """Two megabytes are enough."""
    size = 10 * 2**30
    tracemalloc.start()
    try:
        found = list(read_log(Zeros(size, BYTES)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [(GapKind.ZEROS, 0, size)] == gaps(found)
    assert 7 == len(offsets(found))
    assert peak < 2_000_000


@given(st.binary(max_size=400))
def test_any_bytes_are_gaps_and_batches(data):
    """None of them raises anything."""
    read(data)
    read(BYTES + data)
    read(data + BYTES)


@given(st.binary(max_size=300), st.integers(0, len(BYTES)), st.integers(0, len(BYTES)))
def test_a_log_with_other_bytes_in_it_is_read_on_both_sides(data, one, other):
    """Batches that were not touched are all there."""
    start, end = sorted((one, other))
    found = read(BYTES[:start] + data + BYTES[end:])
    untouched = sum(stop <= start for stop in STARTS[1:]) + sum(at >= end for at in STARTS[:-1])

    assert untouched <= sum(not isinstance(each, Gap) for each in found)


@given(
    st.lists(st.sampled_from([b"\0", b"\2", b"\x7f", b"\xff", BYTES[:61], BYTES[:17], bytes(17)]))
)
def test_bytes_that_look_like_headers_do_not_confuse(parts):
    """Pieces of headers in any order."""
    found = read(b"".join(parts) * 3 + BYTES)

    assert [3, 4, 5, 6] == offsets(found)[-4:]


def test_garbage_is_searched_in_time_in_its_length():
    """Also when every byte could begin a batch, and every header promises a long one."""
    header = patched(BYTES[:61], 8, (5_000_000).to_bytes(4))
    for garbage in (b"\2" * 2_000_000, header * 100_000, NOISE):
        found = list(read_batches(garbage + BYTES))

        assert 4 == sum(isinstance(each, Batch) for each in found)


def test_a_batch_behind_garbage_is_found_wherever_a_chunk_ends():
    """The search goes on where the bytes in memory were too few for a header."""
    for size in range(70, 90):
        data = NOISE[:size] + BYTES

        assert list(read_log(data)) == list(read_log(OneByOne(data)))
        assert [0, 1, 2, 3, 4, 5, 6] == offsets(read(data))


def test_a_header_inside_of_a_value_is_not_what_follows():
    """Its log offset is not higher than that of the batch it is in."""
    front = BYTES[:61]
    bad = Batch.read(encode_batch([LogRecord(9, 0, b"k", bytes(40) + front + bytes(40))]))
    inside = bad.data.index(front)
    found = read(BYTES + patched(bad.data, 8, (inside - 12).to_bytes(4)) + commits(["z"], 10).data)

    assert [(GapKind.BAD_CHECKSUM, len(BYTES), len(bad.data))] == gaps(found)
    assert 10 == offsets(found)[-1]


def test_a_batch_inside_of_the_last_one_is_not_read():
    """The end of the stream follows its length: that can be right, and the batch is skipped."""
    bad = encode_batch([LogRecord(0, 0, b"k", BYTES)])
    spoilt = patched(bad, 17, bytes(4))

    assert [(GapKind.BAD_CHECKSUM, 0, len(bad))] == gaps(read(spoilt))


def test_a_batch_without_records_is_found_and_its_checksum_looked_at():
    """It is its header alone."""
    empty = encode_empty_batch(LOG[3].header)
    spoilt = patched(empty, 17, bytes(4))
    found = read(BYTES + b"\xff" + empty + spoilt)

    at = len(BYTES) + 1 + len(empty)

    assert at - len(empty) in [each.batch.position for each in found if not isinstance(each, Gap)]
    assert (GapKind.BAD_CHECKSUM, at, len(empty)) == gaps(found)[-1]


def test_a_message_of_an_old_format_does_not_follow_a_batch():
    """Logs are never written in an older format again: the length of the batch is wrong, too."""
    spoilt = patched(LOG[3].data, 17, bytes(4))
    data = spoilt + old_message(7, 1)

    assert [(GapKind.BAD_CHECKSUM, 0, len(data))] == gaps(read(data))


def test_the_largest_batch_is_found_directly_behind_garbage():
    """Its bytes may be summed before any other was passed."""
    limits = Limits(batch_bytes=len(LOG[0].data) - 12)

    assert [0, 1] == offsets(read(b"\xff" + LOG[0].data, limits))


@pytest.mark.parametrize("position", [-1, 9])
def test_a_window_is_never_asked_about_bytes_that_it_does_not_have(position):
    """It would return other bytes; refused under ``python -O``, too."""
    with pytest.raises(ValueError, match="in memory are 0 to 8"):
        Window(bytes(8)).bytes_at(position, 4)


def test_a_window_reads_on_only_for_bytes_that_it_does_not_have():
    """Not for the last ones in memory."""
    source = io.BytesIO(bytes(2 * CHUNK_BYTES))
    window = Window(source)
    available = [window.reach(0, size) for size in (8, CHUNK_BYTES)]

    assert ([8, CHUNK_BYTES], CHUNK_BYTES) == (available, source.tell())
