"""The failure matrix where the victim lives on: pauses, hangs and cuts.

A removed member works on for a while beside the new owner. With S, where the new owner began,
and E, where the zombie ended, it costs E - S: P - C, what it had uncommitted and in flight when it
was lost to the group, and the records Z that it received later.
"""

from __future__ import annotations

import pytest

from emulator.events import ClientDropped, ConsumerPaused, FaultBegan
from emulator.ledger.entries import Cause

from .matrix import (
    AUTO_MOST,
    BATCH,
    EVERY,
    FETCH,
    MODES,
    POLL_INTERVAL_S,
    RHO_S,
    TAU_S,
    every_cell,
    played,
)
from .shown import Shown

VICTIM = "g-1"


def at_stake(shown: Shown, moment: int) -> int:
    """Return P - C of the victim: handed out by a moment and not committed when others began."""
    return sum(
        shown.handed(VICTIM, owned.partition, moment)
        - (shown.committed(owned.partition, shown.successor(owned).opened) or 0)
        for owned in shown.owned_at(VICTIM, moment)
    )


def cost(shown: Shown, moment: int) -> int:
    """Return E - S, summed over what the victim owned at a moment."""
    return sum(
        max(0, owned.done - shown.successor(owned).start)
        for owned in shown.owned_at(VICTIM, moment)
    )


def most_at_stake(policy: str) -> int:
    """Return how much of a batch in hand and before it a policy may leave uncommitted."""
    return {
        "A": AUTO_MOST + BATCH,
        "SB": BATCH,
        "SR": BATCH,
        "SRX": 0,
        "AS": 2 * BATCH,
        "PRE": 0,
        "NT": EVERY - 1 + 2 * BATCH,
    }[policy]


# -- 6.6 and 6.7 pause -----------------------------------------------------------------------------

SHORT = """
[[fault]]
pause = "g-1"
between = ["7s", "9s"]
for = "3s"
"""
LONG = SHORT.replace("3s", "9s")


@every_cell
def test_a_pause_shorter_than_the_session_costs_nothing(policy, mode, seed):
    """The heartbeat thread continues as soon as it runs again; the pause has no effect."""
    shown = played(policy, mode, SHORT, seed)

    assert (0, 0) == (shown.run.ledger.reprocessed, shown.run.ledger.lost)
    assert 0 == shown.run.metrics["rebalances"]


@every_cell
def test_a_pause_longer_than_the_session_makes_a_zombie(policy, mode, seed):
    """Uncommitted records and records in flight are repeated, and those of further polls."""
    shown = played(policy, mode, LONG, seed, "30s")
    moment = shown.first(ConsumerPaused, consumer=VICTIM)
    stake = at_stake(shown, moment)

    assert 0 <= stake <= most_at_stake(policy)
    assert 0 <= cost(shown, moment) - stake <= 3 * BATCH
    assert cost(shown, moment) == shown.run.ledger.by_cause().get(Cause.TWO_OWNERS, 0)
    assert 0 == shown.run.ledger.lost


# -- 6.8 processing longer than max.poll.interval.ms -------------------------------------------------

HANG = """
[[fault]]
hang = "g-1"
between = ["7s", "9s"]
for = "12s"
"""


@every_cell
def test_a_hang_longer_than_the_poll_interval_repeats_what_is_not_committed(policy, mode, seed):
    """P - C is repeated: by others if the member leaves, by itself if it is static and polls soon.

    It may hang on the first record of a batch, of which nothing is committed yet.
    """
    shown = played(policy, mode, HANG, seed, "30s")
    moment = shown.first(ClientDropped, consumer=VICTIM)
    stake = at_stake(shown, moment)
    by_itself = [shown.successor(owned).consumer for owned in shown.owned_at(VICTIM, moment)]

    assert 0 <= stake <= max(most_at_stake(policy), BATCH)
    assert stake == cost(shown, moment)
    assert 0 == shown.run.ledger.lost
    away_s = (shown.at_us(moment) - shown.last_poll_us(VICTIM, moment)) / 1e6
    assert POLL_INTERVAL_S <= away_s <= POLL_INTERVAL_S + RHO_S
    if mode == "static":
        assert {VICTIM} == set(by_itself)
        assert 0 == shown.run.metrics["rebalances"]
    else:
        assert VICTIM not in by_itself


# -- 6.9 cut from the coordinator --------------------------------------------------------------------

CUT = """
[[fault]]
cut = ["g-1", "{other}"]
between = ["7s", "9s"]
for = "{length}"
"""
FROM_COORDINATOR = CUT.format(other="coordinator of g", length="12s")
FOR_A_MOMENT = CUT.format(other="coordinator of g", length="3s")
FROM_ALL = CUT.format(other="brokers", length="8s")

of_those_who_do_not_wait = pytest.mark.parametrize("policy", ["A", "AS"])
in_every_mode = pytest.mark.parametrize("mode", MODES)


@in_every_mode
@of_those_who_do_not_wait
def test_a_cut_shorter_than_the_session_costs_nothing(policy, mode):
    """Commits that were lost are made up for by the next ones."""
    shown = played(policy, mode, FOR_A_MOMENT)

    assert (0, 0) == (shown.run.ledger.reprocessed, shown.run.ledger.lost)
    assert 0 == shown.run.metrics["rebalances"]


@in_every_mode
@of_those_who_do_not_wait
def test_a_member_cut_from_its_coordinator_works_on_at_full_speed(policy, mode):
    """C does not move after the cut; all that the zombie does is repeated, without bound.

    Its client marks the coordinator unknown once, and one poll may wait in vain for another.
    """
    shown = played(policy, mode, FROM_COORDINATOR, run_for="30s")
    moment = shown.first(FaultBegan)
    stake = at_stake(shown, moment)

    assert 0 <= stake <= most_at_stake(policy)
    assert (12 / TAU_S - 1) * BATCH <= cost(shown, moment) - stake <= 14 / TAU_S * BATCH
    assert 0 == shown.run.ledger.lost
    assert 1 == shown.run.metrics["evictions"]


@every_cell
def test_a_member_cut_from_all_brokers_repeats_what_it_had_fetched(policy, mode, seed):
    """Without records it stops: uncommitted and buffered records are repeated."""
    shown = played(policy, mode, FROM_ALL, seed, "30s")
    moment = shown.first(FaultBegan)
    grown = cost(shown, moment) - at_stake(shown, moment)

    assert 0 <= at_stake(shown, moment) <= most_at_stake(policy)
    assert 0 <= grown <= 2 * FETCH + 3 * BATCH
    assert 0 == shown.run.ledger.lost
    assert 1 == shown.run.metrics["evictions"]
