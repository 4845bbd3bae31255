"""The scenarios of the consumer protocol, beside what the same crash does to a classic group."""

from __future__ import annotations

import pytest

from emulator.measure import Cause

from .test_catalogue import entries, played


def test_the_automatic_commit_is_ahead_in_a_race_alone():
    """The next owner begins behind a batch whose records were only being handed out.

    Under the classic protocol, with own commits, or where the committing thread is faster than
    the other can be, the same crash repeats and loses nothing.
    """
    ahead = entries(played("kip848-commit-ahead"), Cause.COMMITTED_AHEAD)

    assert ["billing-1"] == [entry.first_owner.consumer for entry in ahead]
    for change in (
        "group[billing].settings[group.protocol]=classic",
        "group[billing].commit=sync",
        "group[billing].wake_up=10us",
    ):
        other = played("kip848-commit-ahead", 0, change)

        assert {Cause.CRASHED} == {Cause(cause) for cause in other.ledger.by_cause()}


@pytest.mark.long
def test_some_crashes_lose_with_a_backlog_and_no_classic_one_does():
    """Over seeds some commits are ahead and some are not; under the classic protocol none is."""
    classic = "group[billing].settings[group.protocol]=classic"
    lost = [played("kip848-commit-ahead", seed).ledger.lost for seed in range(6)]

    assert 0 < sum(count > 0 for count in lost) < 6
    assert 100 >= max(lost)
    assert not any(played("kip848-commit-ahead", seed, classic).ledger.lost for seed in (0, 3))


def test_a_crash_costs_what_it_costs_the_classic_group():
    """The same random numbers: one member dies at the same moment, and is noticed as late."""
    ours, classic = played("kip848-member-crashes"), played("member-crashes")

    assert {"crash-1"} == {entry.root.id for entry in ours.ledger.entries}
    assert 204 >= max(ours.ledger.reprocessed, classic.ledger.reprocessed)
    assert ours.metrics["evictions"] == classic.metrics["evictions"] == 1
    assert ours.metrics["takeover_first_s"] == pytest.approx(
        classic.metrics["takeover_first_s"], abs=8
    )


def test_a_rolling_restart_stops_only_what_moves_and_repeats_nothing():
    """Each partition waits for heartbeats, of whoever gives it up and whoever gets it."""
    ours, eager = played("rolling-restart-kip848"), played("rolling-restart-eager")

    assert () == ours.ledger.entries
    assert {"a member is gone: left": 4, "a member joined": 4} == (
        ours.metrics.tables["rebalances.by_reason"]
    )
    assert ours.metrics["moved"] < eager.metrics["moved"]
    assert ours.metrics["standstill_max_s"] > eager.metrics["standstill_max_s"]
