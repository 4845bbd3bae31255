"""A series of captures: which runs are still to be made, and which are kept with the tests."""

from __future__ import annotations

import errno
import gzip
import json
import os
from types import SimpleNamespace

import pytest

from benchmarks import keep_captures
from emulator.capturing import files
from emulator.capturing.capturing import capture, missing
from emulator.capturing.files import write_run as write
from emulator.capturing.plan import Plan
from emulator.capturing.toolchain import MachineError
from emulator.output_files import FolderInUseError, only_writer

PLAN = Plan(name="crash", brokers=3, topics=(), members=(), length_us=1)


def write_run(folder, number, *, error=None, noisy=False):
    """Write what is read of a captured run, and a raw segment."""
    run = folder / PLAN.name / f"run-{number}"
    run.mkdir(parents=True)
    (folder / PLAN.name / "scenario.json").write_text("{}")
    (run / "summary.json").write_text(json.dumps({"error": error, "drained": True}))
    (run / "meta.json").write_text(json.dumps({"noise": {"noisy": noisy}}))
    (run / "m1.1.jsonl.gz").write_bytes(gzip.compress(b"trace", compresslevel=0))
    (run / "__consumer_offsets-7.00000000000000000000.log.gz").write_bytes(b"raw")
    return run


@pytest.mark.parametrize(("redo_noisy", "numbers"), [(False, [2, 4]), (True, [2, 3, 4])])
def test_unusable_runs_are_made_again_and_noisy_ones_on_demand(tmp_path, redo_noisy, numbers):
    write_run(tmp_path, 1)
    write_run(tmp_path, 2, error="the group had not formed")
    write_run(tmp_path, 3, noisy=True)

    todo = missing([PLAN], tmp_path, 4, redo_noisy=redo_noisy)

    assert numbers == [each.number for each in todo]


def test_a_run_of_another_program_is_left_alone(tmp_path):
    """It has no error that could be read."""
    run = write_run(tmp_path, 1)
    (run / "summary.json").write_text("{}")

    assert [] == list(missing([PLAN], tmp_path, 1, redo_noisy=True))


def test_an_experiment_has_one_capture_at_a_time(tmp_path):
    """Two would delete each other's unfinished runs."""
    folder = tmp_path / PLAN.name
    with (
        only_writer(folder, tmp_path / ".crash.lock"),
        pytest.raises(FolderInUseError, match="another process is writing"),
    ):
        list(capture([PLAN], tmp_path))

    assert [folder] == list(tmp_path.iterdir())


def test_of_a_run_that_the_disk_has_no_room_for_nothing_is_left(tmp_path, monkeypatch):
    """The message names the folder; an earlier run of the number stays."""

    def write_half(run, folder, sizes):
        (folder / "meta.json").write_bytes(b"{")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_write_files", write_half)
    earlier = write_run(tmp_path, 1)

    with pytest.raises(MachineError, match="crash/run-1: the run cannot be written: No space"):
        write(SimpleNamespace(plan=PLAN), earlier, {})

    assert ["run-1", "scenario.json"] == sorted(path.name for path in earlier.parent.iterdir())
    assert (earlier / "summary.json").exists()


def test_quiet_runs_are_kept_before_noisy_ones_without_the_raw_segment(tmp_path, capsys):
    made, kept, experiments = tmp_path / "made", tmp_path / "kept", tmp_path / "experiments"
    experiments.mkdir()
    (experiments / "crash.toml").touch()
    (experiments / "pause.toml").touch()
    write_run(made, 1, noisy=True)
    write_run(made, 2, error="failed")
    write_run(made, 3)

    status = keep_captures.main(made, 1, experiments, kept)

    assert 1 == status  # there is no run of the other experiment
    assert ["run-3", "scenario.json"] == sorted(path.name for path in (kept / "crash").iterdir())
    names = {path.name for path in (kept / "crash" / "run-3").iterdir()}
    assert {"summary.json", "meta.json", "m1.1.jsonl.gz"} == names
    assert b"trace" == gzip.decompress((kept / "crash" / "run-3" / "m1.1.jsonl.gz").read_bytes())
    assert "1 of 2 experiments with fewer than 1 runs" in capsys.readouterr().out


def test_three_complete_runs_of_each_experiment_are_in_the_repository():
    """None of them failed, and each is of the experiment in whose folder it is."""
    names = sorted(path.stem for path in keep_captures.EXPERIMENTS.glob("*.toml"))
    kept = {name: keep_captures.usable_runs(keep_captures.KEPT / name) for name in names}

    assert dict.fromkeys(names, keep_captures.MAX) == {n: len(kept[n]) for n in names}
    for name, runs in kept.items():
        for run in runs:
            summary = json.loads((run.path / "summary.json").read_text())
            assert (name, run.number) == (summary["scenario"], summary["run"])


def test_noisy_runs_are_kept_if_there_are_no_others(tmp_path):
    for number, noisy in ((1, True), (2, False), (3, True)):
        write_run(tmp_path, number, noisy=noisy)

    chosen = keep_captures.chosen_of(keep_captures.usable_runs(tmp_path / PLAN.name), 2)

    assert [2, 1] == [run.number for run in chosen]
