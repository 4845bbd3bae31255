"""A position that retention has overtaken was committed: explanation and hints do not say otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.advising import reported
from emulator.ledger.entries import EntryKind
from emulator.loading import ScenarioText, load_text
from emulator.report.hints.advice import reason_of
from emulator.report.hints.given import case_of, hints_of, ranked

TEXT = """
title = "retention overtakes"
run_for = "90s"
topic = [{ name = "orders", partitions = 1, rate = "10/s", retention = "10s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 1
settings = { "auto.offset.reset" = "%s" }
[[act]]
close = "billing-0"
at = "20s"
restart_after = "50s"
"""


@pytest.mark.parametrize("reset", ["latest", "by_duration:PT5S"])
def test_a_reset_from_outside_the_log_names_retention_and_no_missing_offset(reset):
    """The offset of the close was committed; retention deleted the records behind it."""
    loaded = load_text(ScenarioText("outside", "outside", TEXT % reset, Path()))
    report = reported(loaded, 0)[1]
    (entries,) = ranked(report.ledger, EntryKind.LOST)
    hints = {hint.id: hint.text for hint in hints_of(report)}

    assert reason_of(case_of(report, entries)).startswith("The position was outside the log")
    assert "without a committed offset" not in hints["reset-to-earliest"]
    assert "retention.ms of the topic" in hints["longer-retention"]
