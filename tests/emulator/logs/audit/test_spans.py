"""A big file of text, cut into spans: the rows are those of the whole file, whatever is in it."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.logs.audit.csv_text import layout_in
from emulator.logs.audit.reading import LogFile, layout_of
from emulator.logs.audit.text import (
    JSON_LINES,
    Batches,
    Span,
    blocks_of,
    csv_batches,
    json_batches,
    lines_cut,
    lines_in,
    look,
    pieces_of,
    rows_cut,
    sections_of,
)
from emulator.logs.errors import AuditError

MARK = b"\xef\xbb\xbf"
BODY = st.text(st.sampled_from('a,;"\r\n'), max_size=6)
VALUES = st.one_of(
    st.sampled_from(["1", "ab", "x y", ""]),
    BODY.map(lambda body: '"' + body.replace('"', '""') + '"'),
)
ODD = st.sampled_from(['x"y', '5" disk', '"ab"c', '"a"b"'])
"""Quotes that do not stand as RFC 4180 has them."""


def a_file(values: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """Return files of three columns, ended in any way, with blank lines."""

    def written(rows: list[list[str]], blank: bool, newline: str, end: bool, mark: bytes) -> bytes:
        lines = ["a,b,c", *(",".join(["r", *row]) for row in rows)]
        text = (newline * (1 + blank)).join(lines) + newline * end
        return mark + text.encode()

    rows = st.lists(st.lists(values, min_size=2, max_size=2), min_size=1, max_size=9)
    newlines, marks = st.sampled_from(["\n", "\r\n"]), st.sampled_from([b"", MARK])
    return st.builds(written, rows, st.booleans(), newlines, st.booleans(), marks)


def read_at_once(text: bytes) -> list[dict]:
    """Return the rows as a reader that has the whole file."""
    kinds = dict.fromkeys("abc", pa.string())
    table = pv.read_csv(
        pa.BufferReader(text),
        read_options=pv.ReadOptions(use_threads=False),
        convert_options=pv.ConvertOptions(column_types=kinds),
    )
    return table.to_pylist()


def rows_in(path: Path, spans: list[Span], size: int) -> list[dict]:
    """Return the rows of spans, read a few bytes at once."""
    layout, found = layout_of(LogFile(path, "csv")), list[dict]()
    kinds = pv.ConvertOptions(column_types=dict.fromkeys("abc", pa.string()))
    for begin, end in spans:
        for block in blocks_of(pieces_of(path, begin, end, size), layout):
            names = pv.ReadOptions(column_names=layout.names, use_threads=False)
            table = pv.read_csv(pa.BufferReader(block.text), names, convert_options=kinds)
            found += table.to_pylist()
    return found


def hold_rows(text: bytes, stretch: int, size: int) -> bool:
    """Compare the rows of a file with those of its spans; say whether it was cut."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_bytes(text)
        layout = layout_of(LogFile(path, "csv"))
        stretches = sections_of(layout.begin, len(text), stretch)
        cut = rows_cut([look(path, each, layout, size) for each in stretches], len(text))
        assert read_at_once(text) == rows_in(path, cut or [(layout.begin, len(text))], size)
        return cut is not None


few = settings(max_examples=40, deadline=None)


@few
@given(text=a_file(VALUES), stretch=st.integers(1, 40), size=st.integers(1, 20))
@example(text=b'a,b,c\nr,"\n\n",""""\nr,,\n', stretch=1, size=1)
def test_csv_of_the_standard_is_cut_and_has_the_same_rows(text, stretch, size):
    """Quotes, separators and newlines in values, wherever borders fall."""
    assert hold_rows(text, stretch, size)


@few
@given(text=a_file(VALUES | ODD), stretch=st.integers(1, 40), size=st.integers(1, 20))
@example(text=b'a,b,c\nr,5" disk,"x\ny"\nr,1,2\n', stretch=5, size=3)
def test_csv_with_odd_quotes_has_the_same_rows(text, stretch, size):
    """It stays whole where no rule decides what is within a value."""
    hold_rows(text, stretch, size)


@few
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("ab"), st.text(max_size=4)), max_size=9),
    newline=st.sampled_from(["\n", "\r\n", "\n\n"]),
    mark=st.sampled_from([b"", MARK]),
    stretch=st.integers(1, 40),
)
def test_json_lines_are_cut_at_newlines(rows, newline, mark, stretch):
    """Each row is in one span, whole."""
    text = mark + newline.join(map(json.dumps, rows)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(text)
        spans = lines_cut(path, sections_of(0, len(text), stretch))
        pieces = [b"".join(pieces_of(path, *span, 7)) for span in spans]

    assert text == b"".join(pieces)
    lines = [line for piece in pieces for line in piece.removeprefix(MARK).splitlines() if line]
    assert rows == [json.loads(line) for line in lines]


def test_a_compressed_file_is_read_from_where_its_rows_begin(tmp_path):
    """It is decompressed piece by piece."""
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,c\n1,2,3\n"))
    layout = layout_of(LogFile(path, "csv"))

    assert b"1,2,3\n" == b"".join(pieces_of(path, layout.begin, None, 4))
    assert ("a", "b", "c") == layout.names


def of_csv(text: bytes, before: int) -> Batches:
    """Yield the batches of CSV that comes after some lines."""
    layout = layout_in(text, "log.csv")
    return csv_batches("log.csv", [text[layout.begin :]], layout, None, lambda: before + 1)


def of_json(text: bytes, before: int) -> Batches:
    """Yield the batches of JSON lines that come after some lines."""
    return json_batches("log.jsonl", [text], lambda: before)


def refusal(read: Callable[[bytes, int], Batches], text: bytes, before: int = 0) -> str:
    """Return what is said of text that cannot be used."""
    with pytest.raises(AuditError) as refused:
        list(read(text, before))
    return str(refused.value)


def test_a_value_that_does_not_end_is_named_by_its_line():
    """All that follows it would have been part of it."""
    text = b'a,b\n1,"x\ny"\n2,z\n3,"open\n4,z\n'

    assert "log.csv, line 5: a quoted value is not closed" == refusal(of_csv, text)


def test_a_row_of_another_length_is_named_by_its_line():
    """Newlines in values and blank lines before it are counted, too."""
    text = b'a,b\n1,"x\ny"\n\n2,z\n3\n'

    assert "log.csv, line 106: cannot be read as CSV" in refusal(of_csv, text, 100)
    assert "Expected 2 columns, got 1: 3" in refusal(of_csv, text)


def test_a_line_that_is_no_json_is_named():
    """By its number in the file."""
    text = b'{"a": 1}\n\n{"a": 2}\n{"a": \n{"a": 3}\n'

    assert "log.jsonl, line 14: cannot be read as JSON lines" in refusal(of_json, text, 10)


def test_a_row_without_end_is_refused(monkeypatch):
    """Rather than to hold a whole file in memory."""
    monkeypatch.setenv("REBALANCE_LIMITS", "row=10")
    pieces = [b'{"a": 1}\n', b'{"a": "', b"x" * 20]

    with pytest.raises(
        AuditError,
        match=r"log, line 2: a row does not end; the limit is 10 bytes; `limit=row=…` raises it",
    ):
        list(json_batches("log", pieces, lambda: 0))


def test_lines_before_a_place_are_counted(tmp_path):
    """In a file of any size, on request."""
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\nc\n")

    assert [0, 1, 1, 3] == [lines_in(path, end) for end in (0, 2, 3, 6)]
    assert [0, 2] == JSON_LINES.row_begins(b"a\nb")
