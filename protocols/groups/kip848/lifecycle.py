"""How a consumer group comes to a coordinator: every timer starts in full.

Source: ``GroupMetadataManager.onLoaded`` (spec kip848 1.13).
"""

from __future__ import annotations

from dataclasses import replace

from protocols.facts import GroupLoaded
from protocols.groups.kip848.group import Group, MemberState
from protocols.groups.kip848.soft import NOTHING_SOFT, Soft
from protocols.groups.kip848.timers import patterns_timer, rebalance_timer, timers_beside
from protocols.groups.turn import Moment, Turn
from protocols.machine import CancelTimer, Effect, SetTimer, Tell


def taken_over(group: Group, at: Moment) -> Turn[Soft]:
    """Begin to coordinate a group of a log that was read to its end; no rebalance follows."""
    group_id, soft = group.group_id, NOTHING_SOFT
    session_us = at.after(at.broker.times_of(group_id).session_timeout_ms)
    effects: list[Effect] = []
    for member in group:
        effects.append(SetTimer(member.session_timer, session_us))
        if member.current.state is MemberState.UNREVOKED_PARTITIONS:
            timer = rebalance_timer(group_id, member.member_id)
            effects.append(SetTimer(timer, at.after(member.metadata.rebalance_timeout_ms)))
            revoking = soft.revoking.set(member.member_id, member.current.epoch)
            soft = replace(soft, revoking=revoking)
    loaded = GroupLoaded(
        group=group_id,
        generation=group.epoch,
        members=tuple(member.member_id for member in group),
    )
    return Turn(soft, (Tell(loaded), *effects))


def timers_of(group: Group) -> tuple[CancelTimer, ...]:
    """Return what ends every timer of a group that its coordinator gives up."""
    members = list(group)
    return (
        *(CancelTimer(member.session_timer) for member in members),
        *(
            CancelTimer(name)
            for member in members
            for name in timers_beside(group.group_id, member.member_id)
        ),
        CancelTimer(patterns_timer(group.group_id)),
    )
