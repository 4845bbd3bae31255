"""``rebalance log --columns``: commits as Parquet, whole or not there, and what is not in it."""

from __future__ import annotations

import gzip

import pyarrow.parquet as pq
import pytest

from emulator.logs.offsets_log import columns_file
from emulator.logs.offsets_log.columns import CommitColumns

from ..commands import rebalance
from .test_log import CONSUMER, FIRST, KEPT, SECOND, STATIC, batch


def rows(path) -> list[dict]:
    return pq.read_table(path).to_pylist()


def refused(target, *arguments) -> str:
    """Return why nothing is written; nothing is left behind."""
    before = sorted(target.parent.iterdir()) if target.parent.is_dir() else []
    status, out, err = rebalance("log", *arguments, "--columns", target)
    assert (2, "", 1) == (status, out, err.count("\n"))
    assert before == (sorted(target.parent.iterdir()) if target.parent.is_dir() else [])
    return err


def test_commits_of_all_logs_are_rows(tmp_path):
    """In the order of the logs, with the log's name before what the Arrow reader says."""
    target = tmp_path / "commits.parquet"
    status, out, err = rebalance("log", KEPT, "--columns", target)
    expected = [
        {"log": f"{KEPT}/{each.name.partition('.')[0]}"} | row
        for each in (STATIC, CONSUMER)
        for found in CommitColumns(gzip.decompress(each.read_bytes()))
        for row in found.to_pylist()
    ]

    assert (0, "") == (status, err)
    assert f"{target}: {len(expected)} rows; omitted: " in out
    assert expected == rows(target)
    assert [target] == list(tmp_path.iterdir())


def test_segments_of_one_log_are_in_order(tmp_path):
    """Whatever their names; an empty one has no rows and is reported."""
    (tmp_path / SECOND).write_bytes(batch("g", 7, 8, at=100))
    (tmp_path / FIRST).write_bytes(batch("g", 5, at=3))
    (tmp_path / "00000000000000000102.log").write_bytes(b"")
    target = tmp_path / "commits.parquet"
    status, _, err = rebalance("log", tmp_path, "--columns", target)

    assert 0 == status
    assert "00000000000000000102.log: empty" in err
    assert [3, 100, 101] == [row["log_offset"] for row in rows(target)]
    assert [5, 7, 8] == [row["offset"] for row in rows(target)]


def test_a_log_without_commits_has_a_table_without_rows(tmp_path):
    """Its columns are there all the same."""
    (tmp_path / FIRST).write_bytes(b"")
    target = tmp_path / "commits.parquet"
    status, out, _ = rebalance("log", tmp_path, "--columns", target)

    assert (0, columns_file.FILE_SCHEMA) == (status, pq.read_schema(target))
    assert "commits.parquet: 0 rows" in out


def test_gaps_are_reported_and_the_rest_is_written(tmp_path):
    """A gap between batches, a cut file."""
    damaged = batch("g", 6, at=4)[:-1] + b"\xff"
    data = batch("g", 5, at=3) + damaged + batch("g", 7, at=5)
    (tmp_path / FIRST).write_bytes(data)
    (tmp_path / f"{SECOND}.gz").write_bytes(gzip.compress(batch("g", 8, at=100) * 9)[:-9])
    target = tmp_path / "commits.parquet"
    status, _, err = rebalance("log", tmp_path, "--columns", target)

    assert 1 == status
    assert f"{FIRST}: 1 gap, {len(damaged)} bytes, could not be read: first byte" in err
    assert "gzip: cut off before its end" in err
    assert [5, 7] == [row["offset"] for row in rows(target)][:2]


def test_a_target_that_is_something_else_is_not_replaced(tmp_path):
    """Only a Parquet file is, and only by a whole one."""
    (tmp_path / "notes.parquet").write_text("dear to somebody")

    assert "is not Parquet" in refused(tmp_path / "notes.parquet", STATIC)
    assert "ends in .parquet" in refused(tmp_path / "commits.csv", STATIC)
    assert "there is no folder" in refused(tmp_path / "absent" / "c.parquet", STATIC)


def test_other_files_are_refused_before_anything_is_written(tmp_path):
    """One bad file among good ones, too."""
    bad = tmp_path / "notes.txt"
    bad.write_text("dear to somebody\n" * 99)
    target = tmp_path / "commits.parquet"

    assert "not a log" in refused(target, STATIC, bad)
    assert "not a file" in refused(target, "-")


@pytest.mark.parametrize(
    "other",
    [("--group", "g"), ("--table",), ("--batches",), ("--state-only",), ("--follow-state",)],
)
def test_the_option_excludes_others(tmp_path, other):
    """It prints no records that other options could format."""
    assert "cannot be combined with other options" in refused(
        tmp_path / "commits.parquet", STATIC, *other
    )


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    """No other file is left beside it."""
    target = tmp_path / "commits.parquet"
    rebalance("log", STATIC, "--columns", target)
    before = target.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", full)

    assert "No space left on device" in refused(target, CONSUMER)
    assert before == target.read_bytes()
