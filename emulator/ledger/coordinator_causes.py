"""Causes that come from the coordinator's side: its log, its successor, its load.

Source: spec classic-coordinator 4.3 (loads) and 4.5 (commits that are not replicated).
"""

from __future__ import annotations

from emulator.ledger.entries import Cause
from emulator.ledger.leaders import Coordinators
from emulator.ledger.openings import RESETS, Opening, Reason, still_open

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
UNCLEAN = "unclean election"
NEVER_THERE = "not on the next leader"
TOLD = "told an older offset"
SPLIT = "two coordinators"


def taken_by_a_stale_coordinator(opening: Opening) -> Reason | None:
    """Blame a commit that went into the log of a leader that had been replaced."""
    assert opening.before is not None, "what is repeated had an owner"
    taken = still_open(opening, opening.before.stale)
    if taken is None:
        return None
    return Reason(Cause.STALE_COORDINATOR, taken.error, (taken.behind, taken.link))


def not_replicated(opening: Opening) -> Reason | None:
    """Blame a commit that the next leader of the offsets partition does not have."""
    committed, unclean = opening.committed, opening.coordinators.unclean
    if committed.offset <= opening.start or not opening.failed_over:
        return None
    assert committed.event is not None, "who fails over after a commit knows the commit"
    if unclean is not None and unclean.event > committed.event:
        return Reason(Cause.NOT_REPLICATED, UNCLEAN, (committed.link, unclean, opening.failover))
    return Reason(Cause.NOT_REPLICATED, NEVER_THERE, (committed.link, opening.failover))


def told_by_a_stale_coordinator(opening: Opening) -> Reason | None:
    """Blame the older offset that a leader knows that has been replaced and does not know it."""
    committed, split = opening.committed, opening.coordinators.split
    asked = opening.source not in RESETS or opening.why == "no offset"
    if split is None or not asked or committed.offset <= opening.start:
        return None
    return Reason(Cause.STALE_COORDINATOR, TOLD, (split, committed.link))


def two_owners(coordinators: Coordinators) -> Reason:
    """Blame two owners; each may be that of a coordinator of its own."""
    split = coordinators.split
    return Reason(Cause.TWO_OWNERS, "" if split is None else SPLIT, (split,))


def refused_by_loading(opening: Opening) -> Reason | None:
    """Blame a coordinator that took no commits because it was still reading its log."""
    assert opening.before is not None, "what is repeated had an owner"
    refused = still_open(opening, opening.before.refused)
    if refused is None or refused.error != LOADING:
        return None
    loaded = opening.coordinators.loaded
    if loaded is None or loaded.event < refused.link.event:
        return Reason(Cause.LOADING, "", (refused.link,))
    took = f"{opening.coordinators.load_us / 1e6:.1f} s"
    return Reason(Cause.LOADING, f"the load took {took}", (loaded, refused.link))
