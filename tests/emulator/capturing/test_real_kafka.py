"""A real Kafka: one run of each protocol is captured, counted and compared with the emulator."""

from __future__ import annotations

import json
import shutil
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

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("real Kafka")]

EXPERIMENTS = Path(__file__).parents[3] / "examples" / "experiments"
PROTOCOLS = ("crash-classic", "crash-consumer")
ATTEMPTS = 3
"""On a busy machine a group may not have formed when its fault is due."""

JVM_PROGRAMS = ("java", "javac", "mvn")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return one captured run of each protocol, by experiment; both on one cluster."""
    missing = [program for program in JVM_PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"a capture needs {missing[0]}, which this machine has not")
    try:
        prepare(KAFKA)
    except MachineError as error:
        pytest.skip(f"Kafka's jars cannot be had here: {error}")
    plans = [plan_of(EXPERIMENTS / f"{name}.toml") for name in PROTOCOLS]
    runs = {}
    for _ in range(ATTEMPTS):
        left = [plan for plan in plans if plan.name not in runs or runs[plan.name].error]
        if left:
            found = capture(left, tmp_path_factory.mktemp("runs"))
            runs |= {run.path.parent.name: run for run in found}
    return runs


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_captured_crash_can_be_counted_and_verified(made, name):
    run = made[name]
    assert run.error is None
    captured = read_capture(run.path)
    view = tolerances_of(captured).view
    summary = json.loads((run.path / "summary.json").read_text())
    counted = observe(history(captured), view)
    assert sum(counted.duplicates.values()) == summary["duplicates"]
    assert sum(counted.lost.values()) == summary["never_processed"] == 0
    assert summary["processed"] == summary["produced"] + summary["duplicates"] > 2_000
    (verdict,) = verify(run.path, 60, jobs=1).verdicts
    assert verdict.skipped is None
    names = {figure.name for figure in verdict.figures}
    assert {"generations", "duplicates", "takeover_first_s", "records"} <= names
    if not run.noisy:
        assert [figure.name for figure in verdict.outside] == []
