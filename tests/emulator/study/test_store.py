"""Chunks as files: the same bytes every time, whole or not there, and a failure is a row."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import emulator
from assignors.own_code import allow_plugins
from emulator.ledger.entries import EntryKind
from emulator.output_files import FolderInUseError
from emulator.study import rows, store
from emulator.study.store import study_manifest

from .samples import OWN_ASSIGNOR, bytes_in, load_cell, plan_of, study_of, tasks_of


@pytest.fixture
def task():
    """Return the first chunk of the small study, with its events."""
    return tasks_of(plan_of(study_of(("seeds = 6", "seeds = 100"))), events=True)[0]


def test_a_row_is_what_the_run_alone_comes_to(task, tmp_path):
    """Its digest, every value, and the entries of its ledger."""
    store.keep(task, tmp_path)

    row = pq.ParquetFile(store.path_of(tmp_path, "runs", task.chunk)).read().to_pylist()[0]
    run = emulator.run(task.scenario, row["seed"])
    table = pq.ParquetFile(store.path_of(tmp_path, "entries", task.chunk)).read()
    entries = [entry for entry in table.to_pylist() if entry["seed"] == row["seed"]]

    assert run.digest == row["digest"]
    assert run.metrics["reprocessed"] == row["reprocessed"] > 0
    assert run.metrics.plain_values().items() <= row.items()
    assert [entry.id for entry in run.ledger.entries] == [entry["id"] for entry in entries]
    repeated = [entry["count"] for entry in entries if entry["kind"] == EntryKind.REPROCESSED]
    assert run.ledger.reprocessed == sum(repeated)


def test_events_are_kept_where_they_are_wanted(task, tmp_path):
    """All of them, run by run."""
    store.keep(task, tmp_path / "with")
    store.keep(replace(task, events=False), tmp_path / "without")

    kept = pq.ParquetFile(store.path_of(tmp_path / "with", "events", task.chunk)).read()
    run = emulator.run(task.scenario, task.chunk.first)

    assert len(run.events) == kept["seed"].to_pylist().count(task.chunk.first)
    assert not (tmp_path / "without" / "events").exists()


def test_playing_a_chunk_again_writes_the_same_bytes(task, tmp_path):
    """A task that is tried again does no harm."""
    store.keep(task, tmp_path)
    before = bytes_in(tmp_path)

    store.keep(task, tmp_path)

    assert before == bytes_in(tmp_path)


def test_a_run_that_fails_is_a_row_with_its_error(task, tmp_path, monkeypatch):
    """The others of its chunk are played."""
    play = rows.run

    def failing(scenario, seed, **options):
        if seed == 1:
            raise ZeroDivisionError("no luck")
        return play(scenario, seed, **options)

    monkeypatch.setattr(rows, "run", failing)

    failed = store.keep(task, tmp_path)

    found = pq.ParquetFile(store.path_of(tmp_path, "runs", task.chunk)).read().to_pylist()
    assert 1 == failed
    assert [None, "ZeroDivisionError: no luck", None] == [row["error"] for row in found][:3]
    assert found[1]["reprocessed"] is None
    assert found[2]["reprocessed"] is not None


@pytest.mark.parametrize("files", [0, 1])
def test_a_chunk_is_done_only_when_all_of_it_is_there(task, tmp_path, monkeypatch, files):
    """Runs take their name last; what was half-written is gone."""
    write, written = store._write, []

    def no_room(path, table):
        if len(written) >= files:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, table)

    monkeypatch.setattr(store, "_write", no_room)

    with pytest.raises(OSError, match="No space left"):
        store.keep(task, tmp_path)

    assert not store.is_done(tmp_path, task.chunk)
    assert not list(tmp_path.rglob("*.part"))


def test_the_folder_has_a_manifest(tmp_path):
    """With the versions that played it."""
    with store.writing(tmp_path / "new", study_manifest(plan_of())):
        pass

    document = json.loads((tmp_path / "new" / "manifest.json").read_text())

    assert {"schema_version", "kafka", "version", "code", "study", "cells", "settings"} <= set(
        document
    )
    assert ["500ms", "5s"] == [cell["settings"]["commit interval"] for cell in document["cells"]]


def test_the_same_study_takes_up_its_folder(tmp_path):
    """As often as is needed."""
    with store.writing(tmp_path, study_manifest(plan_of())):
        pass
    before = bytes_in(tmp_path)

    with store.writing(tmp_path, study_manifest(plan_of())):
        pass

    assert before == bytes_in(tmp_path)


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    """The second one is refused; what a killed process has left over does not matter."""
    (tmp_path / ".lock").touch()
    (tmp_path / ".manifest.json.123.part").touch()
    with store.writing(tmp_path, study_manifest(plan_of())):
        with (
            pytest.raises(FolderInUseError, match="another process is writing to it"),
            store.writing(tmp_path, study_manifest(plan_of())),
        ):
            pass
        store.delete_partial_files(tmp_path)

    assert ["manifest.json"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"title": "another"}, "the study 'another'"),
        ({"title": "how long a session?"}, "another version of this study"),
        ({"title": "how long a session?", "code": "old"}, "another version of the emulator"),
    ],
)
def test_a_folder_with_another_study_is_left_alone(tmp_path, there, said):
    """Rows of two studies do not mix."""
    manifest = study_manifest(plan_of())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "study_key": "?", **there}))
    before = bytes_in(tmp_path)

    with pytest.raises(store.OtherStudyError, match=said), store.writing(tmp_path, manifest):
        pass

    assert before == bytes_in(tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    """They may belong to the user."""
    (tmp_path / "thesis.doc").write_text("")

    with (
        pytest.raises(store.OtherStudyError, match="no study"),
        store.writing(tmp_path, study_manifest(plan_of())),
    ):
        pass


def test_a_study_whose_cells_change_is_another_one():
    """The number of seeds too: its last chunk would be another."""
    keys = {
        study_manifest(plan_of(study_of(change)))["study_key"]
        for change in (("title", "title"), ("5s", "4s"), ("seeds = 6", "seeds = 7"))
    }

    assert 3 == len(keys)


def test_another_goal_is_the_same_study():
    """Another goal or metric uses the existing runs; a new column has to be played."""
    changes = (
        ("title", "title"),
        ("how long a session?", "how long?"),
        ('"takeover_first_s"', '"lost"'),
        ("seeds = 6", 'seeds = 6\ngoal = { least = "reprocessed", expect = { lost = 0 } }'),
    )
    column = ("[crashed while uncommitted]", "[rewind]")

    keys = [study_manifest(plan_of(study_of(change)))["study_key"] for change in changes]

    assert 1 == len(set(keys))
    assert study_manifest(plan_of(study_of(column)))["study_key"] not in keys


def test_an_assignor_of_the_users_own_belongs_to_the_study(tmp_path, monkeypatch):
    """A folder begun with its earlier form is not gone on with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "assignor_of_this_study", raising=False)
    source = tmp_path / "assignor_of_this_study.py"
    source.write_text(OWN_ASSIGNOR)
    allow_plugins("assignor_of_this_study")
    set_it = 'seeds = 6\nset = "group[billing].settings[partition.assignment.strategy]={}"'
    study = study_of(("seeds = 6", set_it.format("assignor_of_this_study:make")))
    before = study_manifest(plan_of(study))

    source.write_text(f"{OWN_ASSIGNOR}# changed")

    assert {"assignor_of_this_study"} == before["own_assignors"].keys()
    assert before["study_key"] != study_manifest(plan_of(study))["study_key"]


def test_scenarios_travel_as_they_are(task):
    """Pickled to a worker, a scenario is the same."""
    assert task.scenario == load_cell(plan_of().cells[0].settings.overrides)


def test_the_digest_covers_every_part_of_the_code_that_decides_rows():
    """A part that moves must be named by its new place, or its changes go unseen."""
    base = Path(emulator.__file__).parent

    assert [] == [name for name in store.DECIDING if not (base / name).exists()]
