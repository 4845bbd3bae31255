"""Rules that find why an ownership epoch began where it did: exactly one cause for each opening.

An epoch that begins below the end of its predecessor reprocesses records; an epoch that begins
beyond the frontier skips records. :data:`REPEAT_RULES` and :data:`SKIP_RULES` are applied in order,
and the first rule that returns a reason decides.

Source: KIP-101, KIP-320, ``GroupCoordinatorService``, ``CoordinatorRuntime`` (loads, failover),
``OffsetMetadataManager`` (commits), ``OffsetFetcher`` (resets).
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.values import dataclass
from emulator.events import End, PositionSource, ResetReason
from emulator.events.consumers import RESETS
from emulator.ledger.cluster import UNKNOWN_COORDINATOR, OffsetsPartition
from emulator.ledger.commits import NONE_COMMITTED, Committed
from emulator.ledger.entries import Cause, Link
from emulator.ledger.epochs import Epoch, FailedCommit

ENDED = (End.CRASHED, End.FAILED)
"""Why an epoch closes when its process ends without closing its consumer."""

NOT_IN_THE_LOG = (ResetReason.OUT_OF_RANGE, ResetReason.TRUNCATED)
"""Why a position is reset when the log does not contain it."""

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
UNCLEAN, NOT_ON_NEXT_LEADER = "unclean election", "not on the next leader"
OLDER_OFFSET = "returned an older offset"
SPLIT = "two coordinators"
IN_CLOSE = "in close()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The state of the group when an epoch opened."""

    epoch: Epoch
    before: Epoch | None
    """The epoch of the same partition that opened last before, closed or not."""

    source: str
    why: str
    committed: Committed
    failover: Link | None
    """The newest failure or move of a coordinator that could lose appended commits."""

    outage: Link | None = None
    """The newest failure of a broker."""

    undecided: FailedCommit | None = None
    """A commit of the previous owner, beyond the start, that the coordinator has not received."""

    coordinators: OffsetsPartition = UNKNOWN_COORDINATOR

    @property
    def start(self) -> int:
        """The start offset of the epoch."""
        return self.epoch.start

    @property
    def failed_over(self) -> bool:
        """Whether the coordinator changed, and may not have the newest commit that was accepted."""
        accepted, failover = self.committed.accepted, self.failover
        if accepted is None or failover is None or failover.instant <= accepted.instant:
            return False
        # Only an unclean election loses what was acknowledged: else the client has reset by itself.
        kept = self.committed.acknowledged and self.coordinators.unclean_after(accepted) is None
        return not (kept and self.source in RESETS)

    @property
    def previous(self) -> Epoch:
        """The previous owner, which every reprocessed range has."""
        assert self.before is not None, "reprocessed records have a previous owner"
        return self.before

    @property
    def at_commit(self) -> bool:
        """Whether the epoch began at the committed offset."""
        return self.source not in RESETS and self.committed.offset == self.start


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause with its detail and the events that show it."""

    cause: Cause
    detail: str = ""
    evidence: tuple[Link | None, ...] = ()


Rule = Callable[[Opening], Reason | None]


def reason_for_repeat(opening: Opening) -> Reason:
    """Return why an epoch began below the end of its predecessor."""
    return _first(REPEAT_RULES, opening)


def reason_for_skip(opening: Opening) -> Reason:
    """Return why an epoch began beyond the frontier."""
    return _first(SKIP_RULES, opening)


def two_owners(coordinators: OffsetsPartition) -> Reason:
    """Return the reason for concurrent owners; each may have a coordinator of its own."""
    split = coordinators.split
    return Reason(Cause.TWO_OWNERS, "" if split is None else SPLIT, (split,))


def _first(rules: tuple[Rule, ...], opening: Opening) -> Reason:
    for rule in rules:
        reason = rule(opening)
        if reason is not None:
            return reason
    raise AssertionError("the last rule always returns a reason")


def _uncovered(opening: Opening, failed: FailedCommit | None) -> FailedCommit | None:
    """Return *failed* if it covers the start and no later commit covers as much."""
    if failed is None or failed.offset <= opening.start:
        return None
    committed = opening.committed
    accepted = committed.accepted
    later = accepted is not None and accepted.instant > failed.link.instant
    return None if later and committed.offset >= failed.offset else failed


# -- positions set explicitly, or by the committed offset ------------------------------------


def _seek(opening: Opening) -> Reason | None:
    return Reason(Cause.SOUGHT) if opening.source == PositionSource.SEEK else None


def _sought_outside(opening: Opening) -> Reason | None:
    """Return the seek to an offset outside the log, from which nothing was read, before a reset."""
    before = opening.before
    if before is None or (before.source, before.cursor) != (PositionSource.SEEK, before.start):
        return None
    if opening.source not in RESETS or opening.why not in NOT_IN_THE_LOG:
        return None
    return Reason(Cause.SOUGHT, f"outside the log, reset to {opening.source}", (before.opened,))


def _reset_back_by_admin(opening: Opening) -> Reason | None:
    return _reset_by_admin(opening, 1)


def _reset_forward_by_admin(opening: Opening) -> Reason | None:
    return _reset_by_admin(opening, -1)


def _reset_by_admin(opening: Opening, direction: int) -> Reason | None:
    """Return a reset, by an administrator or a backup, if it moved the start in this direction."""
    committed, start = opening.committed, opening.start
    before = committed.reset_from
    if opening.source in RESETS or before is None or committed.offset != start:
        return None
    if before == NONE_COMMITTED:
        return Reason(Cause.RESET, f"{committed.reset_by}, to {start}", (committed.link,))
    if (before - start) * direction <= 0:
        return None
    return Reason(Cause.RESET, f"{committed.reset_by}, {before} to {start}", (committed.link,))


def _rewind(opening: Opening) -> Reason | None:
    committed = opening.committed
    higher = committed.rewound_from
    if not opening.at_commit or higher is None or higher <= opening.start:
        return None
    return Reason(Cause.REWIND, f"{higher} to {committed.offset}", (committed.link,))


def _off_by_one(opening: Opening) -> Reason | None:
    committed = opening.committed
    found = opening.at_commit and committed.processed == committed.offset + 1
    return Reason(Cause.OFF_BY_ONE, "", (committed.link,)) if found else None


def _of_old_topic(opening: Opening) -> Reason | None:
    committed = opening.committed
    found = opening.at_commit and committed.of_old_topic
    return Reason(Cause.OLD_TOPIC, "", (committed.link,)) if found else None


def _committed_ahead(opening: Opening) -> Reason | None:
    detail = IN_CLOSE if opening.at_commit and opening.committed.in_close else ""
    return Reason(Cause.COMMITTED_AHEAD, detail, (opening.committed.link,))


# -- positions reset -------------------------------------------------------------------------


def _reset(opening: Opening) -> Reason | None:
    """Return a reset as the reason if an offset had been committed.

    If none was ever committed, a later rule finds why not.
    """
    if opening.source not in RESETS:
        return None
    committed = opening.committed
    removed = opening.why in (ResetReason.EXPIRED, ResetReason.DELETED)
    dropped = opening.why if removed else committed.dropped_why
    if dropped == ResetReason.EXPIRED:
        detail = f"reset to {opening.source}{_without_subscriber(committed)}"
        return Reason(Cause.EXPIRED, detail, (committed.dropped,))
    if dropped:
        return Reason(Cause.DELETED, f"reset to {opening.source}", (committed.dropped,))
    if opening.why in NOT_IN_THE_LOG:
        return _out_of_range(opening, _truncation(opening))
    if committed.offset == NONE_COMMITTED or opening.failed_over:
        return None
    return Reason(Cause.RESET, f"reset to {opening.source}", (committed.link,))


def _out_of_range(opening: Opening, truncation: Link | None) -> Reason:
    evidence = (opening.committed.link, truncation)
    return Reason(Cause.OUT_OF_RANGE, f"reset to {opening.source}", evidence)


def _without_subscriber(committed: Committed) -> str:
    """Return the detail of an offset that expired although its group had members."""
    expired = committed.dropped_why == ResetReason.EXPIRED
    return "; no member subscribed to it" if expired and committed.dropped_members > 0 else ""


def _reset_beyond(opening: Opening) -> Reason | None:
    if opening.source == PositionSource.LATEST:
        detail = f"{opening.why}{_without_subscriber(opening.committed)}"
        return Reason(Cause.RESET_TO_LATEST, detail, (opening.committed.dropped,))
    if opening.source == PositionSource.BY_DURATION:
        return Reason(Cause.RESET_BY_DURATION, opening.why, (opening.committed.dropped,))
    return None


def _retention(opening: Opening) -> Reason | None:
    if opening.source not in (PositionSource.EARLIEST, PositionSource.LAST_READ):
        return None
    return Reason(Cause.RETENTION, opening.why, (opening.committed.link,))


# -- truncated logs --------------------------------------------------------------------------


def _truncation(opening: Opening) -> Link | None:
    """Return the truncation that the committer, or the previous owner, did not know of."""
    known, before = opening.committed.truncation, opening.before
    return known if known is not None or before is None else before.truncation


def _position_truncated(opening: Opening) -> Reason | None:
    """Return the truncation if the leader moved the position back (OffsetsForLeaderEpoch)."""
    if opening.source != PositionSource.TRUNCATED:
        return None
    return Reason(Cause.TRUNCATED, "position moved back", (_truncation(opening),))


def _position_not_checked(opening: Opening) -> Reason | None:
    """Return the truncation if an offset was used that was committed for truncated records."""
    committed, evidence = opening.committed, (opening.committed.link, opening.committed.truncation)
    found = committed.truncation is not None and opening.source == PositionSource.COMMITTED
    return Reason(Cause.TRUNCATED, "position not checked", evidence) if found else None


def _out_of_truncated_range(opening: Opening) -> Reason | None:
    """Return an offset out of range because of a truncation, not because of retention."""
    truncation = _truncation(opening)
    if opening.source not in RESETS or opening.why not in NOT_IN_THE_LOG or truncation is None:
        return None
    return _out_of_range(opening, truncation)


# -- coordinators ----------------------------------------------------------------------------


def _accepted_by_stale_leader(opening: Opening) -> Reason | None:
    """Return a commit that went into the log of a replaced leader."""
    failed = _uncovered(opening, opening.previous.stale)
    if failed is None:
        return None
    return Reason(Cause.STALE_COORDINATOR, failed.error, (failed.reason, failed.link))


def _not_replicated(opening: Opening) -> Reason | None:
    """Return a commit that the next leader of the offsets partition does not have."""
    committed, failover = opening.committed, opening.failover
    if committed.offset <= opening.start or not opening.failed_over:
        return None
    assert committed.accepted is not None, "a failover follows a known commit"
    link, unclean = committed.link, opening.coordinators.unclean_after(committed.accepted)
    if unclean is not None:
        return Reason(Cause.NOT_REPLICATED, UNCLEAN, (link, unclean, failover))
    return Reason(Cause.NOT_REPLICATED, NOT_ON_NEXT_LEADER, (link, failover))


def _fetched_from_stale_leader(opening: Opening) -> Reason | None:
    """Return the older offset of a replaced leader that does not know it was replaced."""
    committed, split = opening.committed, opening.coordinators.split
    fetched = opening.source not in RESETS or opening.why == ResetReason.NO_OFFSET
    if split is None or not fetched or committed.offset <= opening.start:
        return None
    return Reason(Cause.STALE_COORDINATOR, OLDER_OFFSET, (split, committed.link))


def _refused_while_loading(opening: Opening) -> Reason | None:
    """Return a commit refused because the coordinator was still loading its partition."""
    refused = _uncovered(opening, opening.previous.refused)
    if refused is None or refused.error != LOADING:
        return None
    loaded = opening.coordinators.loaded
    if loaded is None or loaded.instant < refused.link.instant:
        return Reason(Cause.LOADING, "", (refused.link,))
    detail = f"the load took {opening.coordinators.load_us / 1e6:.1f} s"
    return Reason(Cause.LOADING, detail, (loaded, refused.link))


# -- messages and owners ---------------------------------------------------------------------


def _message_lost(opening: Opening) -> Reason | None:
    before = opening.previous
    lost = _uncovered(opening, before.lost)
    outage = opening.outage
    if lost is None and before.closed_by is not None:
        lost = opening.undecided
        if before.why in ENDED and not _broker_failed_after(outage, lost):
            lost = None
    if lost is None:
        return None
    if outage is not None and not before.opened.instant < outage.instant < lost.link.instant:
        outage = outage if _broker_failed_after(outage, opening.undecided) else None
    return Reason(Cause.MESSAGE_LOST, lost.error, (outage, lost.link))


def _broker_failed_after(outage: Link | None, sent: FailedCommit | None) -> bool:
    """Return whether a broker failed while an undecided commit was in flight."""
    return outage is not None and sent is not None and outage.instant > sent.link.instant


def _refused(opening: Opening) -> Reason | None:
    refused = _uncovered(opening, opening.previous.refused)
    return Reason(Cause.REFUSED, refused.error, (refused.link,)) if refused is not None else None


def _concurrent_owners(opening: Opening) -> Reason | None:
    return two_owners(opening.coordinators) if opening.previous.is_kept else None


def _kept(opening: Opening) -> Reason | None:
    before, epoch = opening.previous, opening.epoch
    same = (before.consumer, before.incarnation) == (epoch.consumer, epoch.incarnation)
    return Reason(Cause.KEPT_REWOUND, before.why) if same else None


def _crashed(opening: Opening) -> Reason | None:
    why = opening.previous.why
    detail = "" if why == End.CRASHED else End.FAILED.value
    return Reason(Cause.CRASHED, detail) if why in ENDED else None


def _revoked(opening: Opening) -> Reason:
    """Return the remaining reason: revoked, lost, or closed without committing enough."""
    why = opening.previous.why
    return Reason(Cause.REVOKED, "" if why == End.REVOKED else why)


REPEAT_RULES: tuple[Rule, ...] = (
    _seek,
    _sought_outside,
    _reset_back_by_admin,
    _rewind,
    _off_by_one,
    _reset,
    _position_truncated,
    _accepted_by_stale_leader,
    _not_replicated,
    _fetched_from_stale_leader,
    _message_lost,
    _refused_while_loading,
    _refused,
    _concurrent_owners,
    _kept,
    _crashed,
    _revoked,
)

SKIP_RULES: tuple[Rule, ...] = (
    _seek,
    _sought_outside,
    _reset_forward_by_admin,
    _position_not_checked,
    _out_of_truncated_range,
    _reset_beyond,
    _retention,
    _of_old_topic,
    _committed_ahead,
)
