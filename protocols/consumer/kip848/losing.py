"""Being put out of the group, and errors a member cannot go on from (spec kip848 3.7, 2.4)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.joining import overtaken
from protocols.consumer.kip848.membership import NO_ASSIGNMENT, MemberState, Release
from protocols.consumer.kip848.release import give_up
from protocols.consumer.kip848.telling import changed
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.facts import Dropped
from protocols.machine import Step, Tell
from protocols.messages import JOIN_EPOCH
from protocols.messages.errors import ErrorCode


def fenced(state: ClientState, consumer: Consumer, error: ErrorCode, now: int) -> Step[ClientState]:
    """React to having been removed: give everything up, then join again with the same id.

    A member that is leaving has left by that.
    """
    member = state.member
    if member.state.leaving:
        if member.state is MemberState.PREPARE_LEAVING:
            member = member.to(MemberState.LEAVING)
        gone = overtaken(member)._replace(epoch=JOIN_EPOCH, current=NO_ASSIGNMENT)
        return changed(state, gone.to(MemberState.UNSUBSCRIBED))
    if not member.state.in_group:
        return Step(state)
    put_out = overtaken(member)._replace(epoch=JOIN_EPOCH, target=NO_ASSIGNMENT)
    step = changed(state, put_out.to(MemberState.FENCED))
    told = Tell(Dropped(reason=f"heartbeat answered {error.name}"))
    return step.also(told).then(lambda s: give_up(s, consumer, Release.THEN_JOIN, now))


def died(
    state: ClientState, consumer: Consumer, error: ErrorCode, message: str, now: int
) -> Step[ClientState]:
    """React to an error that no heartbeat mends: everything is lost, and every poll throws.

    A member that is leaving gives up what it owns by that, and is not called for it again.
    """
    failed = Failed(exception_of(error), error, message)
    member = overtaken(state.member)._replace(epoch=JOIN_EPOCH, target=NO_ASSIGNMENT)
    step = changed(replace(state, died=failed), member.to(MemberState.FATAL))
    told = Tell(Dropped(reason=f"heartbeat answered {error.name}"))
    if state.member.state.leaving:
        return step.also(told)
    return step.also(told).then(lambda s: give_up(s, consumer, Release.RUNNING, now))


def throw_once(state: ClientState, error: ErrorCode) -> ClientState:
    """Let the next poll throw; the member goes on."""
    failed = Failed(exception_of(error), error)
    return replace(state, thrown=failed)


def exception_of(error: ErrorCode) -> str:
    """Return the name of the Java exception of an error code."""
    if error is ErrorCode.UNKNOWN_SERVER_ERROR:
        return "UnknownServerException"
    words = error.name.removesuffix("_FAILED").split("_")
    return "".join(word.capitalize() for word in words) + "Exception"
