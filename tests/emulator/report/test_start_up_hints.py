"""Hints for members that start one after the other, and for removals that nothing shows."""

from __future__ import annotations

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of

START_UP = "q2-members-start-one-by-one"
DELAY = "cluster.settings[group.initial.rebalance.delay.ms]"


def ids(name: str, *overrides: str) -> set[str]:
    return {hint.id for hint in hints_of(reported(load_named(name, overrides), 0)[1])}


def test_a_delay_above_the_time_between_two_starts_ends_rebalances_of_the_start_up():
    """longer-initial-delay: a trial confirms it, with Kafka's default of 3 s."""
    advice = emulator.advise(START_UP, 1, overrides=[f"{DELAY}=0"], jobs=1)
    (trial,) = (each for each in advice.trials if each.proposal.id == "longer-initial-delay")

    assert (f"{DELAY}=3000",) == trial.proposal.overrides
    before, after = trial.means("rebalances")
    assert 0 == after < before


@pytest.mark.parametrize(
    "overrides",
    [(), (f"{DELAY}=0", "group[billing].settings[group.protocol]=consumer")],
    ids=["waits already", "consumer protocol"],
)
def test_no_delay_is_recommended_where_it_changes_nothing(overrides):
    """The consumer protocol has no first rebalance that waits."""
    settings = ["group[billing].settings[partition.assignment.strategy]=range"] * (not overrides)

    assert "longer-initial-delay" not in ids(START_UP, *settings, *overrides)


@pytest.mark.long
def test_a_member_that_cannot_notice_its_removal_has_to_be_watched():
    """watch-heartbeats: two owners for minutes, and no record that shows it."""
    name = "j6-idle-member-never-notices"

    assert "watch-heartbeats" in ids(name)
    assert "watch-heartbeats" not in ids(name, "fault[cut-1].for=10s")
