"""The layout of a CSV file (columns, separator, newline), and the ends of its rows.

A newline between quotes is part of a value. A quote opens a value only at its beginning, and a
doubled quote inside it is a quote. If every second quote opens a value, as in RFC 4180, arithmetic
finds the newlines that are inside values; otherwise a regular expression does.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from assignors.values import dataclass
from emulator.logs.audit.columns import Array
from emulator.logs.audit.rows import Mapped
from emulator.logs.errors import AuditError

SEPARATORS: Final = (b",", b";", b"\t", b"|")
"""The most common one first."""

LONGEST_HEADER: Final = 1 << 18
"""Maximum size of the line with the column names, in bytes."""

CSV_WANTED: Final = "CSV in UTF-8, names of columns first"

MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark at the beginning of some UTF-8 files."""

QUOTE: Final = ord('"')
_NEWLINES: Final = (10, 13)


class Quoted(NamedTuple):
    """The positions at which quoted values of a text open and close."""

    opens: Array
    closes: Array
    """A value that does not close has the end of the text here."""

    def around(self, place: int) -> int | None:
        """Return where the value that contains *place* opens; None: it is in no quoted value."""
        index = int(np.searchsorted(self.opens, place)) - 1
        return int(self.opens[index]) if index >= 0 and self.closes[index] > place else None


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """The layout, read from the beginning of a file."""

    names: tuple[str, ...]
    separator: bytes
    newline: bytes
    """The byte that ends a row (the last one of CR LF)."""

    begin: int
    """The byte position of the first row."""

    def last_end(self, text: bytes) -> int:
        """Return the end of the last whole row of a text that begins with a row; 0: none."""
        quoted, end = self.quoted(text), len(text)
        while (place := text.rfind(self.newline, 0, end)) >= 0:
            opened = quoted.around(place)
            if opened is None:
                return place + 1
            end = opened
        return 0

    def unclosed(self, text: bytes) -> int | None:
        """Return where an unclosed value opens; None: there is none."""
        quoted = self.quoted(text)
        return (
            int(quoted.opens[-1]) if len(quoted.opens) and quoted.closes[-1] == len(text) else None
        )

    def row_begins(self, text: bytes) -> list[int]:
        """Return the positions of the rows of a text, without empty lines."""
        bytes_, quoted = np.frombuffer(text, np.uint8), self.quoted(text)
        ends = np.flatnonzero(np.isin(bytes_, _NEWLINES)).tolist()
        borders = [0, *(end + 1 for end in ends if quoted.around(end) is None), len(text)]
        pairs = pairwise(borders)
        return [low for low, high in pairs if text[low:high].strip(b"\r\n")]

    def quoted(self, text: bytes) -> Quoted:
        """Find the quoted values of a text that begins with a row."""
        if QUOTE not in text:
            return Quoted(np.array([], np.int64), np.array([], np.int64))
        quotes = quotes_in(text)
        if self.stand_well(text, quotes, 0, _NEWLINES[0]):
            closes = quotes[1::2]
            return Quoted(quotes[::2], np.append(closes, len(text)) if len(quotes) % 2 else closes)
        return self._walked(text)

    def stand_well(self, text: bytes, quotes: Array, opening: int, before: int) -> bool:
        """Return whether all quotes that would open a value are at the beginning of a value.

        *opening*: index of the first such quote, then every second; *before*: the byte before.
        """
        places = quotes[opening::2]
        bytes_ = np.frombuffer(text, np.uint8)
        previous = np.where(places > 0, bytes_[places - 1], before)
        return bool(np.isin(previous, (self.separator[0], *_NEWLINES, QUOTE)).all())

    def _walked(self, text: bytes) -> Quoted:
        begin = rb"(?:\A|(?<=[\r\n" + re.escape(self.separator) + rb"]))"
        found = re.finditer(begin + rb'"(?:[^"]++|"")*+("|\Z)', text)
        spans = np.array([(each.start(), each.start(1)) for each in found], np.int64)
        return Quoted(*spans.reshape(-1, 2).T)


def quotes_in(text: bytes) -> Array:
    """Return the positions of all quotes."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == QUOTE)


def layout_in(head: bytes, name: str) -> CsvLayout | None:
    """Return the layout from the beginning of a file; None if it has no line.

    Raise AuditError if the column names cannot be read; *name*: the file's.
    """
    begin = len(MARK) if head.startswith(MARK) else 0
    begin += len(head) - begin - len(head[begin:].lstrip(b"\r\n"))
    if begin == len(head):
        return None
    newline = b"\n" if b"\n" in head[begin:] else b"\r"
    line = head[begin:].partition(newline)[0]
    separator = max(SEPARATORS, key=line.count)
    bare = CsvLayout((), separator, newline, begin)
    end = begin + _first_end(bare, head[begin:])
    if end == len(head) >= LONGEST_HEADER and not head.endswith(newline):
        most = f"{LONGEST_HEADER // 1024} KiB"
        raise AuditError(
            f"{name}, line 1: the names of columns do not end within {most}, the limit"
        )
    try:
        return CsvLayout(_names(head[begin:end], separator), separator, newline, end)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise AuditError(f"{name}, line 1: cannot be read as {CSV_WANTED}: {reason}") from None


def _first_end(bare: CsvLayout, text: bytes) -> int:
    quoted, end = bare.quoted(text), 0
    while (place := text.find(bare.newline, end)) >= 0:
        if quoted.around(place) is None:
            return place + 1
        end = place + 1
    return len(text)


def _names(line: bytes, separator: bytes) -> tuple[str, ...]:
    table = pv.read_csv(
        pa.BufferReader(line),
        read_options=pv.ReadOptions(use_threads=False, block_size=len(line) + 1),
        parse_options=pv.ParseOptions(delimiter=separator.decode()),
    )
    return tuple(table.column_names)


CSV_ROW_IN_ERROR = re.compile(r"Row #(\d+): ")
"""The number of an invalid row in pyarrow's messages, from 1."""


def parsed_csv(text: bytes, layout: CsvLayout, mapped: Mapped | None) -> pa.RecordBatch | None:
    """Return the columns of *mapped*, or all columns, of some rows; None if there is no row.

    Times remain text, because the first row may have another form than others. Raise
    pa.ArrowException for text that does not fit the layout.
    """
    times = [] if mapped is None else [mapped.end, *([mapped.start] if mapped.start else [])]
    texts = [] if mapped is None else [*mapped.texts, *times]
    kinds: dict[str, Any] = dict.fromkeys(texts, pa.string())
    wanted = layout.names if mapped is None else mapped.columns
    table = pv.read_csv(
        pa.BufferReader(text),
        read_options=pv.ReadOptions(
            column_names=layout.names, block_size=len(text) + 1, use_threads=False
        ),
        parse_options=pv.ParseOptions(delimiter=layout.separator.decode()),
        convert_options=pv.ConvertOptions(
            column_types=kinds,
            include_columns=None if mapped is None else [n for n in wanted if n in layout.names],
        ),
    )
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else None
