"""The same scenario and seed give the same run, anywhere; what is added disturbs nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import Processed, values_of
from emulator.scenario.catalogue import names, path_of

from .stage import GROUP, TOPIC, staged

WIDE = """
title = "a bit of everything"
run_for = "24s"

[network]
latency = { exponential = "2ms" }
loss = 0.01

[[topic]]
name = "t"
partitions = 5
rate = { poisson = "8/s" }
retention = "20s"

[[topic]]
name = "t-new"
partitions = 3
created = "by act"
rate = { bursts = { rate = "20/s", for = "1s", every = "3s" } }

[[group]]
id = "g"
pattern = "t.*"
members = 4
work = { lognormal = { median = "5ms", p99 = "80ms" } }
commit = "async"
lateness = { exponential = "1ms" }
settings = { "partition.assignment.strategy" = "cooperative-sticky", "metadata.max.age.ms" = "4s" }

[[group]]
id = "h"
topics = ["t"]
members = 3
static = true
work = { pareto = { minimum = "1ms", alpha = 1.3, maximum = "1s" } }
settings = { "partition.assignment.strategy" = "sticky", "session.timeout.ms" = "6s" }

[[fault]]
crash = "g-1"
between = ["8s", "12s"]
restart_after = "3s"

[[fault]]
pause = "h-0"
at = "9s"
for = "8s"

[[fault]]
cut = ["clients", "broker-2"]
at = "19s"
for = "2s"

[[act]]
create_topic = "t-new"
at = "10s"

[[act]]
move_coordinator = "g"
at = "14s"
"""

PLAY = """
import sys
import emulator
from emulator.events import values_of
run = emulator.run(emulator.loads(sys.stdin.read()), 7)
print(run.digest, len(run.events), hash("anything"))
for event in run.events:
    print(event.at_us, event.cause, type(event.what).__name__, values_of(event.what))
print(sorted(run.ledger.by_cause().items()), run.metrics.values, sorted(run.metrics.without_value))
"""


@cache
def wide(seed):
    """Play the scenario that has something of everything."""
    return emulator.run(emulator.loads(WIDE), seed)


PLAY_SOME = """
import sys
import emulator
for path in sys.stdin.read().splitlines():
    run = emulator.run(path, 7)
    metrics = run.metrics
    print(run.digest, run.ledger.entries, metrics.values, sorted(metrics.without_value))
"""


def said_elsewhere(program, given, hash_seed, python=sys.executable):
    """Return what a program prints in another process."""
    done = subprocess.run(
        [python, "-c", program],
        input=given,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def elsewhere(text, hash_seed, python=sys.executable):
    """Play seed 7 of a scenario in another process; return all that came of it, line by line."""
    head, *lines = said_elsewhere(PLAY, text, hash_seed, python).splitlines()
    return head.split(), lines


def other_pythons():
    """Return the other versions of Python here that have the libraries: from OTHER_PYTHONS too."""
    named = os.environ.get("OTHER_PYTHONS", "").split(os.pathsep)
    found = [shutil.which(name) for name in (*named, "python3.12", "python3.13", "python3.14")]
    imports = ["-c", "import emulator.playing"]
    return [
        python
        for python in found
        if python
        and not subprocess.run([python, *imports], check=False, capture_output=True).returncode
    ]


@pytest.mark.long
def test_digest_events_and_figures_are_the_same_on_other_pythons():
    """Where they are installed with the libraries."""
    pythons = other_pythons()
    if not pythons:
        pytest.skip("OTHER_PYTHONS names no Python that has the libraries")
    here = elsewhere(WIDE, "1")
    for number, python in enumerate(pythons, start=2):
        (digest, count, _), lines = elsewhere(WIDE, str(number), python)

        assert here[0][:2] == [digest, count]
        assert here[1] == lines


@pytest.mark.long
def test_digest_events_and_figures_are_the_same_under_any_hash_seed():
    """Law 8: nothing depends on how sets and dictionaries of text happen to be laid out."""
    here = wide(7)
    (one, count, hashed), lines = elsewhere(WIDE, "1")
    (two, _, hashed_otherwise), lines_otherwise = elsewhere(WIDE, "2")

    assert hashed != hashed_otherwise
    assert here.digest == one == two
    assert len(here.events) == int(count)
    assert lines == lines_otherwise


@pytest.mark.long
def test_scenarios_of_the_catalogue_are_the_same_under_any_hash_seed():
    """One in 48 of them, all in one process for each hash seed."""
    some = "".join(f"{path_of(name)}\n" for name in names()[1::48])
    one, two = (said_elsewhere(PLAY_SOME, some, seed) for seed in ("1", "2"))

    assert one == two
    assert some.count("\n") == one.count("\n") > 3


@pytest.mark.long
def test_a_run_leaves_nothing_behind_that_the_next_one_sees():
    """The same again in one process, with another run in between."""
    first = wide(7)
    wide(8)
    again = emulator.run(emulator.loads(WIDE), 7)

    assert first.digest == again.digest
    assert first.events == again.events


@pytest.mark.long
def test_observers_change_nothing():
    """Keeping events, listening to them, or writing polls too: the digest is that of the run."""
    scenario = emulator.loads(WIDE)
    heard = []
    digests = {
        wide(7).digest,
        emulator.run(scenario, 7, keep_events=False, sink=heard.append).digest,
        emulator.run(scenario, 7, polls=True).digest,
    }

    assert 1 == len(digests)
    assert heard


def test_another_seed_is_another_run():
    """Everything random is drawn again."""
    assert 2 == len({wide(seed).digest for seed in (7, 8)})


# -- draws by address --------------------------------------------------------------------------

DRAWN = """partitions = 6
rate = { poisson = "3/s" }
"""
WORK = 'work = { exponential = "8ms" }\ncommit = "async per record"'
NETWORK = 'network = { latency = { exponential = "2ms" } }'

NEIGHBOURS = """
[[topic]]
name = "a"
partitions = 7
rate = { poisson = "3/s" }

[[group]]
id = "before"
topics = ["a"]
members = 3
work = { exponential = "3ms" }

[[fault]]
id = "other"
crash = "before-1"
between = ["7s", "9s"]
"""


def lengths(run):
    """Return how long each record was worked on, by its address."""
    return {
        (event.what.partition, event.what.first): event.at_us - event.what.began_us
        for event in run.all(Processed, group="g")
        if event.what.next_offset == event.what.first + 1
    }


def of_group(run):
    """Return what happened to group g and its members, without ids that only count events."""
    return [
        (event.at_us, type(event.what).__name__, values_of(event.what))
        for event in run.events
        if getattr(event.what, "group", "") == "g"
    ]


def test_another_group_with_its_topic_and_faults_changes_no_draw():
    """Its members, records and messages have numbers of their own: g runs as if alone."""
    alone = staged(run=NETWORK, topic=DRAWN, group=WORK)
    beside = staged(NEIGHBOURS, run=NETWORK, topic=DRAWN, group=WORK)

    assert of_group(alone) == of_group(beside)
    assert alone.log_ends.items() <= beside.log_ends.items()


def test_another_member_changes_who_works_and_not_how_long():
    """Arrivals and work belong to records, so a comparison of two group sizes is a paired one."""
    more = f'{WORK}\n[[group.member]]\nname = "fourth"\n'
    three, four = (staged(run=NETWORK, topic=DRAWN, group=group) for group in (WORK, more))
    shared = lengths(three).keys() & lengths(four).keys()

    assert three.log_ends == four.log_ends
    assert len(shared) > 150
    assert {key: lengths(three)[key] for key in shared} == {
        key: lengths(four)[key] for key in shared
    }


@pytest.mark.long
def test_more_partitions_leave_the_records_of_the_others_alone():
    """When they arrive, and what work they are."""
    few = staged(topic=DRAWN, group=WORK)
    many = staged(topic=DRAWN.replace("6", "8"), group=WORK)
    shared = lengths(few).keys() & lengths(many).keys()

    assert {tp: many.log_ends[tp] for tp in few.log_ends} == few.log_ends
    assert len(shared) > 150
    assert {key: lengths(few)[key] for key in shared} == {key: lengths(many)[key] for key in shared}


@pytest.mark.long
def test_the_protocol_changes_no_draw():
    """Eager and cooperative groups see the same records, works and latencies."""
    eager, cooperative = (
        staged(run=NETWORK, topic=DRAWN, group=WORK, strategy=strategy)
        for strategy in ("range", "cooperative-sticky")
    )
    shared = lengths(eager).keys() & lengths(cooperative).keys()

    assert eager.log_ends == cooperative.log_ends
    assert {key: lengths(eager)[key] for key in shared} == {
        key: lengths(cooperative)[key] for key in shared
    }


def test_a_fault_keeps_its_moment_when_another_is_added():
    """Its id is its address, not its place in the file."""
    mine = '[[fault]]\nid = "mine"\ncrash = "g-1"\nbetween = ["8s", "16s"]\n'
    other = '[[fault]]\nid = "other"\ncrash = "g-2"\nbetween = ["8s", "16s"]\n'
    alone, beside = (staged(text, topic=TOPIC, group=GROUP) for text in (mine, other + mine))

    assert alone.began_us("mine") == beside.began_us("mine") != beside.began_us("other")


def test_arrivals_are_the_ones_of_the_seed():
    """And of the partition."""
    ends = [staged(topic=DRAWN, seed=seed).log_ends for seed in range(3)]

    assert 3 == len({tuple(sorted(end.items())) for end in ends})
    assert ends[0][TopicPartition("t", 0)] != ends[0][TopicPartition("t", 1)]
