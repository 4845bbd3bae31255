"""A reconciliation from its commit to its acknowledgement (``revokeAndAssign``, spec kip848 3.4)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.backoff import MS
from protocols.consumer.kip848.calls import Purpose
from protocols.consumer.kip848.events import need
from protocols.consumer.kip848.membership import MemberState, Reconciling, Stage
from protocols.consumer.kip848.subscription import unread
from protocols.consumer.kip848.telling import changed
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.machine import Step


def committed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on after the commit, however it ended: what goes is revoked next."""
    found = _under_way(state)
    if found is None:
        return Step(_ended(state))
    if not found.revoked:
        return _assign(state, consumer, found, now)
    state = _at(state, found, Stage.REVOKING)
    return need(state, consumer, "revoked", found.revoked, Purpose.REVOKE, now)


def revoked(state: ClientState, consumer: Consumer, now: int, *, threw: bool) -> Step[ClientState]:
    """Go on after onPartitionsRevoked; if it threw, the next poll begins anew."""
    found = _under_way(state)
    if found is None or threw:
        return Step(_ended(state))
    return _assign(state, consumer, found, now)


def _assign(
    state: ClientState, consumer: Consumer, found: Reconciling, now: int
) -> Step[ClientState]:
    state = _at(state, found, Stage.ASSIGNING)
    return need(state, consumer, "assigned", found.added, Purpose.ASSIGN, now)


def apply(state: ClientState, consumer: Consumer) -> ClientState | None:
    """Take the assignment, as the application does in poll just before onPartitionsAssigned.

    What is new in it is not read before that call has ended well, nor is what was new to an
    earlier call that threw. None: it has lost its sense.
    """
    found = _under_way(state)
    if found is None or found.stage is not Stage.ASSIGNING:
        return None
    waiting = frozenset((*state.awaiting, *found.added))
    awaiting = tuple(tp for tp in found.assigned if tp in waiting)
    state = replace(state, assignment=found.assigned, awaiting=awaiting)
    return replace(state, pending=unread(state, consumer))


def assigned(state: ClientState, consumer: Consumer, now: int, *, threw: bool) -> Step[ClientState]:
    """Go on after onPartitionsAssigned: acknowledge; if it threw, begin anew.

    What it was called with is owned by then, so that the next call has none of it, and lets it
    be read if it ends well.
    """
    found = _under_way(state)
    if found is None or threw:
        return Step(_ended(state))
    interval = consumer.settings.auto_commit_interval_ms * MS
    state = replace(_ended(state), awaiting=(), autocommit_us=now + interval)
    member = state.member._replace(current=found.resolved)
    return changed(state, member.to(MemberState.ACKNOWLEDGING))


def _under_way(state: ClientState) -> Reconciling | None:
    """Return the reconciliation, unless it is to be given up (``maybeAbortReconciliation``)."""
    found = state.member.reconciling
    if not isinstance(found, Reconciling) or state.member.state is not MemberState.RECONCILING:
        return None
    return found


def _ended(state: ClientState) -> ClientState:
    return state.becoming(state.member._replace(reconciling=None))


def _at(state: ClientState, found: Reconciling, stage: Stage) -> ClientState:
    reconciling = found._replace(stage=stage)
    return state.becoming(state.member._replace(reconciling=reconciling))
