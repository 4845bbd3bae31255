"""An audit of a run's events has the ledger of that run: its counts and its causes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import emulator
from emulator.events.parquet import EventFile
from emulator.ledger.entries import EntryKind
from emulator.loading import load_named
from emulator.playing import shared_assignors
from emulator.run_files import open_events

BROADCAST = Path(__file__).parents[4] / "examples" / "assignors" / "broadcast.toml"


def write(run, path):
    with EventFile(path, {}) as file:
        for event in run.events:
            file.write(event)
    return path


def entries_of(ledger):
    """Return all that is comparable of the reprocessed and lost ranges."""
    return [
        (each.id, each.topic, each.partition, each.first, each.last, each.count, each.cause)
        for kind in (EntryKind.REPROCESSED, EntryKind.LOST)
        for each in ledger.entries
        if each.kind is kind
    ]


def assert_equal_ledgers(run, audit):
    """Compare entries and totals."""
    assert entries_of(run.ledger) == entries_of(audit.ledger)
    totals = ("processed", "distinct", "reprocessed", "lost")
    assert [getattr(run.ledger, name) for name in totals] == list(map(audit.ledger.total, totals))


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    "name",
    [
        "member-crashes",
        "kip848-commit-ahead",
        "e7-workers-commit-the-highest",
        "topic-recreated",
        "workers-and-auto-commit",
        "aborted-transactions",
        "leader-acknowledges-alone",
    ],
)
def test_an_audit_of_events_knows_the_causes_of_the_run(tmp_path, name):
    """The same entries; also of a pool, of two topics of one name, gaps and truncated records."""
    run = emulator.run(emulator.load(name))
    audit = emulator.audit(write(run, tmp_path / "events.parquet"))

    assert_equal_ledgers(run, audit)
    assert run.ledger.entries or name == "aborted-transactions"
    assert "do not show why" not in "\n".join(audit.lines())
    assert ("truncated" in "\n".join(audit.lines())) == (run.ledger.truncated > 0)


def test_events_of_a_run_with_a_start_are_audited_at_times_of_day(tmp_path):
    """As its offsets log has them: causes are found, and a cut at a time of day leaves rows out."""
    loaded = load_named("member-crashes", ['start="2026-05-04T10:00:00Z"'])
    run, path = emulator.run(loaded.scenario), tmp_path / "events.parquet"
    with EventFile(path, {}, start=loaded.scenario.start) as file:
        for event in run.events:
            file.write(event)
    first = emulator.audit(path).ledger.entries[0]
    cut = datetime.fromtimestamp(first.second_at_us / 1_000_000 - 1, tz=UTC)

    assert str(first.cause) in run.ledger.by_cause(EntryKind.REPROCESSED)
    assert datetime(2026, 5, 4, 10, tzinfo=UTC) < cut < datetime(2026, 5, 4, 10, 30, tzinfo=UTC)
    assert emulator.audit(path, t_end=cut).ledger.entries == ()


TWO_GROUPS = """
title = "two groups read one topic"
run_for = "90s"
topic = [{ name = "orders", partitions = 2, rate = "10/s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 1
settings = { "auto.offset.reset" = "earliest" }
[[group]]
id = "shipping"
topics = ["orders"]
members = 1
settings = { "auto.offset.reset" = "earliest" }
[[fault]]
crash = "shipping-0"
at = "18s"
restart_after = "1s"
"""


def test_an_audit_counts_the_work_of_one_group(tmp_path):
    """What two groups process is no duplicate: one must be chosen, and it must be there."""
    run = emulator.run(emulator.loads(TWO_GROUPS))
    path = write(run, tmp_path / "events.parquet")
    again = emulator.audit(path, group="shipping")

    assert run.ledger.reprocessed == again.reprocessed > 0
    assert run.ledger.by_cause() == again.ledger.by_cause(EntryKind.REPROCESSED)
    assert "group shipping" in (page := again.page())
    assert "Timeline of group billing" not in page
    assert 0 == emulator.audit(path, group="billing").reprocessed
    with pytest.raises(emulator.EmulatorError, match='"shipping" process the same topic'):
        emulator.audit(path)
    with pytest.raises(emulator.EmulatorError, match='did you mean "shipping"'):
        emulator.audit(path, group="shiping")


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    """A run with duplicates, and the file of its events."""
    run = emulator.run(emulator.load("member-crashes"))
    return run, write(run, tmp_path_factory.mktemp("crash") / "events.parquet")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parts"])
def test_events_in_other_formats_are_read_alike(tmp_path, crash, form):
    """As CSV and JSON lines, to which tools convert them, and in several files."""
    run, path = crash
    table = pq.read_table(path)
    if form == "csv":
        pv.write_csv(table.cast(_plain(table.schema)), tmp_path / "events.csv")
    elif form == "jsonl":
        lines = map(json.dumps, table.to_pylist())
        (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    else:
        pq.write_table(table.slice(0, 100), tmp_path / "part-0.parquet")
        pq.write_table(table.slice(100), tmp_path / "part-1.parquet")

    assert_equal_ledgers(run, emulator.audit(tmp_path))


def _plain(schema):
    """Return a schema with text instead of dictionaries."""
    fields = [(each.name, pa.string() if each.name == "kind" else each.type) for each in schema]
    return pa.schema(fields)


def test_a_part_of_the_events_is_refused(tmp_path, crash):
    """Rows or columns that are missing would change the ledger; so would those of another run."""
    _, path = crash
    table = pq.read_table(path)

    def refusal(part, **options):
        pq.write_table(part, tmp_path / "part.parquet")
        with pytest.raises(emulator.EmulatorError) as refused:
            emulator.audit(tmp_path / "part.parquet", **options)
        return str(refused.value)

    assert "the row after row 9 is row 11" in refusal(
        pa.concat_tables([table.slice(0, 10), table.slice(11)])
    )
    assert "the first row is row 1 " in refusal(table.slice(1))
    assert "the end of the run is missing" in refusal(table.slice(0, 50))
    assert "of more than one run" in refusal(pa.concat_tables([table, table]))
    assert "without the column 'group'" in refusal(table.drop(["group"]))
    assert "whose columns are known" in refusal(table, columns={"end": "at_us"})


@pytest.mark.long
def test_events_name_the_assignors_that_share_partitions(tmp_path):
    """Each member of such a group is counted by itself, which the events alone do not show."""
    made = emulator.load(BROADCAST)
    run = emulator.run(made)
    path = tmp_path / "events.parquet"
    with open_events(path, made, run.seed, shared_assignors(made)) as file:
        for event in run.events:
            file.write(event)

    assert shared_assignors(made) == {"broadcast"}
    assert_equal_ledgers(run, emulator.audit(path))


def test_a_run_without_processing_has_an_empty_audit(tmp_path):
    """Its consumers were too slow or never stable; that is no mistake of the file."""
    made = emulator.loads(TWO_GROUPS.replace("members = 1", 'members = 1\nwork = "100s"'))
    audit = emulator.audit(write(emulator.run(made), tmp_path / "events.parquet"), group="billing")

    assert (0, 0, 0) == (audit.ledger.total("processed"), audit.reprocessed, audit.lost)
    assert "0 records were processed: none was reprocessed, none was lost." in list(audit.lines())


def test_offsets_that_the_events_hold_are_not_used(tmp_path, crash):
    """Which the report says; so the command for a real log can be tried with the events of a run."""
    run, path = crash
    ends = tmp_path / "ends.txt"
    ends.write_text("orders:0:9\n")
    audit = emulator.audit(path, ends=ends)

    assert_equal_ledgers(run, audit)
    assert "Not used: end offsets; the events of the run hold them." in list(audit.lines())
