"""Studies on a real Spark: the same bytes as a loop, failures told, and SQL that agrees."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from emulator.metrics.distribution import order_statistic
from emulator.spark.errors import SparkError, WorkerDiedError
from emulator.spark.study_runs import play_on_spark
from emulator.study import store
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
    """Return the work of the small study, with events."""
    return tasks_of(plan_of(), events=True)


@pytest.fixture(scope="module")
def played(session, tasks, tmp_path_factory):
    """Play the small study on Spark."""
    folder = tmp_path_factory.mktemp("played")
    done = list(play_on_spark(session, tasks, folder))
    return folder, done


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
    """What we say of a study can be asked of its rows, and is the same."""
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


@pytest.mark.long
def test_a_worker_that_is_killed_is_told_with_the_run_it_had_in_hand(
    session, tmp_path, monkeypatch
):
    """And Spark goes on with others."""
    (tmp_path / "assignor_that_kills.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(tmp_path)
    spec = "group[billing].settings[partition.assignment.strategy]=assignor_that_kills:make"
    (deadly, *_) = tasks_of(plan_of(study_of(("seeds = 6", f'seeds = 6\nset = "{spec}"'))))
    (fine, *_) = tasks_of(plan_of())

    with pytest.raises(WorkerDiedError, match="perhaps memory ran out"):
        list(play_on_spark(session, [deadly], tmp_path / "one", folders=[tmp_path]))
    done = list(play_on_spark(session, [fine], tmp_path / "two"))

    assert deadly.chunk.first == store.seed_in_progress(tmp_path / "one", deadly.chunk)
    assert [fine.chunk] == done


def test_an_assignor_of_the_users_own_is_found_by_workers(session, tmp_path, monkeypatch):
    """It lies beside the scenario."""
    (tmp_path / "assignor_on_workers.py").write_text(OWN_ASSIGNOR)
    monkeypatch.syspath_prepend(tmp_path)
    spec = "group[billing].settings[partition.assignment.strategy]=assignor_on_workers:make"
    plan = plan_of(study_of(("seeds = 6", f'seeds = 2\nset = "{spec}"')))

    list(play_on_spark(session, tasks_of(plan), tmp_path / "out", folders=[tmp_path]))

    assert [0, 0] == [each.failed for each in read_results(tmp_path / "out", plan)]


def test_a_folder_that_cannot_be_written_ends_the_job(session, tasks, tmp_path):
    """With the reason in one line."""
    (tmp_path / "file").write_text("")

    with pytest.raises(SparkError, match=r"a task broke off: .*Not a directory"):
        list(play_on_spark(session, tasks[:1], tmp_path / "file"))


def test_no_work_is_no_job(session, tmp_path):
    """A study that is done starts nothing."""
    assert [] == list(play_on_spark(session, [], tmp_path))
    assert study_of().seeds.count == 6
