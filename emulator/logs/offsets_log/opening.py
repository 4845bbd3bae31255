"""A file as bytes: gunzipped if it is compressed, and ending where it cannot be read further.

Whether it is compressed is seen from its first bytes: no log begins with them, as its first
offset would be beyond 2**60.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Final

from emulator.logs.offsets_log.finding import STANDARD_INPUT, LogFileError

CHUNK_BYTES: Final = 2**18
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31
_SMALL_CHUNK_BYTES: Final = 2**14
"""Of compressed bytes: what is in one can become a thousand times as much."""

Read = Callable[[int], bytes]
OnRead = Callable[[int], None]
"""Is told of every so many bytes of the file that were read."""


class _BadGzipError(Exception):
    """A compressed file is damaged; what came out before is right."""


class SegmentBytes(io.RawIOBase):
    """The bytes of a segment, forward only; reading them raises nothing.

    ``fault`` says why they end before their time; None while they do not. ``given`` is how many
    have been read.
    """

    def __init__(self, file: BinaryIO, on_read: OnRead = lambda _: None) -> None:
        super().__init__()
        self.given = 0
        self._pieces = _pieces(_told(file.read, on_read))
        self._left = memoryview(b"")
        self.fault: str | None = None

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of *buffer* and return how much; 0 at the end."""
        if not self._left:
            self._left = memoryview(self._next_piece())
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        self.given += size
        return size

    def _next_piece(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except _BadGzipError as error:
            self.fault = str(error)
        except OSError as error:
            self.fault = f"the file cannot be read further: {error.strerror or error}"
        return b""


def opened(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file, or the standard input; raise LogFileError if that cannot be."""
    try:
        return nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb")
    except OSError as error:
        raise LogFileError(str(path), f"cannot be read: {error.strerror or error}") from None


def buffered(segment: SegmentBytes) -> io.BufferedReader:
    """Return a segment's bytes as what ``protocols.offsets_topic.segments`` reads."""
    return io.BufferedReader(segment, CHUNK_BYTES)


def _told(read: Read, on_read: OnRead) -> Read:
    def reading(size: int) -> bytes:
        data = read(size)
        on_read(len(data))
        return data

    return reading


def _pieces(read: Read) -> Iterator[bytes]:
    """Yield the bytes of a file piece by piece, none of them empty."""
    head = read(len(_GZIP_MAGIC))
    if head == _GZIP_MAGIC:
        yield from _gunzipped(head, read)
        return
    while head:
        yield head
        head = read(CHUNK_BYTES)


def _gunzipped(head: bytes, read: Read) -> Iterator[bytes]:
    """Yield what the members of a gzip file hold, one after the other.

    Raise _BadGzipError where that ends too early, with all that can be had before it.
    """
    data = head
    while data:
        data = yield from _member(data, read)
        while not data.strip(b"\0"):  # padding, as tapes have it
            data = read(_SMALL_CHUNK_BYTES)
            if not data:
                return
        data = data.lstrip(b"\0")
        if not data.startswith(_GZIP_MAGIC[: len(data)]):
            raise _BadGzipError("gzip: behind its end stand bytes that are not gzip")


def _member(data: bytes, read: Read) -> Generator[bytes, None, bytes]:
    """Yield what one member holds; return the bytes behind it."""
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    while True:
        before = inflater.copy()
        try:
            piece = inflater.decompress(data, CHUNK_BYTES)
        except zlib.error as error:
            yield from _up_to_the_fault(before, data)
            raise _BadGzipError(f"gzip: damaged ({error})") from None
        if piece:
            yield piece
        if inflater.eof:
            return inflater.unused_data
        data = inflater.unconsumed_tail
        if not data and len(piece) < CHUNK_BYTES:
            data = read(_SMALL_CHUNK_BYTES)
            if not data:
                raise _BadGzipError("gzip: cut off before its end")


def _up_to_the_fault(inflater: Any, data: bytes) -> Iterator[bytes]:
    """Yield what comes out of compressed bytes before the one at which they are damaged."""
    for byte in data:
        try:
            piece = inflater.decompress(bytes([byte]))
        except zlib.error:
            return
        if piece:
            yield piece
