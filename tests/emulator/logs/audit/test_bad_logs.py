"""Logs that cannot be used: what is said, and where to look."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.logs.audit.columns import time_us
from emulator.logs.audit.partitions import Limits
from emulator.logs.audit.passes import InProcess, Terms, audit
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.reading import find_files, open_source
from emulator.logs.errors import AuditError

from .logs import EPOCH, SECOND, limits, records, write

GOOD = {
    "topic": ["orders"] * 3,
    "partition": [0, 0, 0],
    "offset": [0, 1, 2],
    "consumer": ["m1"] * 3,
    "start": [EPOCH, EPOCH + SECOND, EPOCH + 2 * SECOND],
    "end": [EPOCH + SECOND, EPOCH + 2 * SECOND, EPOCH + 3 * SECOND],
}


def parquet(folder: Path, **changes: list) -> Path:
    """Write a small log in which some columns are other ones; None leaves one out."""
    columns = {name: values for name, values in {**GOOD, **changes}.items() if values is not None}
    path = folder / "log.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def refusal(*paths: Path, terms: Terms | None = None, **columns: str) -> str:
    """Return what is said of a log that cannot be used."""
    held = terms or Terms()
    with pytest.raises(AuditError) as refused:
        audit(InProcess(open_source(find_files(paths), columns, None), held), held)
    return str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offset": None, "msg_offset": [0, 1, 2]}, "`columns` offset=NAME"),
        ({"consumer": None, "consumr": ["m1"] * 3}, 'did you mean "consumr"?'),
        ({"end": None}, "no column holds the end"),
        ({"offset": ["a", "b", "c"]}, "column 'offset' must hold whole numbers"),
        ({"offset": [0, -1, 2]}, "row 2 of these: column 'offset' holds -1"),
        ({"partition": [0.5, 1, 2]}, "column 'partition' must hold whole numbers"),
        ({"offset": [0, None, 2]}, "row 2 of these: column 'offset' is empty"),
        ({"consumer": [[1], [2], [3]]}, "column 'consumer' is of type list"),
        ({"end": [True, False, True]}, "is of type bool; expected epoch numbers or ISO 8601"),
        ({"end": [1, 2, 3], "start": [0, 1, 2]}, "give `time_unit` s, ms, us or ns"),
        (
            {"start": [EPOCH + 9 * SECOND] * 3},
            "times out of order: processing began at 2023-11-14T22:13:29",
        ),
        (
            {"offset": None, "lo": [0, 5, 9], "hi": [5, 5, 10]},
            "row 2 of these: the range from 5 to 5",
        ),
        (
            {"offset": None, "first": [0, 5, 9], "last": [4, 3, 9]},
            "the range from 5 to 3 (its last)",
        ),
        ({"partition": [0, 0, 1 << 31]}, "row 3 of these: column 'partition' holds 2147483648"),
        ({"offset": [0, 1, 1 << 60]}, "row 3 of these: column 'offset' holds 1152921504606846976"),
        ({"offset": [0, 1.5, 2]}, "row 2 of these: column 'offset' must hold whole numbers"),
        ({"offset": ["0", "1", " 2x"]}, "must hold whole numbers, and holds ' 2x'"),
        ({"consumer": ["m1", "", "m1"]}, "row 2 of these: column 'consumer' is empty"),
        ({"topic": [b"a", b"a", b"\xff"]}, "row 3 of these: column 'topic' holds bytes"),
        (
            {"start": None, "end": [EPOCH, float("nan"), EPOCH]},
            "row 2 of these: column 'end': nan us is not a time",
        ),
        ({"start": [EPOCH * 1000] * 3}, "all times must have the same unit (`time_unit`)"),
        ({"start": [EPOCH // 1000] * 3}, "columns 'start' and 'end' seem to have different units"),
        (
            {"start": None, "end": ["2026-05-04T09:00:00Z", "2026-05-04T09:00:00Z", "soon"]},
            "row 3 of these: column 'end': 'soon' is not a time with a zone, as in the first row",
        ),
        (
            {"start": None, "end": ["1700000000", "1700000001", "soon"]},
            "row 3 of these: column 'end': 'soon' is not a time; expected an epoch number",
        ),
    ],
)
def test_a_bad_column_is_named(tmp_path, changes, said):
    """With what it holds, the row, and what to do."""
    assert said in refusal(parquet(tmp_path, **changes))


def test_a_column_that_is_named_must_be_there(tmp_path):
    """The nearest one is named."""
    path = parquet(tmp_path)

    assert "no column 'ofset'; did you mean \"offset\"?" in refusal(path, offset="ofset")
    assert 'no such name; did you mean "offset"?' in refusal(path, ofset="offset")


def test_a_column_is_there_once(tmp_path):
    """Two columns of one name are ambiguous; unread columns may be so."""
    names = [*GOOD, "topic"]
    table = pa.Table.from_arrays([pa.array(GOOD[name]) for name in names], names=names)
    pq.write_table(table, tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text("topic,topic,partition,offset,consumer,end\na,b,0,1,m,1\n")

    assert "there are 2 columns 'topic'" in refusal(tmp_path / "log.parquet")
    assert "there are 2 columns 'topic'" in refusal(tmp_path / "log.csv")


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.csv", "log.csv.gz"])
def test_a_file_of_another_format_is_named(tmp_path, name):
    """Whatever its name."""
    path = tmp_path / name
    path.write_bytes(b"\x00\x01{]" * 9)

    assert str(path) in refusal(path)


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv", "log.jsonl.gz"])
def test_an_empty_log_is_refused(tmp_path, name):
    """There is nothing to audit."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")

    assert "log" in refusal(path)


def test_a_log_without_rows_is_refused(tmp_path):
    """So is one of which all rows came after the cut."""
    pq.write_table(pa.table(GOOD).slice(0, 0), tmp_path / "none.parquet")
    late = Terms(end_us=EPOCH - SECOND)

    assert "empty: it contains no row" in refusal(tmp_path / "none.parquet")
    assert "all 3 rows were finished after the cut" in refusal(parquet(tmp_path), terms=late)


def test_missing_and_unknown_files_are_said(tmp_path):
    """A folder without logs, too."""
    (tmp_path / "log.txt").write_text("?")

    assert "no such file or folder" in refusal(tmp_path / "nowhere")
    assert "unknown file name extension" in refusal(tmp_path / "log.txt")
    assert "no file in this folder ends in .parquet" in refusal(tmp_path)


def test_files_of_one_log_have_the_same_columns(tmp_path):
    """The one that lacks a column is named."""
    parquet(tmp_path)
    other = pa.table({**{k: v for k, v in GOOD.items() if k != "consumer"}, "who": ["m"] * 3})
    pq.write_table(other, tmp_path / "more.parquet")

    assert f"{tmp_path / 'more.parquet'}, rows 1 to 3: there is no column 'consumer'" in refusal(
        tmp_path
    )


def test_offsets_beyond_a_log_are_refused(tmp_path):
    """Above its end, and below its beginning."""
    path = write(tmp_path / "log.parquet", records(5, 20, "m1", 0))
    below = Terms(limits={PartitionName("orders", 0): Limits(begin=7)})

    assert "orders-0: offset 19 was processed, but the given end of its log is 12" in refusal(
        path, terms=Terms(limits=limits(p0=12))
    )
    assert "offset 5 was processed, but the given begin of its log is 7" in refusal(
        path, terms=below
    )


@pytest.mark.parametrize(
    ("text", "at_us"),
    [
        ("1700000000", EPOCH),
        ("1700000000000", EPOCH),
        ("1700000000000000", EPOCH),
        ("2023-11-14T22:13:20Z", EPOCH),
        ("2023-11-14T23:13:20.5+01:00", EPOCH + SECOND // 2),
        ("2023-11-14 22:13:20", EPOCH),
    ],
)
def test_times_are_read_in_any_spelling(text, at_us):
    """Seconds, milliseconds and microseconds by their size; ISO 8601 with and without a zone."""
    assert at_us == time_us(text, None)


def test_a_time_that_is_none_is_refused():
    """With an example of one."""
    with pytest.raises(AuditError, match="'noon' is not a time; expected ISO 8601"):
        time_us("noon", None)


def nested(depth: int) -> bytes:
    row = (
        b'{"topic": "t", "partition": 0, "offset": 1, "consumer": "a", "end": 1700000000, "more": '
    )
    return row + b"[" * depth + b"]" * depth + b"}\n"


def test_deeply_nested_json_is_refused_with_its_line(tmp_path):
    """Pyarrow's reader ends the process on it."""
    path = tmp_path / "log.json"
    path.write_bytes(nested(1) + b"\n" + nested(200_000))

    assert "log.json, line 3: cannot be read as JSON lines" in refusal(path)
    assert "in each other; the limit is 500; `limit=nesting=…` raises it" in refusal(path)


def test_brackets_in_text_are_not_nesting(tmp_path):
    """Nor is nesting that is common."""
    path = tmp_path / "log.json"
    path.write_bytes(nested(499) + nested(1).replace(b'"a"', b'"' + b"[" * 1_000 + b'\\""'))

    held = Terms()
    assert 2 == audit(InProcess(open_source(find_files([path]), {}, None), held), held).counts.rows


@pytest.mark.parametrize("name", ["meta.json", "manifest.json"])
def test_a_log_may_lie_beside_a_file_that_cannot_be_read(tmp_path, name):
    """Whether a folder is that of an import or of a captured run says a file that may be anybody's."""
    path = parquet(tmp_path)
    (tmp_path / name).write_text("[" * 200_000)
    assert [path] == [each.path for each in find_files([path])]

    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert [path] == [each.path for each in find_files([path])]


def test_a_header_without_end_is_refused_with_its_limit(tmp_path):
    """Each column takes memory, also one that is not needed."""
    path, names = tmp_path / "log.csv", "topic,partition,consumer,offset,end"
    path.write_text(f"{names},{','.join(f'c{n}' for n in range(50_000))}\n")
    assert "line 1: the names of columns do not end within 256 KiB" in refusal(path)

    path.write_text(f"{names}\norders,0,c-1,1,1700000000000\n{',' * 300_000}\n")
    assert "256 KiB" not in refusal(path)
