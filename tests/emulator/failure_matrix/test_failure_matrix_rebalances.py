"""The failure matrix where nothing fails: restarts, new partitions, a newcomer."""

from __future__ import annotations

from math import ceil

import pytest

import emulator
from emulator.events import JoinPhaseEnded, RebalanceStarted

from .matrix import BATCH, EVERY, MODES, TAU_S, every_cell, played
from .shown import Owned, Shown

RESTARTS = 3
ROLLING = """
[[act]]
rolling_restart = "g"
between = ["7s", "8s"]
down_time = "1s"
gap = "6s"
"""
MAX_REBALANCES = {"eager": 2 * RESTARTS, "cooperative": 4 * RESTARTS, "static": 0}
"""Leave and return; or leave, revoke round, assign round and one more; or none at all."""


def lag(shown: Shown, before: Owned, after: Owned) -> int:
    """Return D - C of an epoch when the next one on its partition began."""
    return before.done - (shown.committed(before.partition, after.opened) or 0)


def failed_polls(shown: Shown, owned: Owned) -> int:
    """Return how many polls of a cooperative member no commit of its own can cover.

    With J, how long its JoinGroup stayed parked: ``1 + max(1, ceil(J / tau))``.
    """
    joined = [moment for moment in shown.moments(JoinPhaseEnded) if moment < owned.closed]
    parked = [moment for moment in shown.moments(RebalanceStarted) if moment < joined[-1]]
    parked_s = (shown.at_us(joined[-1]) - shown.at_us(parked[-1])) / 1e6
    return 1 + max(1, ceil(parked_s / TAU_S))


def hold_revoked(shown: Shown, policy: str, mode: str, owned: Owned, after: Owned) -> None:
    """Assert the number of records that one partition's hand-over leaves uncommitted."""
    left = lag(shown, owned, after)
    moved = mode == "cooperative" and owned.why == "revoked"
    if policy == "NT":
        assert 0 <= left <= EVERY - 1 + BATCH
    elif policy == "A" and moved:
        assert 0 <= left <= (1 + failed_polls(shown, owned)) * BATCH
    elif policy in ("SB", "AS", "PRE") and moved:
        assert 0 <= left <= failed_polls(shown, owned) * BATCH
    elif policy == "SR" and moved:
        assert 0 <= left <= BATCH
    else:
        assert 0 == left


@every_cell
def test_a_rolling_restart_costs_what_its_rebalances_leave_uncommitted(policy, mode, seed):
    """As many rebalances as 6.11 allows; each partition that changes hands repeats its D - C."""
    shown = played(policy, mode, ROLLING, seed, "36s")

    assert shown.run.metrics["rebalances"] <= MAX_REBALANCES[mode]
    for before, after in shown.successors():
        hold_revoked(shown, policy, mode, before, after)
    lags = [lag(shown, before, after) for before, after in shown.successors()]
    assert shown.run.ledger.reprocessed <= sum(lags)
    assert 0 == shown.run.ledger.lost


@pytest.mark.parametrize("policy", ["A", "SB", "AS"])
def test_a_static_restart_is_down_for_the_restart_only(policy):
    """One second down, two round trips, one fetch."""
    shown = played(policy, "static", ROLLING, 0, "36s")

    assert shown.run.metrics["downtime_max_s"] <= 1.0 + TAU_S + 0.1
    assert 1 == shown.run.metrics["generations"]


@every_cell
def test_kept_partitions_stand_still_under_a_cooperative_assignor_only_if_moved(policy, mode, seed):
    """Eager members give everything up; cooperative ones only what moves; static ones nothing."""
    shown = played(policy, mode, ROLLING, seed, "36s")
    kept = [
        (before, after)
        for before, after in shown.successors()
        if before.why == "revoked" and before.consumer == after.consumer
    ]

    assert bool(kept) == (mode == "eager")


# -- partitions are added ----------------------------------------------------------------------------

GROWING = """
title = "partitions are added"
run_for = "40s"

[[topic]]
name = "t"
partitions = 4
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
commit = {commit}

[group.settings]
"partition.assignment.strategy" = "{strategy}"
"auto.offset.reset" = "{reset}"
"metadata.max.age.ms" = "10s"

[[act]]
add_partitions = "t"
to = 6
between = ["12s", "22s"]
"""


def grown(mode: str, reset: str, seed: int, commit: str = '"auto"') -> Shown:
    """Play the growth of a topic."""
    strategy = MODES[mode][0]
    text = GROWING.format(strategy=strategy, reset=reset, commit=commit)
    return Shown(emulator.run(emulator.loads(text), seed, polls=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", ["eager", "cooperative"])
def test_new_partitions_cost_one_rebalance_and_with_earliest_nothing_else(mode, seed):
    """They have no owner, so one round is enough; existing partitions go on where they were."""
    shown = grown(mode, "earliest", seed)

    assert 1 == shown.run.metrics["rebalances"]
    assert (0, 0) == (shown.run.ledger.reprocessed, shown.run.ledger.lost)
    assert shown.run.metrics["downtime_max_s"] <= 10 + 3.1 + 0.2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", ["eager", "cooperative"])
def test_with_latest_the_records_before_the_first_lookup_are_lost(mode, seed):
    """Records appended to a new partition before its first ListOffsets."""
    shown = grown(mode, "latest", seed)
    new = [owned for owned in shown.epochs if owned.partition.partition >= 4]

    assert [4, 5] == sorted(owned.partition.partition for owned in new)
    assert sum(owned.start for owned in new) == shown.run.ledger.lost
    assert 0 < shown.run.ledger.lost
    assert 0 == shown.run.ledger.reprocessed


@pytest.mark.parametrize("mode", ["eager", "cooperative"])
def test_growth_rewinds_kept_partitions_of_who_commits_seldom_under_eager_only(mode):
    """Policy NT: U of every owned partition, or nothing."""
    shown = grown(mode, "earliest", 0, '{ call = "sync", when = "every", records = 400 }')
    lags = [lag(shown, before, after) for before, after in shown.successors()]

    assert sum(lags) == shown.run.ledger.reprocessed
    assert (mode == "eager") == bool(shown.run.ledger.reprocessed)


# -- a newcomer ----------------------------------------------------------------------------------------

JOINING = """
[[group.member]]
name = "late"
start = "by act"

[[act]]
start = "late"
between = ["7s", "9s"]
"""


@every_cell
def test_a_newcomer_costs_what_moves_to_it_was_uncommitted(policy, mode, seed):
    """Eager: nothing but for NT; cooperative: what was read and not committed while it joined."""
    shown = played(policy, mode, JOINING, seed)
    for before, after in shown.successors():
        hold_revoked(shown, policy, mode, before, after)

    assert 0 == shown.run.ledger.lost
    assert ["late"] == sorted({owned.consumer for owned in shown.epochs} - {"g-0", "g-1", "g-2"})
