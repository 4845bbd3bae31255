"""Hints and changes for a poll interval that a deploy makes too short."""

from __future__ import annotations

import emulator
from emulator.advising import reported
from emulator.loading import load_text, text_of_scenario
from emulator.report.hints.given import hints_of

DEPLOY = """
title = "a deploy sets a short poll interval"
run_for = "4min"
[[topic]]
name = "orders"
partitions = 4
rate = "3/s"
backlog = 500
[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "40ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = "10s" }
[[act]]
rolling_restart = "billing"
at = "10s"
grace = "1s"
settings = { "max.poll.interval.ms" = "10s" }
"""


def test_the_interval_of_the_deploy_is_the_one_to_change():
    """500 records of 40 ms take 20 s: no single record is slow, and the group's own 5 min are enough."""
    loaded = load_text(text_of_scenario(emulator.loads(DEPLOY)), ())
    _, report = reported(loaded, 0, most=9)
    hints = {hint.id: hint.text for hint in hints_of(report)}
    changes = {each.id: each.overrides for each in report.proposals}

    assert "slow-record" not in hints
    assert "max.poll.interval.ms (10000 in a deploy)" in hints["poll-in-time"]
    assert "the interval is 10 s" in hints["poll-in-time"]
    assert changes["smaller-batches"] == ("group[billing].settings[max.poll.records]=200",)
    assert changes["longer-poll-interval"] == (
        "act[rolling_restart-1].settings[max.poll.interval.ms]=300000",
    )
