"""Studies on a real Spark: the same bytes as a loop, reported failures, and SQL that agrees."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from assignors.own_code import allow_plugins
from emulator.metrics.distribution import order_statistic
from emulator.spark import study_runs
from emulator.spark.errors import WorkerDiedError
from emulator.spark.study_runs import jobs_of, play_on_spark
from emulator.study import store
from emulator.study.attempts import ProcessDiedError
from emulator.study.running import _Rounds
from emulator.study.summary import read_results

from ..study.samples import OWN_ASSIGNOR, bytes_in, plan_of, study_of, tasks_of

pytestmark = pytest.mark.spark

DEADLY = """
import os, signal, sys
from assignors.types import FunctionAssignor


def make():
    def assign(topics, subscriptions):
        if any("pyspark" in word for word in sys.orig_argv):
            os.kill(os.getpid(), signal.SIGKILL)
        return dict.fromkeys(subscriptions, ())

    return FunctionAssignor("kills", assign)
"""


@pytest.fixture(scope="module")
def tasks():
    """Return the work of the small study, with events; four chunks are enough for a job."""
    return [replace(task, work_s=2.0) for task in tasks_of(plan_of(), events=True)]


@pytest.fixture(scope="module")
def played(session, tasks, tmp_path_factory):
    """Play the small study on Spark."""
    folder = tmp_path_factory.mktemp("played")
    done = list(play_on_spark(session, tasks, folder))
    return folder, done


@pytest.mark.long
def test_spark_writes_the_same_bytes_as_a_loop(played, tasks, tmp_path):
    """Runs, ledger entries and events."""
    folder, done = played

    for task in tasks:
        store.keep(task, tmp_path)

    assert bytes_in(tmp_path) == bytes_in(folder)
    assert {(task.chunk.cell, task.chunk.first) for task in tasks} == {
        (chunk.cell, chunk.first) for chunk in done
    }
    assert len(tasks) == len(done)


def test_quantiles_by_spark_sql_are_ours(session, played):
    """SQL over a study's rows gives the reported quantiles."""
    folder, _ = played
    (cell, _) = read_results(folder, plan_of())
    session.spark.read.parquet(str(folder / "runs")).createOrReplaceTempView("runs")

    (row,) = session.spark.sql(
        "select sort_array(collect_list(reprocessed)) as sorted, avg(reprocessed) as mean,"
        " percentile_disc(0.95) within group (order by reprocessed) as p95"
        " from runs where cell = 0 and error is null"
    ).collect()

    values = cell.values["reprocessed"]
    assert sorted(values) == row.sorted
    assert math.isclose(sum(values) / len(values), row.mean)
    assert order_statistic(values, 0.95) == row.p95


@pytest.mark.long
def test_entries_and_runs_agree_in_spark_sql(session, played):
    """The sum over causes is the total, run by run."""
    folder, _ = played
    for table in ("runs", "entries"):
        session.spark.read.parquet(str(folder / table)).createOrReplaceTempView(table)

    apart = session.spark.sql(
        "select r.cell, r.seed from runs r left join (select cell, seed, sum(count) as records"
        " from entries where kind = 'reprocessed' group by cell, seed) e"
        " on r.cell = e.cell and r.seed = e.seed where r.reprocessed <> coalesce(records, 0)"
    ).collect()

    assert [] == apart


def test_a_run_that_fails_in_a_worker_is_a_row(session, tasks, tmp_path):
    """The job goes on, and the others are there."""
    broken = replace(tasks[0], scenario=tasks[0].scenario.model_copy(update={"group": None}))

    done = list(play_on_spark(session, [broken, tasks[1]], tmp_path))

    first, second = read_results(tmp_path, plan_of())
    assert 2 == len(done)
    assert "TypeError" in first.error
    assert (1, 0) == (first.failed, second.failed)


def test_executors_need_no_folder(session, tasks, tmp_path, monkeypatch):
    """Their rows arrive before the driver creates it."""
    folder, existed = tmp_path / "out", []

    def write(task, into, tables):
        existed.append(folder.exists())
        store.receive(task, into, tables)

    monkeypatch.setattr(study_runs, "receive", write)

    list(play_on_spark(session, tasks[:2], folder))

    assert [False, True] == existed


@pytest.mark.long
def test_an_interrupted_study_keeps_the_chunks_that_were_received(session, tasks, tmp_path):
    """The jobs in progress are cancelled, and only the other chunks are run again."""
    chunks = play_on_spark(session, tasks, tmp_path)
    received = next(chunks)
    chunks.close()

    rest = [task for task in tasks if not store.is_done(tmp_path, task.chunk)]
    done = list(play_on_spark(session, rest, tmp_path))

    assert received not in done
    assert len(tasks) == 1 + len(done)


@pytest.mark.parametrize(
    ("work_s", "events", "cores", "sizes"),
    [
        (0.0, False, 2, [5]),
        (4.0, False, 2, [2, 2, 1]),
        (4.0, False, 4, [4, 1]),
        (36.0, False, 1, [1, 1, 1, 1, 1]),
        (36.0, False, 100, [5]),
        (36.0, True, 100, [2, 2, 1]),
    ],
)
def test_a_job_has_seconds_of_work_and_a_bounded_number_of_events(work_s, events, cores, sizes):
    """The driver holds the rows of two jobs."""
    tasks = [replace(task, work_s=work_s) for task in tasks_of(plan_of(), events=events)[:5]]

    assert sizes == [len(job) for job in jobs_of(tasks, cores)]


def deadly_tasks(tmp_path, monkeypatch):
    """Return the work of a study whose runs kill the Python process of an executor."""
    (tmp_path / "assignor_that_kills.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(tmp_path)
    allow_plugins("assignor_that_kills")
    spec = "group[billing].settings[partition.assignment.strategy]=assignor_that_kills:make"
    return tasks_of(plan_of(study_of(("seeds = 6", f'seeds = 6\nset = "{spec}"'))))


@pytest.mark.minutes
@pytest.mark.long
def test_a_run_that_kills_its_worker_stops_no_other_run(session, tmp_path, monkeypatch):
    """Its job is divided until it is known; after three deaths it is a row with an error."""
    deadly = deadly_tasks(tmp_path, monkeypatch)[0]
    rounds = _Rounds(plan_of(), tmp_path / "out", lambda *_: None, lambda _: None)

    def runner(tasks, folder):
        try:
            yield from play_on_spark(session, tasks, folder, folders=[tmp_path])
        except WorkerDiedError as error:
            raise ProcessDiedError(str(error)) from None

    done = list(rounds.run_tasks([deadly, *tasks_of(plan_of())[1:]], runner))

    first, second = read_results(tmp_path / "out", plan_of())
    assert 12 == len(done)
    assert (1, 0) == (first.failed, second.failed)
    assert first.error.startswith("KillsItsProcessError: its process died 3 times")


@pytest.mark.long
def test_a_killed_worker_is_reported_with_its_run(session, tmp_path, monkeypatch):
    """Spark continues with other workers."""
    (deadly, *_) = deadly_tasks(tmp_path, monkeypatch)
    (fine, *_) = tasks_of(plan_of())

    with pytest.raises(WorkerDiedError, match="perhaps memory ran out"):
        list(play_on_spark(session, [deadly], tmp_path / "one", folders=[tmp_path]))
    done = list(play_on_spark(session, [fine], tmp_path / "two"))

    assert deadly.chunk.first == store.seed_in_progress(tmp_path / "one", deadly.chunk)
    assert [fine.chunk] == done


@pytest.mark.long
def test_an_assignor_of_the_users_own_is_found_by_workers(session, tmp_path, monkeypatch):
    """It lies beside the scenario."""
    (tmp_path / "assignor_on_workers.py").write_text(OWN_ASSIGNOR)
    monkeypatch.syspath_prepend(tmp_path)
    allow_plugins("assignor_on_workers")
    spec = "group[billing].settings[partition.assignment.strategy]=assignor_on_workers:make"
    plan = plan_of(study_of(("seeds = 6", f'seeds = 2\nset = "{spec}"')))

    list(play_on_spark(session, tasks_of(plan), tmp_path / "out", folders=[tmp_path]))

    assert [0, 0] == [each.failed for each in read_results(tmp_path / "out", plan)]


def test_a_folder_that_cannot_be_written_ends_the_job(session, tasks, tmp_path):
    """The driver writes, so the error is that of its file system."""
    (tmp_path / "file").write_text("")

    with pytest.raises(NotADirectoryError):
        list(play_on_spark(session, tasks[:1], tmp_path / "file"))


def test_no_work_is_no_job(session, tmp_path):
    """A study that is done starts nothing."""
    assert [] == list(play_on_spark(session, [], tmp_path))
    assert study_of().seeds.count == 6
