"""The result of a run."""

from __future__ import annotations

import pytest

import emulator
from emulator import playing
from emulator.scenario.load import loads
from emulator.world.run import Replay, new_run

SMALL = """
title = "small"
run_for = "20s"
topic = [{ name = "orders", partitions = 2, rate = "5/s" }]
group = [{ id = "billing", topics = ["orders"], members = 1 }]
"""


def test_a_run_shows_as_one_line():
    """Title, seed, totals and digest; not the thousands of events it holds."""
    run = emulator.run(loads(SMALL, "small.toml"), 3)

    assert (
        f"<Run of 'small', seed 3: reprocessed=0, lost=0, events={len(run.events)}, "
        f"digest={run.digest}>" == repr(run)
    )


def ignore(_):
    pass


@pytest.mark.parametrize(
    ("options", "each"),
    [
        ({}, True),
        ({"keep_events": False}, False),
        ({"keep_events": False, "sink": ignore}, True),
        ({"keep_events": False, "sink": ignore, "each_commit": False}, False),
        ({"keep_events": False, "each_commit": True}, True),
    ],
)
def test_each_commit_is_written_for_those_who_see_events(monkeypatch, options, each):
    """Unless they say that sums are enough."""
    asked, real = [], playing.play

    def play(*args, **kwargs):
        asked.append(kwargs["each_commit"])
        return real(*args, **kwargs)

    monkeypatch.setattr(playing, "play", play)
    emulator.run(loads(SMALL, "small.toml"), 3, **options)

    assert [each] == asked


@pytest.mark.parametrize(
    "needed",
    [
        {"each_commit": True},
        {"polls": True},
        {"folding": False},
        {"replay": Replay(by_record=True)},
        {"replay": Replay(appended=ignore)},
        {"replay": Replay(log_files=object())},
    ],
)
def test_commits_are_summed_up_only_if_nobody_needs_each(needed):
    """Nobody reads single events or records: then, and only then."""
    scenario = loads(SMALL, "small.toml")

    assert new_run(scenario, 0, (), each_commit=False).folding_commits
    assert not new_run(scenario, 0, (), **{"each_commit": False, **needed}).folding_commits
