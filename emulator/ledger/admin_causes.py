"""Causes that an administrator is: committed offsets set to others while the group was away."""

from __future__ import annotations

from emulator.ledger.entries import Cause
from emulator.ledger.offsets import NONE_COMMITTED
from emulator.ledger.openings import RESETS, Opening, Reason

BY_AN_ADMINISTRATOR = "by an administrator"


def reset_back(opening: Opening) -> Reason | None:
    """Blame an administrator for a start that lies below what had been committed."""
    return _reset(opening, 1)


def reset_forward(opening: Opening) -> Reason | None:
    """Blame an administrator for a start that lies beyond what had been committed."""
    return _reset(opening, -1)


def _reset(opening: Opening, direction: int) -> Reason | None:
    """Blame a reset if without it the start would have been another one in this direction."""
    committed, start = opening.committed, opening.start
    before = committed.reset_from
    if opening.source in RESETS or before is None or committed.offset != start:
        return None
    if before == NONE_COMMITTED:
        return Reason(Cause.RESET, f"{BY_AN_ADMINISTRATOR}, to {start}", (committed.link,))
    if (before - start) * direction <= 0:
        return None
    return Reason(Cause.RESET, f"{BY_AN_ADMINISTRATOR}, {before} to {start}", (committed.link,))
