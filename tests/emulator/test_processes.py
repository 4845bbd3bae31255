"""The same work shared among processes."""

from __future__ import annotations

import math
import multiprocessing
import operator
import os
import pickle
import subprocess
import sys

import pytest

from assignors.errors import PluginError
from emulator.cli.progress import Progress
from emulator.conformance.captured.reading import CaptureError
from emulator.errors import RefusedError
from emulator.processes import cores, parallel_map
from emulator.scenario.problems import Problem, ScenarioError


def shared(work, jobs):
    return list(parallel_map(work, [1, 2, 3], jobs=jobs, progress=Progress("runs").show))


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_results_come_in_order(jobs):
    """However many processes there are."""
    assert [-1, -2, -3] == shared(operator.neg, jobs)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_of_one_task_comes_through(jobs):
    """It can be reported to the user like any other."""
    with pytest.raises(ValueError, match="math domain error"):
        list(parallel_map(math.sqrt, [1, -1], jobs=jobs, progress=Progress("runs").show))


@pytest.mark.parametrize(
    "refused",
    [
        ScenarioError("two", [Problem("", "not this one")]),
        CaptureError("run-1/meta.json", "not JSON", 3),
        PluginError("the assignor failed"),
    ],
)
def test_error_messages_survive_the_way_from_another_process(refused):
    """An exception is pickled there and restored here."""
    assert str(refused) == str(pickle.loads(pickle.dumps(refused)))


def test_a_killed_process_is_reported():
    """Memory may have run out; fewer processes may help."""
    with pytest.raises(RefusedError, match="Try fewer `jobs`"):
        shared(os._exit, 2)


def test_an_interrupt_ends_the_worker_processes():
    """Ctrl-C and SIGTERM end the processes that share the work, too."""
    results = parallel_map(operator.neg, [*range(50)], jobs=2, progress=Progress("runs").show)
    assert 0 == next(results)

    results.close()

    for child in multiprocessing.active_children():
        child.join(10)
    assert [] == multiprocessing.active_children()


def test_a_worker_ends_when_the_first_process_is_killed():
    """It would otherwise wait for its next task for ever."""
    code = (
        "import time; from emulator.processes import parallel_map; "
        "results = parallel_map(time.sleep, [0, 60], jobs=1, isolated=True); "
        "next(results); print('begun', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert b"begun\n" == running.stdout.readline()
        running.kill()

        assert (b"", None) == running.communicate(timeout=20)  # the end of all that write to it


def test_there_is_at_least_one_core():
    """By default all of them are used."""
    assert cores() >= 1
