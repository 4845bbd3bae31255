"""Dropping out of the group, and asking to come back (``AbstractCoordinator``, spec 3.1)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.classic.rebalancing import (
    AwaitingMetadata,
    JoinFailed,
    JoinFuture,
    PrepareNeeded,
    Reaction,
)
from protocols.consumer.classic.values import ClientState, Generation, Membership
from protocols.facts import Dropped
from protocols.machine import Step, Tell
from protocols.messages.errors import ErrorCode

LEFT_BY_ITSELF = "consumer pro-actively leaving the group"


def request_rejoin(state: ClientState, reason: str) -> ClientState:
    """Ask for a new JoinGroup at the next poll; a later reason replaces an earlier one."""
    return replace(state, rejoin=reason)


def reset(state: ClientState, reason: str, *, keep_member_id: bool) -> Step[ClientState]:
    """Drop generation, and member id unless kept: the partitions are lost at the next poll.

    The heartbeat thread stops, and onJoinPrepare will run (again). Source:
    ``resetStateAndRejoin``.
    """
    member_id = state.generation.member_id if keep_member_id else ""
    after = replace(
        state,
        membership=Membership.UNJOINED,
        generation=Generation(member_id=member_id),
        rejoin=reason,
        prepare=PrepareNeeded(),
        future=_outdated(state.future),
        beat=None,
    )
    return Step(after, (Tell(Dropped(reason=reason)),))


def _outdated(future: JoinFuture) -> JoinFuture:
    """End the join of a leader that waits for metadata: nothing it could send is awaited any more.

    Other joins end by the answer to the request in flight.
    """
    if not isinstance(future, AwaitingMetadata):
        return future
    error = ErrorCode.ILLEGAL_GENERATION
    return JoinFailed("IllegalGenerationException", Reaction.AT_ONCE, error)


def reset_by(
    state: ClientState, error: str, api: str, *, keep_member_id: bool
) -> Step[ClientState]:
    """Reset because a response said so; the reason names both, as the Java client's does."""
    reason = f"encountered {error} from {api} response"
    return reset(state, reason, keep_member_id=keep_member_id)
