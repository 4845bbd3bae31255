"""Studies whose output is a URI: Spark writes the rows, and the same command continues from there."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pyarrow.dataset as ds
import pytest

from emulator.errors import RefusedError
from emulator.study import planning
from emulator.study.running import run_study

from ..study.samples import bytes_in, written

pytestmark = pytest.mark.spark

EVENTS = ("seeds = 6", "seeds = 3\nevents = true")
REPORT = ("cells", "summary", "differences", "pareto")


@pytest.fixture
def on_spark(session, monkeypatch):
    """Let studies use the session of the tests."""

    @contextmanager
    def opened(*_):
        yield session

    monkeypatch.setattr(planning, "open_spark", opened)


def rows_in(folder, table):
    """Return the rows of a table of a study, sorted, without the columns of their places."""
    found = ds.dataset(folder / table, partitioning="hive", exclude_invalid_files=True).to_table()
    keys = [(name, "ascending") for name in ("cell", "seed", "id") if name in found.column_names]
    kept = [name for name in found.column_names if name != "chunk"]
    return found.sort_by(keys).select(sorted(kept)).to_pylist()


@pytest.mark.long
def test_a_study_at_a_uri_has_the_rows_of_one_in_a_folder(on_spark, tmp_path):
    """Runs, entries and events; and a command that is given again runs only what is missing."""
    study, remote, local = written(tmp_path, EVENTS), tmp_path / "remote", tmp_path / "local"
    uri, progress = remote.as_uri(), []

    result = run_study(study, uri)
    run_study(study, local, engine="pool", jobs=1)
    before = bytes_in(remote)
    shutil.rmtree(next((remote / "runs").glob("cell=1/chunk=*")))
    again = run_study(study, uri, progress=lambda *counts: progress.append(counts))

    assert (uri, f"{uri}/report.html") == (result.folder, result.page)
    for table in ("runs", "entries", "events"):
        assert rows_in(local, table) == rows_in(remote, table)
    for name in ("manifest.json", "report.html", *(f"{name}.parquet" for name in REPORT)):
        assert (local / name).read_bytes() == (remote / name).read_bytes() == before[name]
    assert [(1, 1)] == progress
    assert result.as_json() == again.as_json()


def test_a_uri_with_other_content_is_left_alone(on_spark, tmp_path):
    """Another study, or files without a study."""
    study, remote = written(tmp_path), tmp_path / "remote"
    remote.mkdir()
    (remote / "thesis.doc").write_text("")

    with pytest.raises(RefusedError, match=r"remote`: it contains files, but no study; take ano"):
        run_study(study, remote.as_uri())
    (remote / "manifest.json").write_text('{"study_key": "?", "title": "another"}')
    with pytest.raises(RefusedError, match=r"it contains the study 'another'; take another folder"):
        run_study(study, remote.as_uri())

    assert {"manifest.json", "thesis.doc"} == bytes_in(remote).keys()


def test_a_uri_without_a_file_system_is_refused_before_anything_runs(on_spark, tmp_path):
    """With what is missing."""
    with pytest.raises(RefusedError, match=r"`folder=s3a://bucket/x`: cannot be used: .* jars"):
        run_study(written(tmp_path), "s3a://bucket/x")
