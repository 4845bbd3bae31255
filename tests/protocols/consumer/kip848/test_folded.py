"""Clients whose passes are played by arithmetic leave what they leave pass by pass."""

from __future__ import annotations

import pytest

from ....emulator.modes.both_ways import hold_both_ways
from ....emulator.modes.polling_worlds import timed_world
from ....emulator.world.periods.periodic_consumer_worlds import (
    how_consumers_played,
    periodic_consumer_world,
)

SKIPPING = (302, 303)
"""Seeds of worlds that come to a period which is skipped."""


@pytest.mark.parametrize("seed", [302, 306, 307])
def test_polls_and_commits_are_those_of_single_polls(seed):
    """With short intervals that seldom divide each other, so that each ends in any part of a poll."""
    hold_both_ways(timed_world(seed), seed)


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("seed", [306, 307, 308, *SKIPPING])
def test_members_under_faults_and_acts_leave_the_same(seed):
    """Requests, heartbeats and waits of a client are moved over the periods that are skipped."""
    skipped = hold_both_ways(periodic_consumer_world(seed), seed, **how_consumers_played(seed))

    assert (seed in SKIPPING) is (skipped > 0)
