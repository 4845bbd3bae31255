"""Runs of groups of the consumer protocol, played by arithmetic against played event by event."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from emulator.scenario.load import loads
from emulator.world.build import play

from ..brute_force.consumer_worlds import DISTURBED_BY_EPOCHS
from ..brute_force.test_brute_force import seeds, unhurried
from .test_folding import hold_equal, played

TEXT = """
title = "calm"
run_for = "11s"
lag_every = "10s"
[[topic]]
name = "t"
partitions = {partitions}
{topic}
[[group]]
id = "g"
topics = ["t"]
members = 2
{group}
[group.settings]
"group.protocol" = "consumer"
"auto.offset.reset" = "earliest"
{settings}
[cluster.settings]
"group.consumer.min.session.timeout.ms" = "6s"
"group.consumer.session.timeout.ms" = "6s"
{more}
"""
CALM = {
    "partitions": "3",
    "topic": 'rate = "4/s"',
    "group": 'work = "2ms"',
    "settings": "",
    "more": "",
}


def text(**parts: str) -> str:
    """A calm group of two; *parts* stand in for parts of it."""
    return TEXT.format(**{**CALM, **parts})


def hold_text_equal(scenario: str, seed: int) -> None:
    """Assert that both ways write the same events."""
    quick, digest = played(loads(scenario), seed, folding=True)
    slow, slow_digest = played(loads(scenario), seed, folding=False)

    assert slow == quick
    assert slow_digest == digest


DISTURBANCES = {
    "nothing": "",
    "crash": '[[fault]]\ncrash = "g-1"\nat = "7012ms"\nrestart_after = "1s"',
    "close": '[[fault]]\nclose = "g-1"\nat = "7012ms"\nmid_batch = true\nrestart_after = "1s"',
    "pause": '[[fault]]\npause = "g-0"\nat = "7012ms"\nfor = "3s"',
    "hang": '[[fault]]\nhang = "g-0"\nat = "7012ms"\nfor = "2s"',
    "deploy": '[[act]]\nrolling_restart = "g"\nat = "7s"\ngap = "1s"',
    "broker crash": '[[fault]]\ncrash_broker = "broker-2"\nat = "7s"\nrestart_after = "2s"',
    "broker pause": '[[fault]]\npause_broker = "broker-2"\nat = "7s"\nfor = "2s"',
    "slow disk": '[[fault]]\nslow_disk = "broker-2"\nby = "30ms"\nat = "7s"\nfor = "2s"',
    "cut": '[[fault]]\ncut = ["g-0", "brokers"]\nat = "7s"\nfor = "2s"',
    "new partitions": '[[act]]\nadd_partitions = "t"\nto = 6\nat = "7s"',
    "deleted topic": '[[act]]\ndelete_topic = "t"\nat = "7s"',
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("more", DISTURBANCES.values(), ids=DISTURBANCES)
def test_a_disturbance_finds_a_folded_member_where_it_would_be(more):
    """Whatever happens to a process, its brokers or its topic, all it did before is the same."""
    hold_text_equal(text(more=more), 1)


KINDS = {
    "static": {"group": 'work = "2ms"\nstatic = true', "more": DISTURBANCES["crash"]},
    "no commits": {"group": 'commit = "none"'},
    "manual commits": {"group": 'commit = "sync"'},
    "slow handler": {"group": 'work = { exponential = "150ms" }'},
    "short polls": {"group": 'poll_timeout = "7ms"'},
    "late timers": {"group": 'lateness = { exponential = "4ms" }'},
    "quick threads": {"group": 'wake_up = "1us"'},
    "one record a poll": {
        "settings": '"max.poll.records" = 1',
        "topic": 'rate = "20/s"\nbacklog = 99',
    },
    "much to answer": {"settings": '"fetch.min.bytes" = 5000'},
    "small answers": {
        "settings": '"fetch.max.bytes" = "3KiB"\n"max.partition.fetch.bytes" = "2KiB"',
        "topic": 'rate = "9/s"\nbacklog = 50\nrecord_size = "1KiB"',
    },
    "retention": {
        "settings": '"max.poll.records" = 1',
        "topic": 'rate = "9/s"\nbacklog = 50\nretention = "3s"',
        "group": 'work = "90ms"',
    },
    "young metadata": {"settings": '"metadata.max.age.ms" = "700ms"'},
    "impatient": {"settings": '"max.poll.interval.ms" = "1s"', "group": 'work = "300ms"'},
    "drawn latency": {"more": '[network]\nlatency = { uniform = ["100us", "4ms"] }'},
}


@pytest.mark.long
@pytest.mark.parametrize("parts", KINDS.values(), ids=KINDS)
def test_no_kind_of_member_is_changed_by_folding(parts):
    """Policies, handlers, settings and wires of all kinds."""
    hold_text_equal(text(**parts), 2)


def test_a_member_with_an_answer_to_come_for_its_old_position_is_not_folded():
    """A partition that is lost and returned at once still has an old fetch in flight."""
    impatient = text(
        partitions="1",
        topic='rate = "0.2/s"',
        group='work = "2s"',
        settings='"max.poll.interval.ms" = "2s"\n"fetch.max.wait.ms" = "5s"',
    )

    hold_text_equal(impatient, 0)


def test_a_calm_member_costs_the_kernel_next_to_nothing():
    """Between its heartbeats and commits nothing it does is an event."""
    folded, exact = (play(loads(text()), 0, (), folding=folding) for folding in (True, False))

    assert exact.digest == folded.digest
    assert exact.kernel_events > 5 * folded.kernel_events


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=3)
@given(document=DISTURBED_BY_EPOCHS, seed=seeds)
def test_a_calm_loop_changes_no_event(document, seed):
    """Which members poll by arithmetic, and when, shows in nothing that is written."""
    hold_equal(document, seed)
