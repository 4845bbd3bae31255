"""Text in blocks of whole records, read so that memory does not grow with a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

CHUNK_BYTES: Final = 1 << 24
"""Text that is read at once."""

LONGEST_RECORD: Final = 1 << 26
"""In bytes; no row of a processing log is as long."""


class TextError(Exception):
    """Text that cannot be used, from some line on."""

    def __init__(self, line: int, words: str) -> None:
        """Remember where; *line*: within what is read."""
        super().__init__(line, words)
        self.line = line
        self.words = words


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records."""

    text: bytes
    line: int
    """The number of its first line within what is read, from 0."""


def pieces_of(path: Path, begin: int, end: int | None, size: int) -> Iterator[bytes]:
    """Read a file, or its bytes from *begin* to *end*; what is compressed is unpacked."""
    with pa.input_stream(str(path), compression="detect") as stream:
        if stream.seekable():
            stream.seek(begin)
        else:
            stream.read(begin)
        left = size if end is None else end - begin
        while left and (piece := stream.read(min(size, left))):
            yield piece
            left -= 0 if end is None else len(piece)


class Records(Protocol):
    """How records follow each other in a text that begins with one."""

    def last_end(self, text: bytes) -> int:
        """Return where the last whole record ends; 0: there is none."""

    def unclosed(self, text: bytes) -> int | None:
        """Return where a value begins that does not end; None: there is none."""


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
        if len(rest) > LONGEST_RECORD:
            raise TextError(
                line, f"a row begins that does not end within {LONGEST_RECORD >> 20} MB"
            )
    if (at := records.unclosed(rest)) is not None:
        line += rest.count(b"\n", 0, at)
        raise TextError(line, "a value between quotes begins that does not end")
    if rest:
        yield Block(rest, line)


# -- where rows stand --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextRows:
    """Says where the rows of a block stand, for messages."""

    name: str
    block: Block
    row_begins: Callable[[bytes], list[int]]
    lines_before: Callable[[], int] | None
    """Lines before what is read; None where nobody can tell."""

    def __call__(self, row: int | None) -> str:
        """Name the place of a row of the block, or where the block begins."""
        text, at = self.block.text, 0
        begins = [] if row is None else self.row_begins(text)
        if row is not None and row < len(begins):
            at = begins[row]
        if self.lines_before is None:
            return f"{self.name}, at {_shown(text, at)}"
        line = self.lines_before() + self.block.line + text.count(b"\n", 0, at) + 1
        return f"{self.name}, line {line:,}" if begins else f"{self.name}, from line {line:,} on"


def lines_in(path: Path, end: int) -> int:
    """Count the lines that end before a place of a file."""
    return sum(piece.count(b"\n") for piece in pieces_of(path, 0, end, CHUNK_BYTES))


def _shown(text: bytes, at: int) -> str:
    line = text[at : at + 80].partition(b"\n")[0].strip(b"\r")
    return repr(line.decode(errors="replace"))
