"""Joining a group, and hearing what to own (``AbstractMembershipManager``, spec kip848 3.3, 3.4)."""

from __future__ import annotations

from protocols.consumer.kip848.membership import (
    NO_ASSIGNMENT,
    Ids,
    Membership,
    MemberState,
    Overtaken,
    Reconciling,
    by_id,
)
from protocols.consumer.kip848.telling import changed
from protocols.consumer.kip848.values import ClientState
from protocols.machine import Step
from protocols.messages import JOIN_EPOCH, ConsumerGroupHeartbeatResponse


def join(state: ClientState) -> Step[ClientState]:
    """Be about to join with epoch 0; a reconciliation under way has lost its sense."""
    member = overtaken(state.member)._replace(
        epoch=JOIN_EPOCH, target=NO_ASSIGNMENT, current=NO_ASSIGNMENT
    )
    return changed(state, member.to(MemberState.JOINING))


def overtaken(member: Membership) -> Membership:
    """Return the member with its reconciliation, if there is one, due to end without effect."""
    if not isinstance(member.reconciling, Reconciling):
        return member
    return member._replace(reconciling=Overtaken(member.reconciling.stage))


def heard(state: ClientState, response: ConsumerGroupHeartbeatResponse) -> Step[ClientState]:
    """Take a good answer: the epoch, and an assignment if there is one."""
    member = state.member
    outside = not member.state.in_group or member.state is MemberState.LEAVING
    if outside or response.member_epoch < 0:
        return Step(state)
    member = member._replace(epoch=response.member_epoch)
    if response.assignment is None or not member.state.takes_assignments:
        return Step(state.becoming(member))
    return _told(state, member, by_id(response.assignment))


def _told(state: ClientState, member: Membership, told: Ids) -> Step[ClientState]:
    member = member._replace(target=member.target.with_target(told))
    if not member.reconciled:
        return changed(state, member.to(MemberState.RECONCILING))
    if member.state in (MemberState.RECONCILING, MemberState.JOINING):
        return changed(state, member.to(MemberState.STABLE))
    return Step(state.becoming(member))


def acknowledged(state: ClientState) -> Step[ClientState]:
    """Go on once a heartbeat was made: it tells what the member owns."""
    member = state.member
    if member.state is not MemberState.ACKNOWLEDGING:
        return Step(state)
    after = MemberState.STABLE if member.reconciled else MemberState.RECONCILING
    return changed(state, member.to(after))
