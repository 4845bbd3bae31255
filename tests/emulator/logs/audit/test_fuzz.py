"""Whatever a processing log holds, it is audited or refused."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emulator.errors import RefusedError
from emulator.logs.auditing import audit

COLUMNS = ("topic", "partition", "lo", "hi", "consumer", "start", "end")
CAREFUL = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)

extreme = st.sampled_from([0, -1, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64])
cells = st.one_of(
    st.integers(0, 20),
    extreme,
    st.sampled_from(["orders", "c-1", "", '"', "2026-01-01T00:00:00Z", "NaN", "\u202e", "a\nb"]),
    st.none(),
    st.floats(),
    st.lists(st.integers(), max_size=2),
)
right = st.tuples(
    st.just("orders"),
    st.integers(0, 2),
    st.integers(0, 20),
    st.integers(21, 30),
    st.sampled_from(["a", "b"]),
    st.integers(1_700_000_000_000, 1_700_000_001_000),
    st.integers(1_700_000_001_000, 1_700_000_002_000),
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[object]]:
    """Draw rows of a log, of which up to three cells hold anything."""
    rows = [list(row) for row in draw(st.lists(right, min_size=1, max_size=8))]
    for _ in range(draw(st.integers(0, 3))):
        row = draw(st.sampled_from(rows))
        row[draw(st.integers(0, len(row) - 1))] = draw(cells)
    return rows


def csv_of(rows) -> bytes:
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def json_of(rows) -> bytes:
    lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows)
    return "\n".join(lines).encode()


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw the name of a log and its content, in which some bytes may be replaced or cut off."""
    name = draw(st.sampled_from(["log.csv", "log.jsonl", "log.csv.gz", "log.jsonl.gz"]))
    rows = draw(tables())
    content = bytearray(csv_of(rows) if "csv" in name else json_of(rows))
    for _ in range(draw(st.sampled_from([0, 0, 1, 4]))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    packed = gzip.compress(content, mtime=0) if name.endswith(".gz") else bytes(content)
    cut = draw(st.sampled_from([0, 0, 0, 1, 9]))
    return name, packed[: len(packed) - cut]


def audited_or_refused(path) -> None:
    try:
        done = audit(str(path))
    except RefusedError:
        return
    assert list(done.lines())
    assert json.dumps(done.document())


@CAREFUL
@given(files())
@example(
    ("log.csv", b"topic,partition,lo,hi,consumer,start,end\norders,0,0,9223372036854775807,a,1,2")
)
def test_any_text_is_audited_or_refused(tmp_path, file):
    """CSV and JSON lines, plain and packed."""
    name, content = file
    (tmp_path / name).write_bytes(content)
    audited_or_refused(tmp_path / name)
    (tmp_path / name).unlink()


@pytest.mark.long
@CAREFUL
@given(tables(), st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=4))
def test_any_parquet_is_audited_or_refused(tmp_path, rows, damage):
    """With columns of any type, and with bytes replaced."""
    columns = {}
    for number, name in enumerate(COLUMNS):
        try:
            columns[name] = pa.array([row[number] for row in rows])
        except (pa.ArrowException, OverflowError, TypeError):
            columns[name] = pa.array([str(row[number]) for row in rows])
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), path)
    content = bytearray(path.read_bytes())
    for at, value in damage:
        content[at % len(content)] = value
    path.write_bytes(content)
    audited_or_refused(path)
