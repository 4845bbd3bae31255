"""Clients whose polls are played by arithmetic leave what they leave poll by poll."""

from __future__ import annotations

import pytest

from ....emulator.modes.both_ways import hold_both_ways
from ....emulator.modes.polling_worlds import polling_world, timed_world
from ....emulator.world.periods.periodic_worlds import how_played, periodic_world

SKIPPING = (302, 303, 308)
"""Seeds of worlds that come to a period which is skipped."""


@pytest.mark.parametrize("world", [polling_world, timed_world])
@pytest.mark.parametrize("seed", [303, 304, 305, 308])
def test_polls_and_commits_are_those_of_single_polls(world, seed):
    """With short intervals that seldom divide each other, so that each ends in any part of a poll."""
    hold_both_ways(world(seed), seed)


@pytest.mark.parametrize("world", [polling_world, timed_world])
@pytest.mark.parametrize("seed", [303, 304, 305, 308, 312])
def test_a_poll_that_returns_records_before_it_reads_responses_is_one_of_them(world, seed):
    """As that of kafka-python, which hears of a rebalance later."""
    document = world(seed)
    document["group"][0]["client"] = "kafka-python"

    hold_both_ways(document, seed)


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("seed", [301, 306, 307, *SKIPPING])
def test_members_under_faults_and_acts_leave_the_same(seed):
    """Requests, heartbeats and waits of a client are moved over the periods that are skipped."""
    skipped = hold_both_ways(periodic_world(seed), seed, **how_played(seed))

    assert (seed in SKIPPING) is (skipped > 0)
