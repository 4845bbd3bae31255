"""A real Kafka: one run of each protocol is captured, counted and compared with the emulator."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from emulator.capturing.capturing import capture
from emulator.capturing.experiment import plan_of
from emulator.capturing.toolchain import MachineError, prepare
from emulator.conformance.captured.capture import read_capture
from emulator.conformance.figures import tolerances_of
from emulator.conformance.history.run import history
from emulator.conformance.observed import observe
from emulator.conformance.verifying import verify
from emulator.versions import KAFKA

pytestmark = pytest.mark.long

EXPERIMENTS = Path(__file__).parents[3] / "examples" / "experiments"
PROTOCOLS = ("crash-classic", "crash-consumer")
SEEDS = 60
ATTEMPTS = 3
"""On a busy machine a group may not have formed when its fault is due, or one delay that its noise does
not show moves a commit beyond the spread of the seeds; a wrong rule is outside each time."""

JVM_PROGRAMS = ("java", "javac", "mvn")


END_S = 30
"""How long an interrupted capture may take to end."""


@pytest.fixture(scope="module")
def machine():
    """Skip, with what is missing, on a machine that cannot capture."""
    missing = [program for program in JVM_PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"a capture needs {missing[0]}, which this machine has not")
    try:
        prepare(KAFKA)
    except MachineError as error:
        pytest.skip(f"Kafka's jars cannot be had here: {error}")


@pytest.fixture(scope="module")
def made(machine, tmp_path_factory):
    """Return a captured run of each protocol and its verdict, by experiment; all on one cluster."""
    plans = [plan_of(EXPERIMENTS / f"{name}.toml") for name in PROTOCOLS]
    found = {}
    for _ in range(ATTEMPTS):
        left = [plan for plan in plans if plan.name not in found or is_useless(*found[plan.name])]
        if left:
            runs = capture(left, tmp_path_factory.mktemp("runs"))
            found |= {run.path.parent.name: (run, verdict_on(run)) for run in runs}
    return found


def verdict_on(run):
    """Return what its spread of seeds says about a captured run."""
    (verdict,) = verify(run.path, SEEDS, jobs=1).verdicts
    return verdict


def is_useless(run, verdict):
    """Return whether a run failed, or was quiet and is outside."""
    return bool(run.error or (verdict.outside and not run.noisy))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_captured_crash_can_be_counted_and_verified(made, name):
    run, verdict = made[name]
    if run.error and run.noisy:
        pytest.skip(f"the machine was too busy {ATTEMPTS} times: {run.error}")
    assert run.error is None
    captured = read_capture(run.path)
    view = tolerances_of(captured).view
    summary = json.loads((run.path / "summary.json").read_text())
    counted = observe(history(captured), view)
    assert sum(counted.duplicates.values()) == summary["duplicates"]
    assert sum(counted.lost.values()) == summary["never_processed"] == 0
    assert summary["processed"] == summary["produced"] + summary["duplicates"] > 2_000
    assert verdict.skipped is None
    names = {figure.name for figure in verdict.figures}
    assert {"generations", "duplicates", "takeover_first_s", "records"} <= names
    if not run.noisy:
        outside = [(figure.name, figure.real, figure.emulated) for figure in verdict.outside]
        assert [] == outside


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("jobs", "interruption"), [(1, signal.SIGINT), (2, signal.SIGTERM)])
def test_an_interrupted_capture_leaves_no_process_and_no_folder(
    machine, tmp_path, jobs, interruption
):
    """It is interrupted when members of the first run are about to start; one broker is enough."""
    temporary, runs = tmp_path / "temporary", tmp_path / "runs"
    temporary.mkdir()
    experiment = tmp_path / "crash-classic.toml"
    text = (EXPERIMENTS / experiment.name).read_text(encoding="utf-8")
    few = text.replace("[cluster.settings]", "[cluster]\nbrokers = 1\n\n[cluster.settings]", 1)
    experiment.write_text(few, encoding="utf-8")
    command = [sys.executable, "-m", "emulator", "capture", str(experiment)]
    options = ["--runs", str(jobs), "--jobs", str(jobs), "-o", str(runs)]
    with subprocess.Popen(
        [*command, *options],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as capturing:
        assert any("members start" in line for line in capturing.stderr)
        begun = processes_in(temporary)
        capturing.send_signal(interruption)
        capturing.communicate(timeout=END_S)

    assert 2 * jobs <= len(begun)
    assert [] == processes_in(temporary)
    assert [] == list(temporary.iterdir())
    assert [] == list(runs.glob("*/run-*"))
    assert 128 + interruption == capturing.returncode


def processes_in(folder):
    """Return the ids of the processes whose command names a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder) in entry.read_text():
                found.append(int(entry.parent.name))
    return found
