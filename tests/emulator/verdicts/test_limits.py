"""A verdict about a removed member names the setting by which it was removed."""

from __future__ import annotations

import pytest

import emulator
from emulator.verdicts.facts import (
    POLL_TOO_LATE,
    GroupEnd,
    Repeated,
    session_settings,
    with_limits,
)
from emulator.verdicts.verdict import VerdictId

KILL = """
title = "a kill in a batch"
run_for = "150s"
topic = [{ name = "orders", partitions = 4, rate = "20/s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "50ms"
settings = { "auto.offset.reset" = "earliest", "group.protocol" = "PROTOCOL" }

[[act]]
close = "billing-0"
at = "30s"
grace = "1ms"
"""


@pytest.mark.parametrize(
    ("protocol", "setting"),
    [("classic", "session.timeout.ms"), ("consumer", "group.consumer.session.timeout.ms")],
)
def test_an_expired_session_names_the_setting_of_its_protocol(protocol, setting):
    """That of the brokers with the consumer protocol."""
    scenario = emulator.loads(KILL.replace("PROTOCOL", protocol))
    run = emulator.run(scenario, 0)
    (killed,) = [each for each in run.verdicts if each.id is VerdictId.KILLED_IN_GROUP]

    assert killed.sentence.endswith(f": session expired ({setting})")


def test_an_end_before_the_session_expires_names_it_too():
    """It is what the run has to last beyond."""
    run = emulator.run(
        emulator.loads(KILL.replace("PROTOCOL", "classic").replace("150s", "40s")), 0
    )
    (running,) = [each for each in run.verdicts if each.id is VerdictId.SESSION_RUNNING]

    assert running.sentence.endswith("yet (session.timeout.ms)")


def test_each_reason_has_its_setting_once():
    """Members of both protocols in one group go by different ones; unknown reasons have none."""
    group = GroupEnd(group="billing", by_heartbeat=frozenset({"new"}))
    removed = [
        Repeated("old", "session expired", 3),
        Repeated("new", "session expired", 2),
        Repeated("other", "session expired", 2),
        Repeated("old", POLL_TOO_LATE, 1),
        Repeated("old", "asked to", 1),
    ]

    assert with_limits(group, removed) == [
        "session expired (session.timeout.ms)",
        "session expired (group.consumer.session.timeout.ms)",
        f"{POLL_TOO_LATE} (max.poll.interval.ms)",
        "asked to",
    ]
    assert session_settings(group, ["old", "new"]) == [
        "session.timeout.ms",
        "group.consumer.session.timeout.ms",
    ]
