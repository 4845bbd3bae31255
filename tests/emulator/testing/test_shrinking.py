"""The smallest scenario that still fails."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.testing.shrinking import smallest

LARGE = """
title = "large"
description = "much of it does not matter"
run_for = "10min"
seed = 7
network = { latency = "3ms" }
topic = [
    { name = "orders", partitions = 12, rate = "20/s" },
    { name = "bills", partitions = 3, rate = "1/s" },
]
fault = [
    { crash = "billing-3", at = "14s" },
    { pause = "billing-0", at = "20s", for = "1s" },
    { crash = "billing-1", at = "30s" },
]

[[group]]
id = "billing"
topics = ["orders"]
members = 4
work = "3ms"
settings = { "session.timeout.ms" = "6s", "auto.offset.reset" = "earliest" }

[[group]]
id = "archive"
topics = ["bills"]
members = 2

[expect]
lost = 0
"""


def shrunk(fails, *, limit_s=20.0):
    """Return the smallest scenario, and what the search says of it."""
    found = smallest(
        emulator.loads(LARGE),
        7,
        fails,
        folder=Path(),
        limit_s=limit_s,
        expect={"reprocessed": "<= 5"},
    )
    return emulator.loads(found.text), found


def test_only_what_the_failure_needs_is_left():
    """Here: a crash of billing-1, a setting, four partitions and a minute; any seed."""

    def fails(scenario, _):
        settings = scenario.group[0].settings
        return (
            any(fault.verb == "crash" and fault.member == "billing-1" for fault in scenario.fault)
            and settings.get("session.timeout.ms") == 6_000
            and scenario.topic[0].partitions >= 4
            and scenario.run_for > 60_000_000
        )

    scenario, found = shrunk(fails)

    assert found.complete
    assert found.seed == scenario.seed == 0
    assert [fault.id for fault in scenario.fault] == ["crash-2"]
    assert [group.id for group in scenario.group] == ["billing"]
    assert dict(scenario.group[0].settings) == {"session.timeout.ms": 6_000}
    assert [member.name for member in scenario.group[0].members] == ["billing-0", "billing-1"]
    assert [(topic.name, topic.partitions) for topic in scenario.topic] == [("orders", 4)]
    assert 60_000_000 < scenario.run_for <= 75_000_000
    assert list(scenario.expect) == ["reprocessed"]


@pytest.mark.long
def test_a_scenario_that_cannot_be_reduced_stays():
    """With its seed."""
    whole = emulator.loads(LARGE)

    def fails(scenario, seed):
        return seed == 7 and (scenario.group, scenario.topic, scenario.fault) == (
            whole.group,
            whole.topic,
            whole.fault,
        )

    scenario, found = shrunk(fails)

    assert found.seed == 7
    assert scenario.group == whole.group
    assert scenario.fault == whole.fault


def test_the_search_ends_at_its_time_limit():
    """What was found until then is returned, and it says so."""
    played = []

    def fails(scenario, _):
        played.append(scenario)
        return True

    _, found = shrunk(fails, limit_s=0.0)

    assert not found.complete
    assert played == []


WIDE = """
title = "a crash of the last of eight"
topic = [{ name = "orders", partitions = 24, rate = "20/s" }]
fault = [
    { crash = "billing-7", at = "14s" },
    { cut = ["billing-6", "brokers"], at = "40s", for = "1s" },
]

[[group]]
id = "billing"
topics = ["orders"]
members = 8
work = "3ms"
"""


def test_members_and_partitions_shrink_together_though_a_fault_names_the_last_member():
    """It happens to the last one that is left; a failure needs two of twelve partitions each."""
    played = []

    def fails(scenario, _):
        members, partitions = len(scenario.group[0].members), scenario.topic[0].partitions
        played.append(members * partitions)
        crashes = any(fault.verb == "crash" for fault in scenario.fault)
        return crashes and members >= 2 and partitions >= 3 * members

    found = smallest(
        emulator.loads(WIDE), 0, fails, folder=Path(), limit_s=20.0, expect={"lost": "0"}
    )
    scenario = emulator.loads(found.text)
    (group,), (topic,), (fault,) = scenario.group, scenario.topic, scenario.fault

    assert found.complete
    assert (2, 6) == (len(group.members), topic.partitions)
    assert ("crash", "billing-1") == (fault.verb, fault.member)
    assert max(played) < 8 * 24 / 2  # no run is as dear as the whole scenario
    assert len(played) <= found.tried  # some contradict themselves
