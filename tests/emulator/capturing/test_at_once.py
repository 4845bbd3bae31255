"""Several processes capture at a time: results, errors, and what an end leaves."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from emulator.capturing.at_once import capture_at_once
from emulator.capturing.capturing import Todo, layout_of, shares_of
from emulator.capturing.experiment import plan_of
from emulator.capturing.live import Made
from emulator.capturing.toolchain import MachineError

EXPERIMENTS = Path(__file__).parents[3] / "examples" / "experiments"


def work(share, say):
    """Make a run for each name; a name can be an order."""
    for name in share:
        if name == "fail":
            raise MachineError("no memory")
        if name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if name.startswith("wait in "):
            wait_in(Path(name.removeprefix("wait in ")))
        say(f"{name} begins")
        yield Made(path=Path(name))


def wait_in(folder):
    """Wait for long, with a file that is removed whatever ends the wait."""
    file = folder / "temporary"
    try:
        file.touch()
        time.sleep(60)
    finally:
        file.unlink(missing_ok=True)


@pytest.mark.long
def test_what_each_process_makes_arrives_with_its_progress():
    said = []
    made = capture_at_once(work, [["a", "b"], ["c"]], said.append)
    assert {"a", "b", "c"} == {str(run.path) for run in made}
    assert {"a begins", "b begins", "c begins"} == set(said)


@pytest.mark.long
@pytest.mark.parametrize(
    ("order", "told"), [("fail", "no memory"), ("die", "ended with status -9")]
)
def test_an_error_in_one_process_ends_the_others_in_good_order(tmp_path, order, told):
    def wait_for_the_other(_):
        while not (tmp_path / "temporary").exists():
            time.sleep(0.01)

    shares = [["begin", order], [f"wait in {tmp_path}"]]
    with pytest.raises(MachineError, match=told):
        list(capture_at_once(work, shares, wait_for_the_other))
    assert [] == list(tmp_path.iterdir())


def test_runs_are_dealt_evenly_and_runs_of_one_cluster_follow_one_another():
    plans = [plan_of(path) for path in sorted(EXPERIMENTS.glob("*.toml"))]
    runs = [Todo(plan, number) for number in (1, 2) for plan in plans]
    shares = shares_of(runs, 2)

    assert Counter(map(repr, runs)) == Counter(repr(todo) for share in shares for todo in share)
    assert 1 >= abs(len(shares[0]) - len(shares[1]))
    for share in shares:
        layouts = [layout_of(todo.plan) for todo in share]
        changes = sum(one != other for one, other in pairwise(layouts))
        assert changes == len(set(layouts)) - 1
    assert [[runs[0]]] == shares_of(runs[:1], 4)
    assert [] == shares_of([], 4)
