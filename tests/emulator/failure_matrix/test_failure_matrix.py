"""The failure matrix: policies x failures x rebalance protocols.

What each cell must cost is computed from the events at the moment of the failure: D, how far the
handler was, C, the committed offset, P, the end of what poll had handed out.
"""

from __future__ import annotations

from emulator.events import ConsumerStopped

from .matrix import (
    AUTO_MOST,
    BATCH,
    EVERY,
    HEARTBEAT_S,
    RHO_S,
    SESSION_S,
    TAU_S,
    TRIP_S,
    every_cell,
    played,
    repeated,
    repeated_by_rule,
    skipped_by_rule,
)
from .shown import Owned, Shown

VICTIM = "g-1"


def uncommitted(shown: Shown, owned: list[Owned], moment: int) -> list[int]:
    """Return U = D - C of epochs that end at a moment."""
    return [epoch.done - (shown.committed(epoch.partition, moment) or 0) for epoch in owned]


def in_hand(owned: list[Owned]) -> int:
    """Return h = P - D of epochs that have ended."""
    return sum(epoch.position - epoch.done for epoch in owned)


def hold_policy(policy: str, lags: list[int], hand: int) -> None:
    """Assert that U lies where the policy puts it at an arbitrary moment."""
    ahead = sum(lags)
    match policy:
        case "A":
            assert 0 <= ahead <= AUTO_MOST
        case "SB":
            assert 0 <= ahead <= BATCH
        case "SR":
            assert ahead in (0, 1)
        case "SRX":
            assert ahead in (-hand, 0, 1)
        case "AS":
            assert 0 <= ahead <= 2 * BATCH
        case "PRE":
            assert ahead in (-hand, 0)
        case "NT":
            assert 0 <= ahead <= EVERY - 1 + BATCH


def hold_survivors(shown: Shown, policy: str, mode: str) -> None:
    """Assert what the rebalances cost those that were healthy."""
    kept = [
        (before, after)
        for before, after in shown.successors()
        if before.consumer != VICTIM and before.why == "revoked"
    ]
    for before, after in kept:
        lag = before.done - (shown.committed(before.partition, after.opened) or 0)
        if policy == "NT":
            assert 0 <= lag <= EVERY - 1 + BATCH
        else:
            assert 0 == lag
    if mode == "cooperative":
        assert all(before.consumer != after.consumer for before, after in kept)


def hold_ledger(shown: Shown) -> None:
    """Assert that the ledger counts what the epochs show."""
    assert repeated_by_rule(shown) == shown.run.ledger.reprocessed
    assert skipped_by_rule(shown) == shown.run.ledger.lost


# -- 6.4 crash -----------------------------------------------------------------------------------

CRASH = """
[[fault]]
crash = "g-1"
between = ["7s", "9s"]
"""


@every_cell
def test_a_crash_repeats_or_skips_what_commit_and_work_differed_by(policy, mode, seed):
    """Of its partitions U = D - C is repeated, or -U skipped; other members are not affected."""
    shown = played(policy, mode, CRASH, seed)
    moment = shown.first(ConsumerStopped, consumer=VICTIM)
    owned = shown.owned_at(VICTIM, moment)
    lags = uncommitted(shown, owned, shown.successor(owned[0]).opened)

    hold_policy(policy, lags, in_hand(owned))
    assert sum(max(0, lag) for lag in lags) == repeated(shown, {VICTIM})
    assert sum(max(0, -lag) for lag in lags) == shown.run.ledger.lost
    hold_survivors(shown, policy, mode)
    hold_ledger(shown)


@every_cell
def test_a_crash_is_taken_over_when_the_session_has_expired(policy, mode, seed):
    """Sx less the age of the last sign of life, then one rebalance, as 6.3 adds them up."""
    shown = played(policy, mode, CRASH, seed)
    moment = shown.first(ConsumerStopped, consumer=VICTIM)
    learn_s = HEARTBEAT_S + RHO_S + TAU_S
    for owned in shown.owned_at(VICTIM, moment):
        waited_s = (shown.successor(owned).opened_us - shown.at_us(moment)) / 1e6

        assert SESSION_S - HEARTBEAT_S - RHO_S - TRIP_S <= waited_s
        assert waited_s <= SESSION_S + learn_s + 2 * (TAU_S + RHO_S) + TRIP_S


# -- 6.5 close -----------------------------------------------------------------------------------

CLOSE = """
[[act]]
close = "g-1"
between = ["7s", "9s"]
"""
CLOSE_IN_BATCH = f"{CLOSE}mid_batch = true\n"


@every_cell
def test_a_close_between_batches_is_free_if_close_commits(policy, mode, seed):
    """Only a policy that commits every n records leaves its last ones to be repeated."""
    shown = played(policy, mode, CLOSE, seed)
    moment = shown.first(ConsumerStopped, consumer=VICTIM)
    owned = [epoch for epoch in shown.epochs if epoch.consumer == VICTIM and epoch.why == "closed"]
    lags = uncommitted(shown, owned, moment)

    assert 0 == in_hand(owned)
    if policy == "NT":
        assert 0 <= sum(lags) <= EVERY - 1 + BATCH
    else:
        assert 0 == sum(lags)
    assert sum(lags) == repeated(shown, {VICTIM})
    assert 0 == shown.run.ledger.lost
    hold_survivors(shown, policy, mode)
    hold_ledger(shown)


@every_cell
def test_a_close_in_mid_batch_skips_or_repeats_by_who_commits(policy, mode, seed):
    """Auto commit and commits ahead skip the rest of the batch; the others repeat its beginning."""
    shown = played(policy, mode, CLOSE_IN_BATCH, seed)
    moment = shown.first(ConsumerStopped, consumer=VICTIM)
    owned = [epoch for epoch in shown.epochs if epoch.consumer == VICTIM and epoch.why == "closed"]
    lags, rest = uncommitted(shown, owned, moment), in_hand(owned)

    match policy:
        case "A" | "PRE" | "SRX":
            assert -rest == sum(lags)
        case "SB" | "AS":
            assert 0 <= sum(lags) <= BATCH
        case "SR":
            assert 0 == sum(lags)
        case "NT":
            assert 0 <= sum(lags) <= EVERY - 1 + BATCH
    assert sum(max(0, lag) for lag in lags) == repeated(shown, {VICTIM})
    assert sum(max(0, -lag) for lag in lags) == shown.run.ledger.lost
    hold_ledger(shown)
