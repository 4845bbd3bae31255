"""Small random worlds, each held against all that can be said of any run."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.small_worlds import RENAMING, contents, spans
from emulator.scenario.problems import ScenarioError
from emulator.scenario.short_forms import COMMITS, TARGETS
from protocols.consumer.clients import CLIENTS, profile_of

from .both_ways import hold_whole_run
from .small_worlds import small_world

FOUND = (
    4139,
    501386,
    9381,
    9783,
    1002163,
    1001162,
    2003083,
    2020324,
    2021388,
    2022084,
    2657115,
    2663000,
    3011328,
    3050544,
    4381915,
    4446928,
    4615990,
)
"""Worlds that were wrong once.

In 4139 a member closes at the end of a record that takes no time; in 501386 a listener and its
application commit at the same time; in 9381 a client closes while its listener is called; in 9783 a
consumer reads by itself before its group is stable; in 1002163 an epoch begins on a deleted topic;
in 1001162 a heartbeat acknowledges an empty assignment while the client applies the next one;
in 2003083 aiokafka moves its position while the handler works on records of the partition;
in 2020324 a batch takes longer than the poll interval, and the run ends before its member is back;
in 2021388 a process ends whose worker has finished a record of its earlier epoch; in 2022084 a
heartbeat sent while a listener is called with new partitions gives them away; in 2657115 a member is
told to close while it is paused in a record that ends when it goes on; in 2663000
records that end a wait in poll are worked on for the whole poll interval; in 3011328 a backup is restored
after its topic was deleted; in 3050544 a process
with a pool of workers works on beside its replacement; in 4381915 and 4446928 the first epoch of a
partition that was added begins behind the deletion of its topic: nobody could have read what it passes;
in 4615990 a record fails for which the consumer seeks back, and its member closes in mid-batch.
"""


@pytest.mark.parametrize("seed", FOUND)
def test_a_world_that_was_wrong_is_right(seed):
    """Found by ``python -m benchmarks.small_worlds``."""
    hold_whole_run(small_world(seed), seed)


def hold_worlds(seeds: range) -> int:
    """Hold the worlds of some seeds; return how many of them are scenarios."""
    played = 0
    for seed in seeds:
        try:
            hold_whole_run(small_world(seed), seed)
        except ScenarioError:
            continue
        played += 1
    return played


def test_small_worlds_are_right_in_every_way():
    """Folded, exact and counted by hand."""
    assert hold_worlds(range(30)) > 25


def test_a_world_depends_on_its_seed_alone():
    """Not on the worlds drawn before: some change a commit policy that they drew."""
    seeds = range(2_622_500, 2_622_900)
    first = [json.dumps(small_world(seed)) for seed in seeds]

    assert first == [json.dumps(small_world(seed)) for seed in seeds]


@pytest.mark.long
@pytest.mark.soak
def test_many_small_worlds_are_right_in_every_way():
    """The same for more worlds."""
    assert hold_worlds(range(100, 200)) > 90


def test_every_fault_policy_client_and_protocol_is_drawn():
    """Among a thousand worlds there are some of each."""
    had = Counter[str]()
    for seed in range(1_000):
        had.update(contents(small_world(seed)))
    reads = {f"{name}, {call}" for name in CLIENTS for call in profile_of(name).reads}
    short = {f"commit: {name}" for name in COMMITS}
    wanted = {f"fault: {verb}" for verb in TARGETS} | {f"client: {each}" for each in reads} | short
    wanted |= {f"offsets: {place}" for place in ("kafka", "zookeeper", "database", "none")}
    wanted |= {f"protocol: {each}" for each in ("classic", "consumer", "both protocols")}
    wanted |= {f"handler: {each}" for each in ("serial", "batch", "listener", "workers")}
    wanted |= {f"new names: {verb}" for verb in RENAMING}

    assert set() == wanted - set(had)


def test_ranges_of_seeds_are_printed_together():
    """Adjacent thousands are one range."""
    assert ["0 to 1,999", "5,000 to 5,999"] == list(spans([0, 1_000, 5_000]))
