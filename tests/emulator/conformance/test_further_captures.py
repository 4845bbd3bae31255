"""The further captured runs, three of each experiment: what one prediction without randomness meets."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import find_runs
from emulator.conformance.verifying import verify_run

ROOT = Path(__file__).parents[3]
FURTHER = ROOT / "tests" / "captures-more"
LEDGER = ("duplicates", "lost")

OUTSIDE = {
    "close-consumer": (1,),
    "coordinator-kill-consumer": (1, 2),
    "coordinator-pause-consumer": (2,),
    "crash-kafka-python": (1, 2),
    "crash-librdkafka": (1, 2, 3),
    "migration": (1, 2, 3),
    "migration-back": (3, 4),
    "pattern-broker-consumer": (1,),
    "pattern-client-consumer": (3,),
    "pause-long-consumer": (1, 3),
    "poll-exceeded-consumer": (2,),
    "recreated-topic-classic": (1,),
    "slow-listener-consumer": (2,),
    "static-return-consumer": (3,),
}
"""Runs of which some figure differs from the deterministic prediction, by experiment; most of them
lie within the spread of seeds. Also counted on docs/explanation/trust.md."""

RESUMED = "pause-long-consumer/run-1"
"""Its paused member gets its partitions back in two heartbeats; here in one, and it reads more again."""


@pytest.mark.long
def test_one_prediction_meets_the_runs_that_the_page_about_trust_counts():
    """What is reprocessed and lost is inside in all of them but one."""
    verdicts = [verify_run(run, 0) for run in find_runs(FURTHER)]
    outside = defaultdict(tuple)
    for verdict in verdicts:
        if verdict.outside:
            experiment, run = verdict.capture.split("/")
            outside[experiment] += (int(run.removeprefix("run-")),)
    compared = sum(not verdict.skipped for verdict in verdicts)
    inside = compared - sum(map(len, outside.values()))

    assert {RESUMED} == {
        each.capture
        for each in verdicts
        for figure in each.outside
        if figure.name.startswith(LEDGER)
    }
    assert outside == OUTSIDE
    page = " ".join((ROOT / "docs" / "explanation" / "trust.md").read_text("utf-8").split())
    assert f"of the {compared} that are compared" in page
    assert f"{inside} were inside in all figures" in page
