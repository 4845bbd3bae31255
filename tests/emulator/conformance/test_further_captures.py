"""The further captured runs, three of each experiment: what one prediction without randomness meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.conformance.captured.capture import find_runs, read_capture, why_not_comparable
from emulator.conformance.verifying import verify_run

ROOT = Path(__file__).parents[3]
FURTHER = ROOT / "tests" / "captures-more"
LEDGER = ("duplicates", "lost")

OUTSIDE = {
    "close-consumer": (1,),
    "coordinator-kill-consumer": (1, 2),
    "coordinator-pause-consumer": (2,),
    "crash-librdkafka": (1, 2, 3),
    "migration": (1, 2, 3),
    "migration-back": (3, 4),
    "pattern-broker-consumer": (1,),
    "pattern-client-consumer": (3,),
    "pause-long-consumer": (1, 3),
    "poll-exceeded-consumer": (2,),
    "recreated-topic-classic": (1,),
    "slow-handler-kafka-python": (2,),
    "slow-listener-consumer": (2,),
    "static-return-consumer": (3,),
}
"""Runs of which some figure differs from the deterministic prediction, by experiment; most of them
lie within the spread of seeds. Also counted on docs/explanation/trust.md."""

RESUMED = "pause-long-consumer/run-1"
"""Its paused member gets its partitions back in two heartbeats; here in one, and it reads more again."""


NUMBERS = [1, *(pytest.param(number, marks=pytest.mark.soak) for number in (2, 3, 4))]
"""The long tests play the first run of each experiment, the soaks all of them."""


@pytest.mark.minutes
@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_one_prediction_meets_the_other_runs(number):
    """What is reprocessed and lost is inside in all of them but one."""
    verdicts = [verify_run(run, 0) for run in find_runs(FURTHER) if run.name == f"run-{number}"]
    outside = {each.capture for each in verdicts if each.outside}
    ledger = {
        each.capture
        for each in verdicts
        for figure in each.outside
        if figure.name.startswith(LEDGER)
    }

    assert verdicts
    assert outside == {f"{name}/run-{number}" for name in OUTSIDE if number in OUTSIDE[name]}
    assert ledger == {RESUMED} & outside


@pytest.mark.long
@pytest.mark.soak
def test_the_page_about_trust_counts_them():
    """All that can be compared, and those without a figure outside."""
    read = [why_not_comparable(read_capture(run)) for run in find_runs(FURTHER)]
    compared = read.count(None)
    inside = compared - sum(map(len, OUTSIDE.values()))
    page = " ".join((ROOT / "docs" / "explanation" / "trust.md").read_text("utf-8").split())

    assert f"of the {compared} that are compared" in page
    assert f"{inside} were inside in all figures" in page
