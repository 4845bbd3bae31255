"""Giving up all that is owned, because it is lost already (spec kip848 3.6, 3.7)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.kip848.calls import Purpose
from protocols.consumer.kip848.events import need
from protocols.consumer.kip848.joining import join
from protocols.consumer.kip848.membership import NO_ASSIGNMENT, MemberState, Release
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.machine import Step


def give_up(
    state: ClientState, consumer: Consumer, release: Release, now: int
) -> Step[ClientState]:
    """Stop reading everything that is owned, and have the application told that it is lost."""
    if not state.assignment:
        return released(state.becoming(state.member._replace(release=release)))
    member = state.member._replace(release=release)
    state = replace(state, member=member, pending=frozenset(state.assignment))
    return need(state, consumer, "lost", state.assignment, Purpose.RELEASE, now)


def released(state: ClientState) -> Step[ClientState]:
    """Own nothing any more; join again if that was waited for."""
    then = state.member.release
    member = state.member._replace(current=NO_ASSIGNMENT, release=Release.DONE)
    state = replace(
        state, member=member, assignment=(), awaiting=(), pending=frozenset(), offsets_asked=None
    )
    rejoins = member.state in (MemberState.FENCED, MemberState.STALE)
    return join(state) if then is Release.THEN_JOIN and rejoins else Step(state)
