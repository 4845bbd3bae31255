"""The time of rebalance listeners: by call, by partition, before or after the commit."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import CommitSent, ListenerCalled, MemberMoved
from emulator.playing import Run

SECOND = 1_000_000

TEXT = """
title = "listeners"
run_for = "90s"
topic = [{{ name = "t", partitions = 4, rate = "4/s" }}]
act = [{{ close = "g-1", at = "60s" }}]

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "5ms"
commit = {{ call = "sync", when = "every", every = "50s", on_revoke = true }}
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = "10s" }}
{keys}
"""


def play(keys: str) -> Run:
    return emulator.run(emulator.loads(TEXT.format(keys=keys)), keep_events=True)


def durations(run: Run, call: str) -> list[tuple[int, int]]:
    """Return the partitions and the microseconds of each call of a kind."""
    return [
        (len(event.what.partitions), event.at_us - event.what.began_us)
        for event in run.events
        if isinstance(event.what, ListenerCalled) and event.what.call == call
    ]


def test_each_partition_of_a_call_takes_time():
    run = play('listener = "1s"\nlistener_partition = "500ms"')
    for partitions, took_us in durations(run, "assigned"):
        assert took_us == SECOND + partitions * SECOND // 2


def test_only_the_given_calls_take_time():
    run = play('listener = "2s"\nlistener_calls = ["revoked"]')
    assert {took_us for _, took_us in durations(run, "assigned")} == {0}
    assert all(took_us >= 2 * SECOND for _, took_us in durations(run, "revoked"))
    assert durations(run, "revoked")


@pytest.mark.parametrize(("commits", "late_us"), [("before", 0), ("after", 3 * SECOND)])
def test_the_commit_precedes_or_follows_the_listener(commits, late_us):
    run = play(f'listener = "3s"\nlistener_calls = ["revoked"]\nlistener_commits = "{commits}"')
    sent = [
        e.at_us for e in run.events if isinstance(e.what, CommitSent) and e.what.consumer == "g-1"
    ]
    assert 60 * SECOND + late_us <= sent[-1] < 60 * SECOND + late_us + SECOND // 2


def test_a_flush_longer_than_the_session_fences_the_last_commit():
    keys = 'listener = "20s"\nlistener_calls = ["revoked"]\nclose_timeout = "60s"\n'
    before, after = play(keys), play(keys + 'listener_commits = "after"')
    assert before.metrics["reprocessed"] == 0
    assert after.metrics["reprocessed"] >= 40  # what g-1 processed since its commit after 50 s
    assert after.metrics["commits_refused"] >= 1


def test_a_call_belongs_to_the_epoch_in_which_it_began():
    """The second member's epoch rises while its listener hears that it has nothing yet."""
    text = TEXT.format(keys='listener = "8s"').replace(
        '"session.timeout.ms" = "10s"', '"group.protocol" = "consumer"'
    )
    run = emulator.run(emulator.loads(text), keep_events=True)
    first = next(
        event
        for event in run.events
        if isinstance(event.what, ListenerCalled) and event.what.consumer == "g-1"
    )
    raised_us = next(
        event.at_us
        for event in run.events
        if isinstance(event.what, MemberMoved)
        and (event.what.consumer, event.what.epoch) == ("g-1", 3)
    )
    assert first.what.began_us < raised_us < first.at_us
    assert first.what.generation == 2
