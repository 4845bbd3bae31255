"""Why an ownership epoch began where it did: one cause, by rules in order of precedence.

An epoch that begins below the end of its predecessor will process records again; one that
begins beyond the frontier passes records over. :data:`REPEAT_RULES` and :data:`SKIP_RULES` are
asked in order, and the first that answers names the cause. Only what happened before the epoch
opened can be its reason: all that a rule sees was true at that moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emulator.measure.ledger.entries import Cause, Link
from emulator.measure.ledger.epochs import Epoch, Trouble
from emulator.measure.ledger.offsets import NONE_COMMITTED, Committed

RESETS = ("earliest", "latest", "by_duration")
DIED = ("crashed", "failed")
"""How an epoch closes when its process ends without closing its consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What was known when an epoch opened."""

    epoch: Epoch
    before: Epoch | None
    """The epoch of the same partition opened last before, closed or not."""

    source: str
    why: str
    committed: Committed
    failover: Link | None
    """The newest failure or move of a coordinator that could lose what was appended."""

    outage: Link | None = None
    """The newest failure of a broker."""

    undecided: Trouble | None = None
    """A commit of the owner before, beyond the start, that the coordinator has not seen."""

    @property
    def start(self) -> int:
        """Where the epoch begins."""
        return self.epoch.start

    @property
    def failed_over(self) -> bool:
        """Whether the coordinator changed after the newest commit was accepted."""
        accepted = self.committed.event
        return accepted is not None and self.failover is not None and self.failover.event > accepted


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause with what it leaves open and the events that show it."""

    cause: Cause
    detail: str = ""
    evidence: tuple[Link | None, ...] = ()


Rule = Callable[[Opening], Reason | None]


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
        return Reason(Cause.EXPIRED, f"reset to {opening.source}", (committed.dropped,))
    if vanished:
        return Reason(Cause.DELETED, f"reset to {opening.source}", (committed.dropped,))
    if opening.why == "out of range":
        return Reason(Cause.OUT_OF_RANGE, f"reset to {opening.source}", (committed.link,))
    if committed.offset == NONE_COMMITTED or opening.failed_over:
        return None
    return Reason(Cause.RESET, f"reset to {opening.source}", (committed.link,))


def _not_replicated(opening: Opening) -> Reason | None:
    committed = opening.committed
    if committed.offset <= opening.start or not opening.failed_over:
        return None
    return Reason(Cause.NOT_REPLICATED, "", (committed.link, opening.failover))


def _message_lost(opening: Opening) -> Reason | None:
    before = opening.before
    assert before is not None, "what is repeated had an owner"
    lost = _still_open(opening, before.lost)
    if lost is None and before.closed_event is not None and before.why not in DIED:
        lost = opening.undecided
    if lost is None:
        return None
    outage = opening.outage
    if outage is not None and not before.opened_event < outage.event < lost.link.event:
        outage = None
    return Reason(Cause.MESSAGE_LOST, lost.error, (outage, lost.link))


def _refused(opening: Opening) -> Reason | None:
    assert opening.before is not None, "what is repeated had an owner"
    refused = _still_open(opening, opening.before.refused)
    return Reason(Cause.REFUSED, refused.error, (refused.link,)) if refused is not None else None


def _two_owners(opening: Opening) -> Reason | None:
    assert opening.before is not None, "what is repeated had an owner"
    return Reason(Cause.TWO_OWNERS) if opening.before.closed_event is None else None


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


def _still_open(opening: Opening, trouble: Trouble | None) -> Trouble | None:
    """Return *trouble* if it covers the start and no later commit made up for it."""
    if trouble is None or trouble.offset <= opening.start:
        return None
    committed = opening.committed
    made_up = committed.event is not None and committed.event > trouble.link.event
    return None if made_up and committed.offset >= trouble.offset else trouble


REPEAT_RULES: tuple[Rule, ...] = (
    _sought,
    _rewind,
    _off_by_one,
    _reset,
    _not_replicated,
    _message_lost,
    _refused,
    _two_owners,
    _kept,
    _crashed,
    _revoked,
)


# -- lost ------------------------------------------------------------------------------------


def _reset_beyond(opening: Opening) -> Reason | None:
    if opening.source == "latest":
        return Reason(Cause.RESET_TO_LATEST, opening.why, (opening.committed.dropped,))
    if opening.source == "by_duration":
        return Reason(Cause.RESET_BY_DURATION, opening.why, (opening.committed.dropped,))
    return None


def _retention(opening: Opening) -> Reason | None:
    if opening.source != "earliest":
        return None
    return Reason(Cause.RETENTION, opening.why, (opening.committed.link,))


def _committed_ahead(opening: Opening) -> Reason | None:
    return Reason(Cause.COMMITTED_AHEAD, "", (opening.committed.link,))


SKIP_RULES: tuple[Rule, ...] = (_sought, _reset_beyond, _retention, _committed_ahead)
