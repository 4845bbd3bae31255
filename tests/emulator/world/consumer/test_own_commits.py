"""Commits of handlers that are code of the user: after one that failed, and off by one."""

from __future__ import annotations

import sys

import pytest

import emulator
from emulator.events import CommitSent, ConsumerStopped
from emulator.playing import Run

from ..stores.store_group import write_class

SCENARIO = """
title = "commits of a handler of one's own"
run_for = "30s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
[[group]]
id = "g"
topics = ["t"]
members = 2
work = "10ms"
commit = {commit}
handler = "own_commits:Own"
settings = {{ "enable.auto.commit" = false, "auto.offset.reset" = "earliest"{settings} }}
"""


@pytest.fixture
def play(tmp_path):
    """Return a function that writes a class beside a scenario, and plays it."""

    def run(body: str, settings: str = "", commit: str = '"none"') -> Run:
        text = SCENARIO.format(commit=commit, settings=settings)
        path = write_class(tmp_path, "own_commits", body, text)
        sys.modules.pop("own_commits", None)
        return emulator.run(emulator.load(path))

    yield run
    sys.modules.pop("own_commits", None)


def facts(run: Run, kind: type) -> list:
    """Return the events of a kind."""
    return [event.what for event in run.events if isinstance(event.what, kind)]


REPEATED = """
def __init__(self, consumer):
    self.consumer = consumer
def handle(self, records):
    for record in records:
        yield Process(record)
    if records and self.consumer.name == "g-0":
        yield Wait(ms=9_000)
        first = yield Commit({sync})
        yield Wait(ms=100)
        second = yield Commit()
        yield Exit(f"{{first}}, {{second}}")
    yield Commit()
"""


@pytest.mark.parametrize(
    ("sync", "reason"),
    [
        ("", "CommitFailedException, CommitFailedException"),
        ("sync=False", "None, CommitFailedException"),
    ],
)
def test_a_commit_after_one_that_failed_sends_its_offsets_again(play, sync, reason):
    settings = ', "session.timeout.ms" = 6000, "max.poll.interval.ms" = 7000'
    run = play(REPEATED.format(sync=sync), settings)

    stopped = facts(run, ConsumerStopped)
    sent = [what for what in facts(run, CommitSent) if what.consumer == "g-0"]
    assert stopped[0].reason == reason
    assert len({what.offsets for what in sent[-2:]}) == 1


@pytest.mark.long
def test_only_commits_without_offsets_are_off_by_one(play):
    """The policy is at fault for what the application works out, not for what the code names."""
    body = """
    def __init__(self, consumer):
        pass
    def handle(self, records):
        for record in records:
            yield Process(record)
            yield Commit({(record.topic, record.partition): record.offset + 1}) if %s else Commit()
    """
    policy = '{ call = "sync", off_by_one = true }'
    runs = [play(body % given, commit=policy) for given in (True, False)]
    assert [facts(run, CommitSent)[0].offsets[0][1] for run in runs] == [1, 0]
