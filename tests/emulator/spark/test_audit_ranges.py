"""Audits on a real Spark: the same ledger as in one process, whatever the rows come from."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import emulator
from emulator.logs.audit.passes import InProcess, Terms, audit
from emulator.logs.audit.run_events import Played, RunEvents, audit_run
from emulator.logs.errors import AuditError
from emulator.spark.audit_ranges import OnSpark, event_rows, open_table
from emulator.spark.audit_tables import SparkTable

from ..logs.audit.logs import (
    EPOCH,
    SECOND,
    limits,
    records,
    source_of,
    write,
)

pytestmark = pytest.mark.spark

SKEWED = [
    *records(0, 900, "m1", 0),
    *records(850, 1000, "m2", 1000),
    *records(930, 940, "m3", 1100.05),
    *records(0, 50, "m1", 0, partition=1),
    *records(70, 90, "m2", 100, partition=2),
]
"""Nine of ten rows in one partition; a repeat, one of two at once, and a hole."""

TERMS = Terms(end_us=EPOCH + 1140 * SECOND, limits=limits(p0=1000, p1=50, p2=95, p3=7))


@pytest.mark.long
def test_spark_comes_to_the_ledger_of_one_process(session, tmp_path, monkeypatch):
    """From files with row groups of any size and rows in any order, at relative paths and absolute.

    Workers are in folders of their own.
    """
    write(tmp_path / "one.parquet", SKEWED[::2], 100)
    other = write(tmp_path / "other.parquet", SKEWED[1::2][::-1], 7)
    monkeypatch.chdir(tmp_path)
    source = source_of(Path("one.parquet"), other)

    expected = audit(InProcess(source, TERMS), TERMS)
    assert expected == audit(OnSpark(session, source, TERMS), TERMS)
    assert expected.counts.late
    assert [60, 0, 0, 0] == [part.reprocessed for part in expected.partitions]
    assert [0, 0, 70, 0] == [part.lost for part in expected.partitions]


@pytest.mark.long
def test_a_table_of_spark_comes_to_the_same_ledger(session, tmp_path):
    """Rows that pass through Spark's own reader, with names of columns of their own."""
    path = write(tmp_path / "log.parquet", SKEWED, 300)
    session.spark.read.parquet(str(path)).withColumnRenamed(
        "consumer", "who"
    ).createOrReplaceTempView("processed")
    table = SparkTable(("processed",), "table", {"consumer": "who"}, None)

    expected = audit(InProcess(source_of(path), TERMS), TERMS)
    assert expected == audit(OnSpark(session, open_table(session, table), TERMS), TERMS)


@pytest.mark.long
def test_events_of_a_run_in_a_table_of_spark_give_the_ledger_of_the_run(session, tmp_path):
    """Rows may come in any order; the driver sorts them, and one process reads them."""
    run = emulator.run(emulator.load("member-crashes"))
    pq.write_table(run.to_arrow(), tmp_path / "events.parquet")
    rows = session.spark.read.parquet(str(tmp_path / "events.parquet"))
    rows.orderBy(rows["row"].desc()).createOrReplaceTempView("events")
    opened = open_table(session, SparkTable(("events",), "table", {}, None))
    table = event_rows(opened)
    events = RunEvents("events", table.to_batches, table.num_rows)
    ledger = audit_run(events, Played(events, None), None)

    assert opened.mapped.events
    assert run.ledger.reprocessed == ledger.total("reprocessed") > 0
    assert run.ledger.by_cause() == ledger.by_cause()


def test_errors_of_a_log_arrive_unchanged(session, tmp_path):
    """In a task that reads, and in one that accounts."""
    path = write(tmp_path / "log.parquet", records(0, 20, "m1", 0))
    short = Terms(limits=limits(p0=12))
    backwards = [row._replace(start=row.end + 1) for row in records(0, 3, "m1", 0)]
    bad = write(tmp_path / "bad.parquet", backwards)

    with pytest.raises(
        AuditError, match="orders-0: offset 19 was processed, but the given end of its log is 12"
    ):
        audit(OnSpark(session, source_of(path), short), short)
    with pytest.raises(AuditError, match="times out of order"):
        audit(OnSpark(session, source_of(bad), Terms()), Terms())


@pytest.mark.parametrize(
    ("name", "format_", "said"),
    [
        ("nowhere", "table", "nowhere: cannot be read: .* cannot be found"),
        ("file:///nowhere.csv", None, "Path does not exist: file:/nowhere.csv"),
        ("nofs://logs/a.csv", None, 'scheme "nofs" .Spark has no file system for this address'),
    ],
)
def test_a_log_that_spark_cannot_reach_is_named(session, name, format_, said):
    """With what Spark says, without its trace, and what helps."""
    table = SparkTable((name,), format_, {}, None)

    with pytest.raises(AuditError, match=said) as refused:
        OnSpark(session, open_table(session, table), Terms())

    assert "\n" not in str(refused.value)
