"""An audit of a run's events has the causes that the run itself found."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

import emulator
from emulator.events.parquet import EventFile
from emulator.ledger.entries import EntryKind
from emulator.loading import load_named


def write(run, path):
    with EventFile(path, {}) as file:
        for event in run.events:
            file.write(event)
    return path


@pytest.mark.parametrize(
    "name", ["member-crashes", "kip848-commit-ahead", "e7-workers-commit-the-highest"]
)
def test_an_audit_of_events_knows_the_causes_of_the_run(tmp_path, name):
    """As many records of each cause, reprocessed and lost, with its meaning; also of a pool of workers."""
    run = emulator.run(emulator.load(name))
    audit = emulator.audit(write(run, tmp_path / "events.parquet"))

    for kind in (EntryKind.REPROCESSED, EntryKind.LOST):
        assert run.ledger.by_cause(kind) == audit.ledger.by_cause(kind)
    assert Counter(run.ledger.by_cause()).total() > 0
    assert "do not show why" not in "\n".join(audit.lines())


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
