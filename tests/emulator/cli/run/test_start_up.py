"""``rebalance run`` starts quickly: the rooms a scenario does not need stay shut."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MAX_MODULES = 248
"""Of ours, at a run of a classic group: each takes about a millisecond to import."""

MAX_MODULES_OF_FAULTS = 4
"""Of ours, in addition, with the first fault."""

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
FAULT = '''
[[fault]]
crash = "billing-0"
at = "5s"
'''
for protocol, fault in (("classic", ""), ("classic", FAULT), ("consumer", "")):
    emulator.run(emulator.loads(SCENARIO.format(protocol) + fault), keep_events=False)
    print(json.dumps(sorted(sys.modules)))
import emulator.processes, emulator.report.screens.run
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded():
    """Return the modules after a classic group, a fault, KIP-848, and the screen of a run."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return tuple(frozenset(json.loads(line)) for line in result.stdout.splitlines())


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
    _, after_fault, after_consumer, _ = loaded

    assert room not in after_fault
    assert room in after_consumer


@pytest.mark.parametrize("room", ["emulator.world.faults.acts", "emulator.world.faults.targets"])
def test_faults_are_read_with_the_first_scenario_that_has_one(loaded, room):
    """A run without faults loads no script of a fault or act."""
    after_classic, after_fault, *_ = loaded

    assert room not in after_classic
    assert room in after_fault


@pytest.mark.parametrize(
    "room",
    [
        "emulator.report.pages",
        "emulator.report.traces",
        "emulator.run_pages",
        "emulator.tracing",
        "emulator.world.administrator",
        "jinja2",
        "emulator.world.cluster.offsets_log.compaction",
        "protocols.consumer.administration",
        "protocols.groups.classic.invariants",
        "protocols.offsets_topic.records.markers",
        "protocols.offsets_topic.segments.batch",
    ],
)
def test_a_plain_run_does_not_read_what_it_does_not_use(loaded, room):
    """Pages, traces, the admin client, compaction, the bytes of batches, checks of invariants."""
    for modules in loaded:
        assert room not in modules


@pytest.mark.parametrize("library", ["concurrent.futures", "multiprocessing", "rich"])
def test_the_screen_of_one_run_needs_neither_tables_nor_processes(loaded, library):
    """Rich draws the tables of other screens; several seeds need processes."""
    assert library not in loaded[-1]


def test_a_run_of_a_classic_group_loads_so_many_modules_and_no_more(loaded):
    """The number of modules, as times differ by machine."""
    classic, fault = map(_ours, loaded[:2])

    assert len(classic) <= MAX_MODULES
    assert len(fault - classic) <= MAX_MODULES_OF_FAULTS


def _ours(modules):
    return {
        name for name in modules if name.split(".")[0] in {"assignors", "emulator", "protocols"}
    }
