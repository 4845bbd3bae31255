"""Partitions that are added to a topic: when the members of each client find them."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import RebalanceStarted
from emulator.scenario.load import loads

SCENARIO = """
title = "partitions are added, a member joins later"
run_for = "320s"
topic = [{{ name = "orders", partitions = 2, rate = "1/s" }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "10ms"
client = "{client}"
settings = {{ "auto.offset.reset" = "earliest" }}

[[group.member]]
name = "g-1"
start = "5s"

[[group.member]]
name = "late"
start = "90s"

[[act]]
add_partitions = "orders"
to = 4
at = "60s"
"""


def began_s(client: str) -> list[int]:
    """Return when rebalances began after the partitions had been added, in whole seconds."""
    run = emulator.run(loads(SCENARIO.format(client=client), "a test"), seed=1)
    found = [event for event in run.events if isinstance(event.what, RebalanceStarted)]
    return [event.at_us // 1_000_000 for event in found if event.at_us > 60_000_000]


@pytest.mark.plain_of(4)
@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("java", [90, 300]),
        ("aiokafka", [90, 300]),
        ("franz-go", [90, 300]),
        ("kafka-python", [90, 90]),
        ("librdkafka", [90, 300, 305]),
    ],
)
def test_when_members_rejoin_for_new_partitions(client: str, expected: list[int]):
    """The leader of kafka-python requests metadata beside each assignment and then joins again.

    That of librdkafka requests them before, and each of its members joins again when its own
    periodic metadata, at fixed steps from its start, show the new count. Others wait for the
    periodic metadata of their leader.
    """
    assert expected == began_s(client)
