"""Rows of an import by lots of groups: each row comes once, and nothing is left behind."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from emulator.logs.imports.folder import MAX_PASSES, by_group_batch, clear

GROUPS = [f"group-{number}" for number in range(12)]


@pytest.fixture
def rows(tmp_path) -> ds.Dataset:
    """Return rows of twelve groups, in turns, in two files."""
    table = pa.table({"group": GROUPS * 50, "offset": range(600), "more": ["x"] * 600})
    for number, part in enumerate((table.slice(0, 333), table.slice(333))):
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=100)
    return ds.dataset(tmp_path, format="parquet")


def test_each_of_many_lots_has_its_rows_and_no_others(rows, tmp_path):
    """In the order in which they stood; the columns that are wanted."""
    folder = tmp_path / "import"
    folder.mkdir()
    lots = [GROUPS[number : number + 2] for number in range(0, 12, 2)]
    with by_group_batch(rows, ["group", "offset"], lots, folder) as rows_of:
        found = [rows_of(number).to_table() for number in range(len(lots))]

    assert [100] * 6 == [len(table) for table in found]
    assert [set(lot) for lot in lots] == [set(table["group"].to_pylist()) for table in found]
    assert all(
        table["offset"].to_pylist() == sorted(table["offset"].to_pylist()) for table in found
    )
    assert {("group", "offset")} == {tuple(table.column_names) for table in found}
    assert [] == list(folder.iterdir())


def test_for_few_lots_no_file_is_written(rows, tmp_path):
    """They go through all rows."""
    folder = tmp_path / "import"
    folder.mkdir()
    lots = [[group] for group in GROUPS[:MAX_PASSES]]
    with by_group_batch(rows, ["group"], lots, folder) as rows_of:
        assert [] == list(folder.iterdir())
        assert rows is rows_of(0)


def test_files_of_an_interrupted_report_are_removed(tmp_path):
    """And no others."""
    (tmp_path / ".batches-old").mkdir()
    (tmp_path / ".batches-old" / "0.arrow").write_bytes(b"half")
    (tmp_path / "commits").mkdir()
    clear(tmp_path)

    assert ["commits"] == [path.name for path in tmp_path.iterdir()]
