"""Read text, JSON lines or CSV, in blocks of whole rows and in bounded memory.

A large file is cut into spans of whole rows, which several workers may read at the same time. JSON
lines are cut at newlines. In CSV a newline may be inside a value, which depends on all quotes
before it. So each section of the file is first examined under two assumptions: it begins outside a
value, or inside one. From the first section on, it is then known which assumption is true. That
costs one more pass over the file, without parsing. A file whose quotes do not follow RFC 4180 is
not cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from assignors.values import dataclass
from emulator.limits import beyond, most
from emulator.logs.audit.columns import Array
from emulator.logs.audit.csv_text import (
    CSV_ROW_IN_ERROR,
    CSV_WANTED,
    QUOTE,
    CsvLayout,
    parsed_csv,
    quotes_in,
)
from emulator.logs.audit.rows import Mapped, Where
from emulator.logs.errors import AuditError
from emulator.logs.remote_files import open_stream

CHUNK_BYTES: Final = 1 << 24
"""Bytes of text read at once."""


class TextError(Exception):
    """Text that cannot be used; the line at which the problem begins."""

    def __init__(self, line: int, words: str) -> None:
        """Store the line, counted from the beginning of the part, and the message."""
        super().__init__(line, words)
        self.line = line
        self.words = words


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records."""

    text: bytes
    line: int
    """The number of its first line within what is read, from 0."""


def pieces_of(path: Path | str, begin: int, end: int | None, size: int) -> Iterator[bytes]:
    """Yield pieces of a file, or of its bytes from *begin* to *end*, decompressed."""
    with open_stream(path) as stream:
        if stream.seekable():
            stream.seek(begin)
        else:
            stream.read(begin)
        left = size if end is None else end - begin
        while left and (piece := stream.read(min(size, left))):
            yield piece
            left -= 0 if end is None else len(piece)


class Records(Protocol):
    """Finds the borders of records in a text that begins with one."""

    def last_end(self, text: bytes) -> int:
        """Return where the last whole record ends; 0: there is none."""

    def unclosed(self, text: bytes) -> int | None:
        """Return where an unclosed value begins; None: there is none."""


def blocks_of(pieces: Iterable[bytes], records: Records) -> Iterator[Block]:
    """Cut pieces of a text into blocks of whole records; the last one needs no newline.

    Raise TextError for a record that does not end.
    """
    rest, line = b"", 0
    for piece in pieces:
        text = rest + piece
        end = records.last_end(text)
        if end:
            yield Block(text[:end], line)
            line += text.count(b"\n", 0, end)
        rest = text[end:]
        if len(rest) > most("row"):
            raise TextError(line, f"a row does not end; {beyond('row')}")
    if (at := records.unclosed(rest)) is not None:
        line += rest.count(b"\n", 0, at)
        raise TextError(line, "a quoted value is not closed")
    if rest:
        yield Block(rest, line)


# -- places of rows ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextRows:
    """Returns the positions of the rows of a block, for messages."""

    name: str
    block: Block
    row_begins: Callable[[bytes], list[int]]
    lines_before: Callable[[], int] | None
    """Counts the lines before the part; None if that is unknown."""

    def __call__(self, row: int | None) -> str:
        """Return the position of a row of the block, or of the block."""
        text, at = self.block.text, 0
        begins = [] if row is None else self.row_begins(text)
        if row is not None and row < len(begins):
            at = begins[row]
        if self.lines_before is None:
            return f"{self.name}, at {_shown(text, at)}"
        line = self.lines_before() + self.block.line + text.count(b"\n", 0, at) + 1
        return f"{self.name}, line {line:,}" if begins else f"{self.name}, from line {line:,} on"


def lines_in(path: Path | str, end: int) -> int:
    """Return the number of lines that end before a byte position of a file."""
    return sum(piece.count(b"\n") for piece in pieces_of(path, 0, end, CHUNK_BYTES))


def _shown(text: bytes, at: int) -> str:
    line = text[at : at + 80].partition(b"\n")[0].strip(b"\r")
    return repr(line.decode(errors="replace"))


LOOK_BYTES: Final = 1 << 23
"""Bytes of text examined at once."""

Span = tuple[int, int]
"""Begin and end in bytes."""


class Seen(NamedTuple):
    """Quotes in a section of CSV; pairs: for a section that begins outside a value, and inside."""

    begin: int
    quotes: int
    is_sound: tuple[bool, bool]
    """Whether quotes open values only where values begin."""

    row_begin: tuple[int | None, int | None]
    """Where the first row begins after the end of another row in the section."""


def sections_of(begin: int, length: int, size: int) -> list[Span]:
    """Cut a file, from its first row on, into sections of about the same size."""
    count = max(1, (length - begin) // size)
    borders = [begin + (length - begin) * number // count for number in range(count + 1)]
    return list(pairwise(borders))


def lines_cut(path: Path, sections: Sequence[Span]) -> list[Span]:
    """Move the borders of sections to the position after the next newline."""
    begins = [sections[0][0]]
    for begin, _ in sections[1:]:
        found = _behind_newline(path, max(begin, begins[-1]), sections[-1][1])
        if found is not None:
            begins.append(found)
    return _spans(begins, sections[-1][1])


def _behind_newline(path: Path, begin: int, end: int) -> int | None:
    at = begin - 1
    for piece in pieces_of(path, at, end, 1 << 16):
        place = piece.find(b"\n")
        if place >= 0:
            return at + place + 1
        at += len(piece)
    return None


def look(path: Path, section: Span, layout: CsvLayout, size: int = LOOK_BYTES) -> Seen:
    """Examine the quotes of a section."""
    at, quotes, before = section[0], 0, _byte_before(path, section[0])
    sound, row_begin = [True, True], list[int | None]([None, None])
    for piece in pieces_of(path, *section, size):
        found = quotes_in(piece) if QUOTE in piece else np.array([], np.int64)
        for within in (0, 1):
            # Whether the piece begins inside a value, so that its first quote closes it.
            open_ = (within + quotes) % 2
            sound[within] &= layout.stand_well(piece, found, open_, before)
            if sound[within] and row_begin[within] is None:
                end = _first_end(piece, found, open_, layout)
                row_begin[within] = None if end is None else at + end
        at, quotes, before = at + len(piece), quotes + len(found), piece[-1]
    return Seen(section[0], quotes, (sound[0], sound[1]), (row_begin[0], row_begin[1]))


def _byte_before(path: Path, at: int) -> int:
    return next((piece[0] for piece in pieces_of(path, at - 1, at, 1)), ord("\n"))


def _first_end(piece: bytes, quotes: Array, open_: int, layout: CsvLayout) -> int | None:
    """Return where the first row of a piece ends; *open_*: 1 if it begins inside a value."""
    begin = 0
    while (place := piece.find(layout.newline, begin)) >= 0:
        before = int(np.searchsorted(quotes, place))
        if (before + open_) % 2 == 0:
            return place + 1
        if before == len(quotes):
            return None
        begin = int(quotes[before])
    return None


def rows_cut(seen: Iterable[Seen], end: int) -> list[Span] | None:
    """Return spans of whole rows of an examined file; None if it must not be cut."""
    begins, within = list[int](), 0
    for section in seen:
        if not section.is_sound[within]:
            return None
        begin = section.row_begin[within] if begins else section.begin
        if begin is not None and begin not in begins[-1:]:
            begins.append(begin)
        within ^= section.quotes % 2
    return None if within else _spans(begins, end)


def _spans(begins: Sequence[int], end: int) -> list[Span]:
    return [span for span in pairwise([*begins, end]) if span[0] < span[1]]


Lines = Callable[[], int]
"""Counts the lines before the text that is read; called only for messages."""

Batches = Iterator[tuple[pa.RecordBatch, Where]]
"""Batches of rows, each with a function that returns the position of a row, for messages."""

JSON_WANTED: Final = "JSON lines, one object a line"
_JSON_ROW_IN_ERROR: Final = re.compile(r" in row (\d+)")
"""The number of an invalid row in pyarrow's messages, from 0."""


class JsonLines:
    """JSON lines: one object a line, cut at newlines, which no value can contain."""

    def last_end(self, text: bytes) -> int:
        """Return where the last whole line of a text ends; 0: it has none."""
        return text.rfind(b"\n") + 1

    def unclosed(self, _: bytes) -> int | None:
        """Return None, because no value continues after a newline."""
        return None

    def row_begins(self, text: bytes) -> list[int]:
        """Return the positions of the lines of a text that are not empty."""
        found, begin = list[int](), 0
        for line in text.splitlines(keepends=True):
            if line.strip():
                found.append(begin)
            begin += len(line)
        return found

    def parsed(self, text: bytes) -> pa.RecordBatch | None:
        """Return the rows of some lines; None if all are empty; raise pa.ArrowException."""
        if not text.strip():
            return None
        _refuse_deep(text)
        options = pj.ReadOptions(block_size=len(text) + 1, use_threads=False)
        table = pj.read_json(pa.BufferReader(text), read_options=options)
        return pa.Table.to_batches(table.combine_chunks())[0]


JSON_LINES: Final = JsonLines()

_BRACKETS: Final = np.zeros(256, np.int8)
_BRACKETS[list(b"[{")], _BRACKETS[list(b"]}")] = 1, -1
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')


def _refuse_deep(text: bytes) -> None:
    """Raise pa.ArrowInvalid, with the row, for lines of JSON that are nested too deeply.

    pyarrow's reader crashes on very deep ones.
    """
    depth, deepest = _depths(text), most("nesting")
    if int(depth.max()) - int(depth.min()) <= deepest:  # the usual case: no line can be deeper
        return
    for row, line in enumerate(line for line in text.split(b"\n") if line.strip()):
        if _depths(_STRINGS.sub(b"", line)).max() > deepest:
            raise pa.ArrowInvalid(
                f"JSON parse error: too many arrays and objects in each other in row {row}; "
                f"{beyond('nesting')}"
            )


def _depths(text: bytes) -> Array:
    """Return the depth after each bracket of a text, brackets in strings included."""
    steps = _BRACKETS[np.frombuffer(text, np.uint8)]
    return np.concatenate(([0], np.cumsum(steps[steps != 0], dtype=np.int64)))


def json_batches(name: str, pieces: Iterable[bytes], before: Lines | None) -> Batches:
    """Yield the rows of JSON lines with their places; raise AuditError for invalid JSON."""
    with _ended(name, before):
        for block in blocks_of(pieces, JSON_LINES):
            where = TextRows(name, block, JSON_LINES.row_begins, before)
            try:
                batch = JSON_LINES.parsed(block.text)
            except pa.ArrowException as error:
                named = _JSON_ROW_IN_ERROR.search(str(error))
                row = None if named is None else int(named[1])
                raise _refused(where(row), JSON_WANTED, error, named) from None
            if batch is not None:
                yield batch, where


def csv_batches(
    name: str,
    pieces: Iterable[bytes],
    layout: CsvLayout,
    mapped: Mapped | None,
    before: Lines,
) -> Batches:
    """Yield the rows of CSV, without its header, with their places.

    *mapped*: the columns to return, None: all. Raise AuditError for invalid CSV, such as a quoted
    value that does not end.
    """
    with _ended(name, before):
        for block in blocks_of(pieces, layout):
            where = TextRows(name, block, layout.row_begins, before)
            try:
                batch = parsed_csv(block.text, layout, mapped)
            except pa.ArrowException as error:
                named = CSV_ROW_IN_ERROR.search(str(error))
                row = None if named is None else int(named[1]) - 1
                raise _refused(where(row), CSV_WANTED, error, named) from None
            if batch is not None:
                yield batch, where


def _refused(where: str, wanted: str, error: Exception, named: re.Match[str] | None) -> AuditError:
    """Return the error for text that cannot be parsed, with the place of its row."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if named is not None:
        reason = reason.replace(named[0], "")
    return AuditError(f"{where}: cannot be read as {wanted}: {reason}")


@contextmanager
def _ended(name: str, before: Lines | None) -> Iterator[None]:
    """Turn the TextError of a row that does not end into an AuditError with its line."""
    try:
        yield
    except TextError as error:
        line = "" if before is None else f", line {before() + error.line + 1:,}"
        raise AuditError(f"{name}{line}: {error.words}") from None
