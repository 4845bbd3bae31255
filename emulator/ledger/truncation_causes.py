"""Causes that come from logs that have lost their end: positions beyond it, and what they do.

Source: KIP-101, KIP-320; spec consumer-client 5.1 and 5.2.
"""

from __future__ import annotations

from emulator.ledger.entries import Cause, Link
from emulator.ledger.openings import RESETS, Opening, Reason

BEYOND = ("out of range", "truncated")
"""Why a position is reset that its log does not hold."""


def truncation_behind(opening: Opening) -> Link | None:
    """Return the truncation that the committed offset, or the owner before, did not know of."""
    before = opening.before
    if opening.committed.beyond is not None or before is None:
        return opening.committed.beyond
    return before.cut


def moved_back(opening: Opening) -> Reason | None:
    """Blame the truncation for a position that its leader moved back."""
    if opening.source != "truncated":
        return None
    return Reason(Cause.TRUNCATED, "position moved back", (truncation_behind(opening),))


def beyond_the_log(opening: Opening) -> Reason | None:
    """Blame the truncation where an offset is believed that was committed for what is gone."""
    committed = opening.committed
    if committed.beyond is None or opening.source != "committed":
        return None
    return Reason(Cause.TRUNCATED, "position not checked", (committed.link, committed.beyond))


def reset_beyond_the_log(opening: Opening) -> Reason | None:
    """Blame an offset out of range where a truncation had put it there, not retention."""
    truncation = truncation_behind(opening)
    if opening.source not in RESETS or opening.why not in BEYOND or truncation is None:
        return None
    evidence = (opening.committed.link, truncation)
    return Reason(Cause.OUT_OF_RANGE, f"reset to {opening.source}", evidence)
