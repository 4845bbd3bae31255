"""Leaving the group: asked to, or because nobody polls (spec kip848 3.6, 3.8)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.calls import CloseOperation
from protocols.consumer.kip848.calls import Purpose
from protocols.consumer.kip848.events import need
from protocols.consumer.kip848.joining import overtaken
from protocols.consumer.kip848.membership import NO_ASSIGNMENT, MemberState
from protocols.consumer.kip848.telling import changed
from protocols.consumer.kip848.values import Asked, ClientState, Consumer
from protocols.facts import Dropped
from protocols.machine import Step, Tell
from protocols.messages import JOIN_EPOCH, LEAVE_EPOCH, TEMPORARY_LEAVE_EPOCH

POLL_EXPIRED = "consumer poll timeout has expired."


def leave_epoch(consumer: Consumer, operation: CloseOperation) -> int | None:
    """Return the epoch a member leaves with; None: it says nothing."""
    static = consumer.settings.group_instance_id is not None
    match operation:
        case CloseOperation.LEAVE_GROUP:
            return LEAVE_EPOCH
        case CloseOperation.REMAIN_IN_GROUP if not static:
            return None
        case _:
            return TEMPORARY_LEAVE_EPOCH if static else LEAVE_EPOCH


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Leave because the subscription was dropped: first the listener is called."""
    state = replace(state, subscribed=None)
    if not state.member.state.in_group:
        return outside(state)
    step = changed(state, overtaken(state.member).to(MemberState.PREPARE_LEAVING))
    if not state.assignment:
        return step.then(lambda s: prepared(s, consumer))
    listener = "revoked" if state.member.epoch > 0 else "lost"
    return step.then(lambda s: need(s, consumer, listener, s.assignment, Purpose.LEAVE, now))


def prepared(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Go on after that listener call, unless the member was put out meanwhile."""
    if state.member.state is not MemberState.PREPARE_LEAVING:
        return outside(state)
    return set_out(state, leave_epoch(consumer, CloseOperation.DEFAULT))


def leave(state: ClientState, epoch: int | None) -> Step[ClientState]:
    """Leave at the end of close(), which has called the listener itself."""
    state = replace(state, subscribed=None)
    member = overtaken(state.member)
    if not member.state.in_group:
        return outside(state)
    if member.state is MemberState.LEAVING:
        return Step(state)
    if member.state is not MemberState.PREPARE_LEAVING:
        member = member.to(MemberState.PREPARE_LEAVING)
    return changed(state, member).then(lambda s: set_out(s, epoch))


def set_out(state: ClientState, epoch: int | None) -> Step[ClientState]:
    """Own nothing any more, and be about to say so with *epoch*; None: without a word."""
    member = state.member._replace(
        epoch=JOIN_EPOCH if epoch is None else epoch, current=NO_ASSIGNMENT
    )
    return changed(_owning_nothing(state), member.to(MemberState.LEAVING))


def _owning_nothing(state: ClientState) -> ClientState:
    return replace(state, assignment=(), awaiting=(), pending=frozenset(), offsets_asked=None)


def outside(state: ClientState) -> Step[ClientState]:
    """Own nothing in a member that is in no group as it is."""
    after = _owning_nothing(state)
    if state.member.state is not MemberState.FENCED:
        return Step(after)
    return changed(after, state.member.to(MemberState.UNSUBSCRIBED))


def poll_expired(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Leave because the application has not polled for too long: no call, no commit."""
    epoch = leave_epoch(consumer, CloseOperation.DEFAULT)
    assert epoch is not None, "by default a member says that it leaves"
    step = changed(state, overtaken(state.member).to(MemberState.PREPARE_LEAVING))
    member = step.state.member._replace(epoch=epoch, current=NO_ASSIGNMENT)
    step = step.then(lambda s: changed(s, member.to(MemberState.LEAVING)))
    return step.also(Tell(Dropped(reason=POLL_EXPIRED)))


def left(state: ClientState, after: MemberState) -> Step[ClientState]:
    """Count as gone, as soon as the heartbeat that leaves is made or cannot be sent."""
    return changed(state, state.member.to(after))


def skipped(state: ClientState) -> Step[ClientState]:
    """Leave without a word where no heartbeat can be sent."""
    if state.member.state is not MemberState.LEAVING:
        return Step(state)
    return left(state, MemberState.UNSUBSCRIBED)


def over(state: ClientState) -> bool:
    """Say whether nothing has to be waited for any more by who wanted to leave."""
    asked = (flight.asked for flight in state.in_flight.values())
    return not state.member.state.leaving and Asked.LEAVE not in asked
