"""Answering JoinGroups and SyncGroups that were kept open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from immutables import Map

from protocols.groups.classic.group import ANSWERED, Group, Member, in_order
from protocols.groups.turn import Moment, Turn
from protocols.java_maps import NOTHING
from protocols.machine import Effect, Send, SetTimer
from protocols.messages import Header, JoinGroupResponse, SyncGroupResponse
from protocols.messages.errors import ErrorCode


def refused_join(group: Group, member_id: str, error: ErrorCode, named: str = "") -> Turn[Group]:
    """Answer a member's parked JoinGroup, if there is one, with *error*.

    *named*: the member id the answer carries.
    """
    header = group.joining.get(member_id)
    if header is None:
        return Turn(group)
    answer = JoinGroupResponse(error=error, member_id=named)
    joining = group.joining.delete(member_id)
    return Turn(replace(group, joining=joining), _sent(header, answer))


def refused_sync(group: Group, member_id: str, error: ErrorCode) -> Turn[Group]:
    """Answer a member's parked SyncGroup, if there is one, with *error*; its session goes on."""
    header = group.syncing.get(member_id)
    if header is None:
        return Turn(group)
    syncing = group.syncing.delete(member_id)
    return Turn(replace(group, syncing=syncing), _sent(header, SyncGroupResponse(error=error)))


def answered_syncs(
    group: Group, at: Moment, answer: Callable[[Member], SyncGroupResponse]
) -> Turn[Group]:
    """Answer every parked SyncGroup; each member answered starts a fresh session."""
    effects = list[Effect]()
    syncing = group.syncing
    for member in in_order(group) if syncing else ():
        header = syncing.get(member.member_id)
        if header is not None:
            effects += _sent(header, answer(member))
            effects.append(SetTimer(member.timer, at.after(member.session_timeout_ms)))
    return Turn(replace(group, syncing=NOTHING), tuple(effects))


def answered_joins(group: Group, answer: Callable[[Member], JoinGroupResponse]) -> Turn[Group]:
    """Answer every parked JoinGroup; sessions are not touched."""
    effects = list[Effect]()
    joining = group.joining
    for member in in_order(group) if joining else ():
        header = joining.get(member.member_id)
        if header is not None:
            effects += _sent(header, answer(member))
    return Turn(replace(group, joining=NOTHING), tuple(effects))


def given_up(waiting: Map[str, Header], member_id: str, header: Header) -> Map[str, Header] | None:
    """Return who waits after *header* was answered early, or None if it waits no more.

    The member goes on waiting for its phase to end, but nobody is there to be told.
    """
    if waiting.get(member_id) != header:
        return None
    return waiting.set(member_id, ANSWERED)


def _sent(header: Header, answer: JoinGroupResponse | SyncGroupResponse) -> tuple[Send, ...]:
    return () if header == ANSWERED else (Send(header, answer),)
