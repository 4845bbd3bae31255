"""Why an ownership epoch began where it did: one cause, by rules in order of precedence.

An epoch that begins below the end of its predecessor will process records again; one that
begins beyond the frontier passes records over. :data:`REPEAT_RULES` and :data:`SKIP_RULES` are
asked in order, and the first that answers names the cause. Only what happened before the epoch
opened can be its reason: all that a rule sees was true at that moment.
"""

from __future__ import annotations

from emulator.ledger.admin_causes import reset_back, reset_forward
from emulator.ledger.coordinator_causes import (
    not_replicated,
    refused_by_loading,
    taken_by_a_stale_coordinator,
    told_by_a_stale_coordinator,
    two_owners,
)
from emulator.ledger.entries import Cause, Link
from emulator.ledger.epochs import Trouble
from emulator.ledger.offsets import NONE_COMMITTED, Committed
from emulator.ledger.openings import DIED, RESETS, Opening, Reason, Rule, still_open
from emulator.ledger.truncation_causes import (
    BEYOND,
    beyond_the_log,
    moved_back,
    reset_beyond_the_log,
    truncation_behind,
)


def reason_for_repeat(opening: Opening) -> Reason:
    """Say why an epoch began below the end of its predecessor."""
    return _first(REPEAT_RULES, opening)


def reason_for_skip(opening: Opening) -> Reason:
    """Say why an epoch began beyond the frontier."""
    return _first(SKIP_RULES, opening)


def _first(rules: tuple[Rule, ...], opening: Opening) -> Reason:
    for rule in rules:
        reason = rule(opening)
        if reason is not None:
            return reason
    raise AssertionError("the last rule answers always")


# -- processed again -------------------------------------------------------------------------


def _sought(opening: Opening) -> Reason | None:
    return Reason(Cause.SOUGHT) if opening.source == "seek" else None


def _rewind(opening: Opening) -> Reason | None:
    committed = opening.committed
    higher = committed.rewound_from
    if not _began_at_commit(opening) or higher is None or higher <= opening.start:
        return None
    return Reason(Cause.REWIND, f"{higher} to {committed.offset}", (committed.link,))


def _off_by_one(opening: Opening) -> Reason | None:
    committed = opening.committed
    if not _began_at_commit(opening) or committed.processed != committed.offset + 1:
        return None
    return Reason(Cause.OFF_BY_ONE, "", (committed.link,))


def _reset(opening: Opening) -> Reason | None:
    """A reset repeats by itself only where an offset had been committed.

    Where none ever was, the question is why not, and a later rule answers it.
    """
    if opening.source not in RESETS:
        return None
    committed = opening.committed
    vanished = opening.why if opening.why in ("expired", "deleted") else committed.dropped_why
    if vanished == "expired":
        detail = f"reset to {opening.source}{_while_living(committed)}"
        return Reason(Cause.EXPIRED, detail, (committed.dropped,))
    if vanished:
        return Reason(Cause.DELETED, f"reset to {opening.source}", (committed.dropped,))
    if opening.why in BEYOND:
        evidence = (committed.link, truncation_behind(opening))
        return Reason(Cause.OUT_OF_RANGE, f"reset to {opening.source}", evidence)
    if committed.offset == NONE_COMMITTED or opening.failed_over:
        return None
    return Reason(Cause.RESET, f"reset to {opening.source}", (committed.link,))


def _while_living(committed: Committed) -> str:
    """Say that an offset expired though its group lived: no member subscribed to the topic."""
    expired = committed.dropped_why == "expired"
    return "; no member subscribed to it" if expired and committed.dropped_members > 0 else ""


def _message_lost(opening: Opening) -> Reason | None:
    before = opening.before
    assert before is not None, "what is repeated had an owner"
    lost = still_open(opening, before.lost)
    outage = opening.outage
    if lost is None and before.closed_event is not None:
        lost = opening.undecided
        if before.why in DIED and not _went_down_after(outage, lost):
            lost = None
    if lost is None:
        return None
    if outage is not None and not before.opened_event < outage.event < lost.link.event:
        outage = outage if _went_down_after(outage, opening.undecided) else None
    return Reason(Cause.MESSAGE_LOST, lost.error, (outage, lost.link))


def _went_down_after(outage: Link | None, sent: Trouble | None) -> bool:
    """Say whether a broker went down when a commit was under way that nobody decided on."""
    return outage is not None and sent is not None and outage.event > sent.link.event


def _refused(opening: Opening) -> Reason | None:
    assert opening.before is not None, "what is repeated had an owner"
    refused = still_open(opening, opening.before.refused)
    return Reason(Cause.REFUSED, refused.error, (refused.link,)) if refused is not None else None


def _two_owners(opening: Opening) -> Reason | None:
    assert opening.before is not None, "what is repeated had an owner"
    return two_owners(opening.coordinators) if opening.before.closed_event is None else None


def _kept(opening: Opening) -> Reason | None:
    before, epoch = opening.before, opening.epoch
    assert before is not None, "what is repeated had an owner"
    same = (before.consumer, before.incarnation) == (epoch.consumer, epoch.incarnation)
    return Reason(Cause.KEPT_REWOUND, before.why) if same else None


def _crashed(opening: Opening) -> Reason | None:
    assert opening.before is not None, "what is repeated had an owner"
    if opening.before.why not in DIED:
        return None
    return Reason(Cause.CRASHED, "" if opening.before.why == "crashed" else "failed")


def _revoked(opening: Opening) -> Reason | None:
    """Given up in any other way: revoked, lost, or at a close that committed too little."""
    assert opening.before is not None, "what is repeated had an owner"
    return Reason(Cause.REVOKED, "" if opening.before.why == "revoked" else opening.before.why)


def _began_at_commit(opening: Opening) -> bool:
    return opening.source not in RESETS and opening.committed.offset == opening.start


REPEAT_RULES: tuple[Rule, ...] = (
    _sought,
    reset_back,
    _rewind,
    _off_by_one,
    _reset,
    moved_back,
    taken_by_a_stale_coordinator,
    not_replicated,
    told_by_a_stale_coordinator,
    _message_lost,
    refused_by_loading,
    _refused,
    _two_owners,
    _kept,
    _crashed,
    _revoked,
)


# -- lost ------------------------------------------------------------------------------------


def _reset_beyond(opening: Opening) -> Reason | None:
    if opening.source == "latest":
        detail = f"{opening.why}{_while_living(opening.committed)}"
        return Reason(Cause.RESET_TO_LATEST, detail, (opening.committed.dropped,))
    if opening.source == "by_duration":
        return Reason(Cause.RESET_BY_DURATION, opening.why, (opening.committed.dropped,))
    return None


def _retention(opening: Opening) -> Reason | None:
    if opening.source != "earliest":
        return None
    return Reason(Cause.RETENTION, opening.why, (opening.committed.link,))


def _committed_ahead(opening: Opening) -> Reason | None:
    return Reason(Cause.COMMITTED_AHEAD, "", (opening.committed.link,))


SKIP_RULES: tuple[Rule, ...] = (
    _sought,
    reset_forward,
    beyond_the_log,
    reset_beyond_the_log,
    _reset_beyond,
    _retention,
    _committed_ahead,
)
