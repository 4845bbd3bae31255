"""An audit of a run's events has the causes that the run itself found."""

from __future__ import annotations

from collections import Counter

import pytest

import emulator
from emulator.events.parquet import EventFile
from emulator.ledger.entries import EntryKind


@pytest.mark.parametrize("name", ["member-crashes", "kip848-commit-ahead"])
def test_an_audit_of_events_knows_the_causes_of_the_run(tmp_path, name):
    """As many records of each cause, reprocessed and lost, with its meaning."""
    run = emulator.run(emulator.load(name))
    path = tmp_path / "events.parquet"
    with EventFile(path, {}) as file:
        for event in run.events:
            file.write(event)
    audit = emulator.audit(path)

    for kind in (EntryKind.REPROCESSED, EntryKind.LOST):
        assert run.ledger.by_cause(kind) == audit.ledger.by_cause(kind)
    assert Counter(run.ledger.by_cause()).total() > 0
    assert "do not show why" not in "\n".join(audit.lines())
