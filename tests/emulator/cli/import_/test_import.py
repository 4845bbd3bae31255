"""``rebalance import`` of segment files: the tables, the report, and resuming."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from emulator.logs import importing
from emulator.logs.imports import reading, store
from emulator.logs.imports.tables import TABLES

from ...logs.imports.logs import (
    NAME,
    PRODUCER,
    batch,
    commit,
    marker,
    segment_of,
    written,
)
from ..commands import rebalance

LATER = "00000000000000000009.log"


def table(folder: Path, name: str):
    """Return a table of an import."""
    return pq.read_table(folder / name)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def broker(tmp_path):
    """Make a broker's folder: a transaction that ends in another segment, and an open one."""
    log = tmp_path / "data" / "__consumer_offsets-7"
    written(log, batch(commit(offset=1)) + batch(commit(offset=2), at=1, producer=PRODUCER))
    later = marker(9, is_committed=False) + batch(commit(offset=3), at=10, producer=PRODUCER)
    written(log, later + marker(11) + batch(commit(offset=4), at=12, producer=PRODUCER), LATER)
    written(tmp_path / "data" / "__consumer_offsets-8", b"")
    return tmp_path / "data"


def test_segments_become_tables(tmp_path):
    """With the documented columns, and a manifest that lists them."""
    folder = tmp_path / "imported"

    status, out, err = rebalance("import", segment_of(4), segment_of(11), "-o", folder)

    assert (0, "") == (status, err)
    for name, schema in TABLES.items():
        assert schema.equals(table(folder, name).schema)
    rows = {name: table(folder, name).num_rows for name in TABLES}
    manifest = json.loads((folder / store.MANIFEST).read_text())
    assert rows == manifest["tables"]
    assert f"{rows['commits']:,} commits and {rows['groups']:,} other records of 10 groups" in out
    assert "from 2026-11-21 10:52:09 UTC to 2026-11-21 11:31:00 UTC" in out
    assert "1 process (engine=spark uses Spark)" in out
    assert [folder] == list(tmp_path.iterdir())


def test_json_equals_the_manifest(tmp_path):
    """With the paths of the tables."""
    answer = rebalance("import", segment_of(4), "-o", tmp_path / "imported", "--json")

    manifest = json.loads((tmp_path / "imported" / store.MANIFEST).read_text())
    assert 0 == answer.status
    assert {**manifest, "folder": str(tmp_path / "imported"), "engine": "pool"} == answer.document


def test_transactions_are_decided_across_segments(broker, tmp_path):
    """Rows say what became of them; none is left out."""
    status, out, _ = rebalance("import", broker, "-o", tmp_path / "imported")

    rows = table(tmp_path / "imported", "commits").to_pylist()
    ended = {row["offset"]: row["transaction"] for row in rows}
    assert 0 == status
    assert {1: None, 2: "aborted", 3: "committed", 4: "pending"} == ended
    assert "commits in transactions: 1 aborted, 1 committed, 1 pending;" in out
    assert f"{broker}/__consumer_offsets-8/{NAME}: an empty segment" in out


def test_groups_and_times_are_chosen(tmp_path):
    """A pattern of names, and times in ISO 8601."""
    chosen = (
        "--group",
        "kip848-*",
        "--from",
        "2026-11-21T10:54:30",
        "--to",
        "2026-11-21T11:54:50+01:00",
    )
    rebalance("import", segment_of(4), "-o", tmp_path / "all")
    rebalance("import", segment_of(4), "-o", tmp_path / "some", *chosen)

    def kept(row):
        begin, end = 1_795_258_470_000, 1_795_258_490_000
        return row["group"].startswith("kip848-") and begin <= row["timestamp"] < end

    for name in ("commits", "groups"):
        rows = table(tmp_path / "all", name).to_pylist()
        assert [row for row in rows if kept(row)] == table(tmp_path / "some", name).to_pylist()
        assert 0 < table(tmp_path / "some", name).num_rows < len(rows)


def test_gaps_are_rows_and_a_status(tmp_path):
    """The records around them are imported."""
    whole = [batch(commit(offset=n), at=n) for n in range(3)]
    path = written(tmp_path, whole[0] + b"\xff" * 90 + whole[2])

    status, out, _ = rebalance("import", path, "-o", tmp_path / "imported")

    (gap,) = table(tmp_path / "imported", "gaps").to_pylist()
    assert (1, 2) == (status, table(tmp_path / "imported", "commits").num_rows)
    assert (len(whole[0]), 90, str(path)) == (gap["position"], gap["length"], gap["source"])
    assert "1 gap: not everything could be read\n" in out
    assert f"  {path}, 90 bytes from byte {len(whole[0])}: " in out


def test_a_selection_that_takes_nothing_is_said(tmp_path):
    """No error: there may be nothing in that time."""
    path = written(tmp_path, batch(commit()))
    status, out, _ = rebalance("import", path, "--group", "nobody*", "-o", tmp_path / "imported")

    assert 0 == status
    assert "no record matches --group, --from and --to" in out


def test_a_compressed_file_that_is_cut_off_has_a_gap_at_its_end(tmp_path):
    """The bytes before the cut are read."""
    path = written(tmp_path, segment_of(4).read_bytes()[:3_000], f"{NAME}.gz")

    status, _, _ = rebalance("import", path, "-o", tmp_path / "imported")

    last = table(tmp_path / "imported", "gaps").to_pylist()[-1]
    assert 1 == status
    assert ("gzip: cut off before its end", 0) == (last["reason"], last["length"])
    assert table(tmp_path / "imported", "commits").num_rows > 0


def test_sources_may_be_relative_and_empty(tmp_path, monkeypatch):
    """Tables are there, and nothing is in them; rows would name the whole path."""
    written(tmp_path / "log", b"")
    monkeypatch.chdir(tmp_path)

    status, out, _ = rebalance("import", "log", "-o", "imported")

    assert 0 == status
    assert "0 commits and 0 other records of 0 groups" in out
    assert f"{tmp_path}/log/{NAME}: an empty segment" in out
    assert [0, 0, 0] == [table(tmp_path / "imported", name).num_rows for name in TABLES]


@pytest.mark.long
def test_several_processes_write_the_same_bytes(broker, tmp_path):
    """As one does."""
    sources = (broker, segment_of(4), segment_of(11))

    one = rebalance("import", *sources, "-o", tmp_path / "one")
    two = rebalance("import", *sources, "-o", tmp_path / "two", "--jobs", 2)

    assert (0, 0) == (one.status, two.status)
    assert "2 processes (engine=spark uses Spark)" in two.out
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_an_interrupted_import_resumes(broker, tmp_path, monkeypatch):
    """Complete files are not read again, and the result is the same."""
    rebalance("import", broker, "-o", tmp_path / "straight")
    read = []

    def keep(task, part):
        if len(read) == 1:
            raise KeyboardInterrupt
        read.append(task.piece.name)
        return reading.keep(task, part)

    monkeypatch.setattr(importing, "keep", keep)
    interrupted = rebalance("import", broker, "-o", tmp_path / "imported")
    read.insert(0, "")
    resumed = rebalance("import", broker, "-o", tmp_path / "imported")

    assert (130, 0) == (interrupted.status, resumed.status)
    assert 3 == len(read)
    assert files_in(tmp_path / "straight") == files_in(tmp_path / "imported")
    assert not store.part_of(tmp_path / "imported").exists()


def test_other_sources_start_over(tmp_path):
    """The files of an interrupted import belong to its sources only."""
    with store.writing(tmp_path / "imported", {"another": "plan"}):
        pass
    (store.part_of(tmp_path / "imported") / "commits").mkdir()
    (store.part_of(tmp_path / "imported") / "commits" / "stale.parquet").write_bytes(b"stale")

    status, _, _ = rebalance("import", segment_of(4), "-o", tmp_path / "imported")

    assert 0 == status
    assert 277 == table(tmp_path / "imported", "commits").num_rows
