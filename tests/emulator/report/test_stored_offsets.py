"""Offsets that an application stores and nothing commits: the heading, a hint and a trial say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import ScenarioText, load_text
from emulator.report.hints.given import hints_of
from emulator.report.subject import in_force

STORED = """
title = "offsets are stored"
run_for = "60s"
topic = [{ name = "orders", partitions = 4, rate = "10/s" }]

[[group]]
id = "billing"
client = "librdkafka"
topics = ["orders"]
members = 2
work = "5ms"
commit = "store"
settings = { "auto.offset.reset" = "earliest", "enable.auto.commit" = false }
"""

DEPLOY = '\n[[act]]\nrolling_restart = "billing"\nat = "20s"\n'


def test_it_is_said_before_anything_is_reprocessed():
    """A quiet run shows no damage: the next restart does."""
    text = STORED.replace("librdkafka", "librdkafka")
    _, report = reported(load_text(ScenarioText("stored", "stored", text, Path())), 0)

    assert report.ledger.reprocessed == 0
    assert ["commit-stored-offsets"] == [hint.id for hint in hints_of(report)]
    assert "no commits (enable.auto.commit=false)" in in_force(report.subject.groups[0])


@pytest.mark.long
def test_with_a_restart_the_hint_ends_the_duplicates():
    """It is the first hint, and the change that is tried first."""
    scenario = emulator.loads(STORED.replace("librdkafka", "librdkafka") + DEPLOY)
    advice = emulator.advise(scenario, 1, jobs=1)
    trial = advice.trials[0]

    assert "commit-stored-offsets" == advice.hints[0].id == trial.proposal.id
    assert ("enable.auto.commit=true",) == trial.proposal.settings
    assert (800, 0) == trial.means("reprocessed")


@pytest.mark.parametrize("commit", ["auto", "store"])
def test_with_automatic_commits_nothing_is_missing(commit):
    """What is stored is committed at the interval."""
    text = STORED.replace("librdkafka", "librdkafka").replace('"store"', f'"{commit}"')
    text = text.replace(', "enable.auto.commit" = false', "")
    _, report = reported(load_text(ScenarioText("stored", "stored", text, Path())), 0)

    assert "commit-stored-offsets" not in {hint.id for hint in hints_of(report)}
    assert "auto commit every 5s" in in_force(report.subject.groups[0])
