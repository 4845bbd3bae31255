"""Whatever the folder of an import holds, it is read or refused: by its tables and by its bytes."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.errors import EmulatorError
from emulator.events.stored import read_events
from emulator.logs.audit.committed import read_committed
from emulator.logs.auditing import audit
from emulator.logs.group_scenario import group_scenario
from emulator.scenario.load import loads

from .found import kept

TABLES = ("commits", "groups")
DAMAGED = Path(__file__).parent / "damaged"
"""Files that once ended in something else."""
FUZZED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

odd = st.sampled_from([0, -1, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63)])
cells = st.one_of(
    st.none(), odd, st.sampled_from(["", "orders", "\u202e", "x" * 300, "committed"]), st.booleans()
)
other_columns = st.sampled_from(
    [
        pa.string(),
        pa.int32(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.binary(),
        pa.list_(pa.int8()),
    ]
)


@cache
def group_and_tables() -> tuple[str, dict[str, list[dict[str, object]]], dict[str, pa.Schema]]:
    """Return the group with most commits in the kept segments, and the rows about it."""
    both = dict(zip(TABLES, kept(), strict=True))
    ((group, _),) = Counter(both["commits"].column("group").to_pylist()).most_common(1)
    rows = {
        name: [row for row in table.to_pylist() if row["group"] == group][-12:]
        for name, table in both.items()
    }
    return group, rows, {name: table.schema for name, table in both.items()}


@st.composite
def odd_tables(draw: st.DrawFn) -> dict[str, pa.Table]:
    """Draw the tables of an import, with odd cells, or with columns that are absent or of other types."""
    _, rows, schemas = group_and_tables()
    tables = {}
    for name in TABLES:
        mine = [dict(row) for row in rows[name]]
        columns = {field.name: field.type for field in schemas[name]}
        for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
            column, row = draw(st.sampled_from(sorted(columns))), draw(st.sampled_from(mine))
            row[column] = draw(cells)
        arrays = {
            column: _array([row[column] for row in mine], kind) for column, kind in columns.items()
        }
        change = draw(st.sampled_from(["", "", "", "drop", "type"]))
        if change:
            column = draw(st.sampled_from(sorted(arrays)))
            kind = draw(other_columns)
            if change == "drop":
                del arrays[column]
            else:
                arrays[column] = pa.nulls(len(mine), kind)
        tables[name] = pa.table(arrays)
    return tables


def _array(values: list[object], kind: pa.DataType) -> pa.Array:
    """Return a column; of the type that it should have, if its values have it."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if isinstance(each, list | bool) else str(each) for each in values])


def packed(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """Write an import with one file in each table."""
    (folder / "manifest.json").write_text(json.dumps({"kind": "import"}))
    for name, content in files.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "0.parquet").write_bytes(content)
    return folder


def read_or_refused(folder: Path) -> None:
    """Both readers of an import return what they should, or refuse with a reason."""
    group, _, _ = group_and_tables()
    with contextlib.suppress(EmulatorError):
        assert loads(group_scenario(folder, group).text).group
    with contextlib.suppress(EmulatorError):
        assert group == read_committed([folder], group).group


def test_the_tables_as_they_are_become_a_scenario(tmp_path):
    """What is damaged below is something that can be read."""
    group, rows, schemas = group_and_tables()
    tables = {name: pa.Table.from_pylist(rows[name], schemas[name]) for name in TABLES}
    folder = written(tmp_path, {name: packed(table) for name, table in tables.items()})

    assert loads(group_scenario(folder, group).text).group
    assert group == read_committed([folder], group).group


@settings(FUZZED, max_examples=20)
@given(odd_tables())
def test_any_tables_are_read_or_refused(tmp_path, tables):
    """Cells of any value, columns of any type or absent."""
    read_or_refused(written(tmp_path, {name: packed(table) for name, table in tables.items()}))


@pytest.mark.long
@FUZZED
@given(
    st.sampled_from(TABLES),
    st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=4),
    st.sampled_from([0, 0, 1, 9, 2_000]),
)
def test_any_bytes_are_read_or_refused(tmp_path, name, damage, cut):
    """Of a table whose bytes were replaced or cut off."""
    _, rows, schemas = group_and_tables()
    files = {each: packed(pa.Table.from_pylist(rows[each], schemas[each])) for each in TABLES}
    content = bytearray(files[name])
    for at, value in damage:
        content[at % len(content)] = value
    files[name] = bytes(content[: max(0, len(content) - cut)])
    read_or_refused(written(tmp_path, files))


@pytest.mark.parametrize("name", sorted(path.name for path in DAMAGED.glob("*.parquet")))
@pytest.mark.parametrize("table", TABLES)
def test_damage_that_was_found_is_read_or_refused(tmp_path, table, name):
    """Statistics that end the process when they are looked at, names that are no UTF-8."""
    _, rows, schemas = group_and_tables()
    files = {each: packed(pa.Table.from_pylist(rows[each], schemas[each])) for each in TABLES}
    read_or_refused(written(tmp_path, files | {table: (DAMAGED / name).read_bytes()}))
    with contextlib.suppress(EmulatorError):
        read_events(DAMAGED / name)
    with contextlib.suppress(EmulatorError):
        audit(str(DAMAGED / name))
