"""The same work shared among processes, and the line that says how far it is."""

from __future__ import annotations

import io
import math
import multiprocessing
import operator
import os
import pickle
import sys

import pytest

from assignors.errors import PluginError
from emulator.cli import output
from emulator.cli.output import Progress
from emulator.conformance.captured.reading import CaptureError
from emulator.errors import RefusedError
from emulator.events import Event, GroupEmptied
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


def test_there_is_at_least_one_core():
    """By default all of them are used."""
    assert cores() >= 1


class Terminal(io.StringIO):
    """Something that people look at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Give a clock that tests move on."""
    now = [0.0]
    monkeypatch.setattr(output, "monotonic", lambda: now[0])
    return now


def test_long_work_is_shown_and_taken_away(monkeypatch, clock):
    """One line, written over; nothing of it is left."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with Progress("runs") as line:
        line.show(1, 100)
        clock[0] = 2.0
        line.show(50, 100)
        line.show(51, 100)

    shown = "runs: 50 of 100 (50%)"
    assert f"\r{shown}\r{'':{len(shown)}}\r" == terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch, clock):
    """A line that only flashes is noise."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with Progress("runs") as line:
        clock[0] = 0.9
        line.show(99, 100)

    assert "" == terminal.getvalue()


def test_progress_is_shown_on_terminals_only(monkeypatch, clock):
    """A log file needs no carriage returns."""
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)

    with Progress("runs") as line:
        clock[0] = 5.0
        line.show(99, 100)

    assert "" == log.getvalue()
    assert not line.seen


def test_simulated_time_is_watched_through_the_events(monkeypatch, clock):
    """A look now and then costs nothing."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    emptied = GroupEmptied(group="g", generation=1)

    with Progress("simulated seconds") as line:
        clock[0] = 5.0
        for number in range(output.EVENTS_BETWEEN_CHECKS):
            line.watch(Event(number, 30_000_000, None, emptied, number), 60_000_000)

    assert "simulated seconds: 30 of 60 (50%)" in terminal.getvalue()
