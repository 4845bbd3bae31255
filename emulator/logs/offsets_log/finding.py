"""Find the files of each log, and read their bytes, decompressed if necessary.

Segments of one partition are one log. A gzip file is recognised by its first bytes: no log begins
with them, as its first offset would be beyond 2**60.
"""

from __future__ import annotations

import io
import re
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

from assignors.values import dataclass
from emulator.errors import EmulatorError
from emulator.input_files import refuse_pipe
from emulator.limits import most
from protocols.offsets_topic.segments.resync import Limits
from protocols.offsets_topic.segments.segment import base_offset_of

STANDARD_INPUT: Final = Path("-")

_NAMED: Final = re.compile(r"(?:(?P<log>.+)\.)?(?P<segment>\d{20}\.log)(?:\.gz)?")
"""``00000000000000000000.log``, also with ``.gz`` behind it and a log's name before it."""

_PARTITIONS: Final = "__consumer_offsets-*"
WANTED: Final = "segments are files such as 00000000000000000000.log, or .log.gz"


class LogFileError(EmulatorError):
    """A file cannot be used: its path, and the reason."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a log."""

    path: Path
    base_offset: int | None
    """The base offset in its name; None for a name of another form."""


@dataclass(frozen=True, slots=True)
class Log:
    """The given segments of one partition, in the order of their base offsets."""

    name: str
    segments: tuple[Segment, ...]


def segment_limits() -> Limits:
    """Return the limits of reading a segment in this process."""
    return Limits(most("batch"), most("unpacked"), most("records"))


def logs_of(paths: Iterable[Path]) -> list[Log]:
    """Return the logs in files and folders, in the given order.

    A folder means its segments or, if it has none, those of the offsets topic's partitions in
    it, as in a broker's ``log.dirs``. Raise LogFileError for a path that is missing or not a
    file, for a folder without segments, and for two segments of a log with one base offset.
    """
    found = dict[str, dict[Path, Segment]]()
    for path in paths:
        for each in _files(path):
            name, segment = _placed(each)
            found.setdefault(name, {})[_real(each)] = segment
    return [Log(name, _in_order(name, segments.values())) for name, segments in found.items()]


def _files(path: Path) -> list[Path]:
    if path == STANDARD_INPUT:
        return [path]
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return list(_files_in(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogFileError(str(path), f"cannot be read: {reason}") from None
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return [path]
    raise LogFileError(str(path), f"not a regular file; {WANTED}")


def _files_in(folder: Path) -> Iterator[Path]:
    folders = [folder, *sorted(each for each in folder.glob(_PARTITIONS) if each.is_dir())]
    segments = [_segments_in(each) for each in folders]
    if not any(segments):
        raise LogFileError(str(folder), f"no segment in this folder; {WANTED}")
    yield from segments[0] or (path for some in segments for path in some)


def _segments_in(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if _NAMED.fullmatch(path.name))
    for path in found:
        try:
            refuse_pipe(path)
        except ValueError as error:
            raise LogFileError(str(path), str(error)) from None
    return found


def _placed(path: Path) -> tuple[str, Segment]:
    """Return the name of the log of a file, and the file as a segment."""
    named = _NAMED.fullmatch(path.name)
    if named is None:
        return str(path), Segment(path, None)
    log = path.parent / named["log"] if named["log"] else path.parent
    name = path.resolve().parent.name if log == Path() else str(log)
    return name, Segment(path, base_offset_of(named["segment"]))


def _real(path: Path) -> Path:
    """Return a value that is equal for two paths of the same file."""
    return path if path == STANDARD_INPUT else path.resolve()


def _in_order(name: str, segments: Iterable[Segment]) -> tuple[Segment, ...]:
    ordered = sorted(segments, key=lambda each: each.base_offset or 0)
    for one, other in pairwise(ordered):
        if one.base_offset == other.base_offset:
            both = f"{one.path} and {other.path} begin at the same offset; give one of them"
            raise LogFileError(name, both)
    return tuple(ordered)


CHUNK_BYTES: Final = 2**18
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31
_SMALL_CHUNK_BYTES: Final = 2**14
"""Bytes of compressed data read at once; they may decompress to a thousand times as many."""

Read = Callable[[int], bytes]
OnRead = Callable[[int], None]
"""Called with the number of bytes of each read of the file."""


class _BadGzipError(Exception):
    """A compressed file is damaged; the bytes before the damage are valid."""


class SegmentBytes(io.RawIOBase):
    """The bytes of a segment, forward only; reading never raises.

    ``fault``: why they end too early; None: they do not. ``given``: the number of bytes read.
    """

    def __init__(self, file: BinaryIO, on_read: OnRead = lambda _: None) -> None:
        super().__init__()
        self.given = 0
        self._pieces = _pieces(_reporting(file.read, on_read))
        self._left = memoryview(b"")
        self.fault: str | None = None

    def readable(self) -> bool:
        """Return True."""
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
    """Open a file, or the standard input; raise LogFileError if that fails."""
    try:
        return nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb")
    except OSError as error:
        raise LogFileError(str(path), f"cannot be read: {error.strerror or error}") from None


def buffered(segment: SegmentBytes) -> io.BufferedReader:
    """Return a segment's bytes as a buffered file for ``protocols.offsets_topic.segments``."""
    return io.BufferedReader(segment, CHUNK_BYTES)


def _reporting(read: Read, on_read: OnRead) -> Read:
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
    """Yield the decompressed members of a gzip file, one after the other.

    Raise _BadGzipError at damage, after all bytes before it.
    """
    data = head
    while data:
        data = yield from _member(data, read)
        while not data.strip(b"\0"):  # padding, as on tapes
            data = read(_SMALL_CHUNK_BYTES)
            if not data:
                return
        data = data.lstrip(b"\0")
        if not data.startswith(_GZIP_MAGIC[: len(data)]):
            raise _BadGzipError("gzip: the file has other bytes after its end")


def _member(data: bytes, read: Read) -> Generator[bytes, None, bytes]:
    """Yield the content of one member; return the bytes after it."""
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
    """Yield the content of compressed bytes before the position of the damage."""
    for byte in data:
        try:
            piece = inflater.decompress(bytes([byte]))
        except zlib.error:
            return
        if piece:
            yield piece
