"""Runs that kill their process: found by their notes, tried again, and reported by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from emulator.errors import RefusedError
from emulator.study import running, store
from emulator.study.attempts import (
    MAX_DEATHS,
    KillsItsProcessError,
    ProcessDiedError,
    attempts_at,
    interrupted_seed,
    path_of,
)
from emulator.study.running import _Rounds, run_study

from ..cli.commands import rebalance
from .samples import plan_of, tasks_of, written

DEADLY = """
import multiprocessing, os
from assignors.types import FunctionAssignor
from assignors.types import TopicPartition


def make():
    def assign(topics, subscriptions):
        if len(subscriptions) == 3 and multiprocessing.current_process().name != "MainProcess":
            os.kill(os.getpid(), 9)
        members = sorted(subscriptions)
        mine = dict.fromkeys(members, ())
        return {**mine, members[0]: (TopicPartition("orders", 0), TopicPartition("orders", 1))}

    return FunctionAssignor("deadly", assign)
"""
MEMBERS = '[[vary]]\nname = "members"\nset = "group[billing].members"\nvalues = [2, 3]\n'


@pytest.fixture
def task():
    """Return the first chunk of the small study."""
    return tasks_of(plan_of())[0]


def leave_behind(folder, chunk, text):
    """Let a process have died over a chunk."""
    path = path_of(store.path_of(folder, "runs", chunk))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_runs_in_progress_are_noted_and_removed(tmp_path):
    """Only SIGKILL leaves the note."""
    rows = tmp_path / "cell=0" / "seeds-0-6.parquet"

    with attempts_at(rows) as attempts:
        attempts.begin(4)
        there = interrupted_seed(rows)

    assert (4, None) == (there, interrupted_seed(rows))
    assert [] == list(tmp_path.rglob("*.at"))


def test_deaths_are_counted_over_attempts(tmp_path):
    """Each counts for the run that was at work."""
    rows = tmp_path / "seeds-0-6.parquet"
    path_of(rows).write_text("4\n2 1\n4 1")

    with attempts_at(rows) as attempts:
        attempts.begin(5)
        text = path_of(rows).read_text()

    assert ["5", "2 1", "4 2"] == [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("text", ["", "?", "4\n2", "4\nx y"])
def test_an_unreadable_note_counts_no_death(tmp_path, text):
    """It was being written when the process died."""
    rows = tmp_path / "seeds-0-6.parquet"
    path_of(rows).write_text(text)

    with attempts_at(rows) as attempts:
        attempts.begin(2)

        assert MAX_DEATHS > attempts.deaths[2]


def test_a_run_whose_process_died_three_times_is_not_begun(tmp_path):
    """The fourth time goes past it."""
    rows = tmp_path / "seeds-0-6.parquet"
    path_of(rows).write_text("4\n4 2")

    with attempts_at(rows) as attempts:
        attempts.begin(3)
        with pytest.raises(KillsItsProcessError, match="died 3 times"):
            attempts.begin(4)


def test_such_a_run_becomes_a_row_with_its_error(task, tmp_path):
    """The others of its chunk are played."""
    seed = task.chunk.first
    leave_behind(tmp_path, task.chunk, f"{seed}\n{seed} 2")

    failed = store.keep(task, tmp_path)

    (row,) = pq.ParquetFile(store.path_of(tmp_path, "runs", task.chunk)).read().to_pylist()
    assert 1 == failed == task.chunk.runs
    assert row["error"].startswith("KillsItsProcessError: its process died 3 times")


@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_command_leaves_nothing_behind(wish, tmp_path):
    """No run is the cause of an interruption or a closed terminal."""
    program = f"""
import os, signal
from pathlib import Path
from emulator.study.attempts import attempts_at
with attempts_at(Path({str(tmp_path / "seeds-0-1.parquet")!r})) as attempts:
    attempts.begin(0)
    os.kill(os.getpid(), {int(wish)})
"""
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False)

    assert -wish == done.returncode
    assert [] == list(tmp_path.iterdir())


def test_a_handler_that_was_there_is_called_once_nothing_is_left(tmp_path):
    """The command's own signal handler still runs."""
    rows, seen = tmp_path / "seeds-0-1.parquet", []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(interrupted_seed(rows)))
    try:
        with attempts_at(rows) as attempts:
            attempts.begin(0)
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert [None] == seen


def test_an_interruption_counts_against_no_run(tmp_path, monkeypatch):
    """The working processes were ended with the command."""
    chunk = tasks_of(plan_of())[0].chunk

    def broken_off(rounds, _engine):
        leave_behind(rounds.folder, chunk, "1")
        raise KeyboardInterrupt

    monkeypatch.setattr(running._Rounds, "run", broken_off)
    with pytest.raises(KeyboardInterrupt):
        run_study(written(tmp_path), tmp_path / "study", engine="pool", jobs=1)

    assert store.seed_in_progress(tmp_path / "study", chunk) is None


def rounds_in(folder):
    """Return the rounds of the small study, without reports of progress."""
    return _Rounds(plan_of(), folder, lambda *_: None, lambda _: None)


def test_a_run_in_progress_is_tried_again_alone(tmp_path):
    """So one that kills its process takes no other with it."""
    tasks, given = tasks_of(plan_of())[:3], []

    def player(some, folder):
        given.append(len(some))
        if len(given) == 1:
            leave_behind(folder, some[1].chunk, "1")
            raise ProcessDiedError("killed")
        for each in some:
            store.keep(each, folder)
            yield each.chunk

    done = list(rounds_in(tmp_path).run_tasks(tasks, player))

    assert [3, 1, 2] == given
    assert {task.chunk for task in tasks} == set(done)


def test_processes_that_keep_dying_are_reported_with_their_runs(tmp_path):
    """The study can resume later."""
    tasks = tasks_of(plan_of())[:1]

    def player(some, folder):
        leave_behind(folder, some[0].chunk, "0")
        raise ProcessDiedError("a process was killed")
        yield

    with pytest.raises(
        RefusedError, match=r"Last runs in progress: seed 0 in commit interval=500ms"
    ):
        list(rounds_in(tmp_path).run_tasks(tasks, player))


@pytest.mark.long
def test_a_run_that_kills_its_process_does_not_stop_the_others(tmp_path):
    """It is reported by its cell and seed, and the command ends with status 1."""
    (tmp_path / "deadly_assignor.py").write_text(DEADLY)
    deadly = 'set = "group[billing].settings[partition.assignment.strategy]=deadly_assignor:make"'
    one = ('values = ["500ms", "5s"]', 'values = ["5s"]')
    path = written(tmp_path, ("seeds = 6", f"seeds = 1\n{deadly}"), one, more=MEMBERS)

    status, out, _ = rebalance("study", path, "-o", tmp_path / "out", "--jobs", 2)

    screen = " ".join(out.split())
    assert 1 == status
    assert "1 run failed" in screen
    assert "1 in commit interval=5s, members=3, as-written, first with seed 0: Kills" in screen
    assert [] == list(tmp_path.rglob("*.at"))
