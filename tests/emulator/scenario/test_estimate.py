"""The size of a run is estimated before it starts."""

from __future__ import annotations

import pytest

from emulator.scenario.estimate import MOST_EVENTS, estimate, refuse_large
from emulator.scenario.problems import ScenarioError

from .samples import read

HUGE = (("partitions = 6", "partitions = 1000000"), ('"10min"', '"36500d"'))


def test_heartbeats_are_counted_by_their_interval():
    """Three members for ten minutes every three seconds, three events each."""
    assert 3 * 200 * 3 == estimate(read()).heartbeats


def test_more_records_make_more_polls_until_batches_fill():
    """Polls follow the records while members have time; a full member polls less often."""
    few, many = estimate(read()).polls, estimate(read(('"20/s"', '"40/s"'))).polls
    flooded = estimate(read(('"20/s"', '"2000/s"'))).polls

    assert few < many
    assert flooded < many


def test_commits_follow_the_policy():
    """A commit a record costs more than one a batch, and that more than automatic ones."""
    auto, batch, record = (
        estimate(read(("members = 3", f'members = 3\ncommit = "{policy}"'))).commits
        for policy in ("auto", "sync", "sync per record")
    )

    assert auto < batch <= record


@pytest.mark.parametrize(
    "rate", ['{ poisson = "20/s" }', '{ bursts = { rate = "40/s", for = "1s", every = "2s" } }']
)
def test_the_pattern_of_arrivals_makes_no_difference_on_average(rate):
    """Random and bursty producers count with their mean."""
    assert estimate(read()).polls == estimate(read(('rate = "20/s" ', f"rate = {rate} "))).polls


def test_an_ordinary_scenario_is_not_refused():
    """The smallest scenario is far from too large."""
    refuse_large(read(), "orders.toml")


def test_a_run_of_too_many_events_is_refused_with_the_estimate():
    """The message has the estimate, its parts, and what to do."""
    scenario = read(*HUGE)

    assert estimate(scenario).events > MOST_EVENTS
    with pytest.raises(ScenarioError, match=r"about \d.*e\+\d+ events .* for polls.*`allow_large`"):
        refuse_large(scenario, "orders.toml")
