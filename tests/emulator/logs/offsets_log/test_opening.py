"""Files as bytes: plain and compressed, whole and damaged."""

from __future__ import annotations

import gzip
import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.logs.offsets_log.finding import (
    CHUNK_BYTES,
    LogFileError,
    SegmentBytes,
    buffered,
    opened,
)

TEXT = b"".join(n.to_bytes(3) for n in range(60_000))
ZIPPED = gzip.compress(TEXT, mtime=0)


def read(data: bytes) -> tuple[bytes, str | None]:
    """Return what comes out of a file of these bytes, and why it ended too early."""
    source = SegmentBytes(io.BytesIO(data))
    return buffered(source).read(), source.fault


@pytest.mark.parametrize("data", [b"", b"\x1f", b"plain", TEXT])
def test_plain_bytes_come_as_they_are(data):
    """However few."""
    assert (data, None) == read(data)


@pytest.mark.parametrize("data", [b"", b"small", TEXT, bytes(5 * CHUNK_BYTES)])
def test_compressed_bytes_come_out_whole(data):
    """In one member, in several, and with zeros behind them."""
    zipped = gzip.compress(data)

    assert (data, None) == read(zipped)
    assert (data * 2, None) == read(zipped * 2)
    assert (data * 2, None) == read(zipped + bytes(100_000) + zipped + bytes(100_000))


@given(cut=st.integers(2, len(ZIPPED) - 1))
def test_a_truncated_file_gives_its_content(cut):
    """With an error at its end."""
    text, fault = read(ZIPPED[:cut])

    assert TEXT.startswith(text)
    assert "gzip: cut off before its end" == fault


def test_a_file_cut_late_gives_nearly_all():
    """Bytes compressed before the cut are kept."""
    assert len(read(ZIPPED[:-9])[0]) >= len(TEXT) - 300
    assert TEXT == read(ZIPPED[:-1])[0]


@pytest.mark.long
@given(at=st.integers(20, len(ZIPPED) - 1), bit=st.integers(0, 7))
def test_a_damaged_file_gives_what_comes_before(at, bit):
    """All bytes before the damage; the checksum of the file finds it at the latest."""
    data = ZIPPED[:at] + bytes([ZIPPED[at] ^ 1 << bit]) + ZIPPED[at + 1 :]
    text, fault = read(data)

    assert fault is not None
    assert fault.startswith("gzip: ")
    assert text.startswith(zlib.decompressobj(31).decompress(ZIPPED[:at]))


def test_trailing_bytes_are_reported():
    """Other bytes than a further gzip member."""
    text, fault = read(ZIPPED + b"and more")

    assert (TEXT, "gzip: the file has other bytes after its end") == (text, fault)


class Failing(io.BytesIO):
    """A file on a disk that fails after the first bytes."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().read(size)


def test_a_disk_that_fails_ends_the_file():
    """The bytes read before are kept."""
    source = SegmentBytes(Failing(b"all that there is"))

    assert b"al" == buffered(source).read()
    assert "the file cannot be read further: Input/output error" == source.fault


def test_reading_reports_its_progress():
    """In bytes of the file, compressed as it is."""
    progress = []
    buffered(SegmentBytes(io.BytesIO(ZIPPED), progress.append)).read()

    assert len(ZIPPED) == sum(progress)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    """With the reason."""
    with pytest.raises(LogFileError, match=r"gone\.log: cannot be read: No such file"):
        opened(tmp_path / "gone.log")
