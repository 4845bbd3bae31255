"""``rebalance run`` starts quickly: the rooms a scenario does not need stay shut."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from protocols.coordinator.durability import CONSUMER_RECORDS
from protocols.groups.kip848.replay import RULES

MOST_MODULES = 190
"""Of ours, at a run of a classic group: each takes about a millisecond to import."""

PROGRAM = """
import json, sys
import emulator.cli.main, emulator.cli.run
import emulator

SCENARIO = '''
title = "a moment"
run_for = "20s"
[[topic]]
name = "orders"
rate = "1/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 1
settings = {{ "group.protocol" = "{}" }}
'''
for protocol in ("classic", "consumer"):
    emulator.run(emulator.loads(SCENARIO.format(protocol)), keep_events=False)
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded():
    """Return which modules there are after a classic group, and then after one of KIP-848."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    classic, consumer = map(json.loads, told.stdout.splitlines())
    return frozenset(classic), frozenset(consumer)


@pytest.mark.parametrize(
    "room",
    [
        "assignors.server_input",
        "assignors.server_uniform",
        "emulator.world.consumer.async_client",
        "protocols.consumer.kip848.machine",
        "protocols.groups.kip848.group",
        "protocols.groups.kip848.shard",
        "protocols.groups.migration.requests",
        "protocols.offsets_topic.records.consumer",
        "re2",
    ],
)
def test_the_consumer_protocol_is_read_with_the_first_group_that_uses_it(loaded, room):
    """A run of classic groups loads no rule of KIP-848; a run of a group of that protocol does."""
    after_classic, after_consumer = loaded

    assert room not in after_classic
    assert room in after_consumer


def test_a_run_of_a_classic_group_loads_so_many_modules_and_no_more(loaded):
    """What is added to every start is noticed: count modules, as times differ by machine."""
    after_classic, _ = loaded
    ours = {
        name
        for name in after_classic
        if name.split(".")[0] in {"assignors", "emulator", "protocols"}
    }

    assert len(ours) <= MOST_MODULES


def test_records_of_consumer_groups_are_known_by_number_without_their_rules():
    """The types that a load hands to KIP-848 are those that it has rules for."""
    assert frozenset(RULES) == CONSUMER_RECORDS
