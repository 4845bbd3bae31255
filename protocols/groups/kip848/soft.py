"""Soft state of a consumer group: the coordinator's state outside the records, and its timers.

Soft state is lost when the group moves to another coordinator; every timer then restarts. Timers
and the look-up outlive their group: they still run when the group is deleted or becomes classic,
and have an effect if there is a consumer group with that id and that member when they end.
Timer names are those of ``GroupMetadataManager``, except ``join-`` and ``sync-`` of classic
members, which would collide with those of classic groups.

Source: the metadata refresh deadline of ``ModernGroup``; the executor, the timers and ``onLoaded``
of ``GroupMetadataManager``.
"""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from assignors.values import dataclass
from protocols.facts import GroupLoaded
from protocols.groups.kip848.group import Group, MemberState
from protocols.groups.shard import LateTimers, Moment, Turn
from protocols.groups.topics import TopicsImage
from protocols.java_maps import NOTHING
from protocols.machine import CancelTimer, Effect, Report, SetTimer
from protocols.values import replace


class LookUp(NamedTuple):
    """A look-up of all patterns of a group, in progress."""

    patterns: tuple[str, ...]
    image: TopicsImage
    """The topics when the look-up began."""

    now_ms: int


@dataclass(frozen=True, slots=True)
class Soft:
    """The soft state of one consumer group."""

    checked_epoch: int | None = None
    """The group epoch at which the topics were last compared with the metadata; None: compare.

    If the group epoch is lower, the append of that epoch failed.
    """

    looking_up: LookUp | None = None
    revoking: Map[str, int] = NOTHING
    """Member id to its epoch when it had to revoke partitions; its rebalance timer is running."""

    rejoining: Map[str, None] = NOTHING
    """Classic members that must rejoin; their rejoin timers are running."""


NOTHING_SOFT = Soft()


def outliving(soft: Soft) -> Soft:
    """Return what another consumer group with the same id begins with: timers and look-up."""
    return replace(soft, checked_epoch=None)


def with_rejoin(soft: Soft, member_id: str) -> Soft:
    """Return the soft state after the rejoin timer of a member was set."""
    return replace(soft, rejoining=soft.rejoining.set(member_id, None))


def without_rejoin(soft: Soft, member_id: str) -> Soft:
    """Return the soft state after the rejoin timer of a member fired or was cancelled."""
    if member_id not in soft.rejoining:
        return soft
    return replace(soft, rejoining=soft.rejoining.delete(member_id))


def is_stale(group: Group, soft: Soft) -> bool:
    """Return whether the topics must be compared with the metadata again."""
    return soft.checked_epoch is None or group.epoch < soft.checked_epoch


def invalidate_metadata(soft: Soft) -> Soft:
    """Return the soft state after one of the group's topics changed."""
    return replace(soft, checked_epoch=None)


SESSION = "session-timeout-"
REBALANCE = "rebalance-timeout-"
REJOIN = "rejoin-timeout-"
RESYNC = "resync-timeout-"
PATTERNS = "resolve-patterns-"


def session_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a member without heartbeats."""
    return f"{SESSION}{group_id}-{member_id}"


def rebalance_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a member that does not revoke partitions."""
    return f"{REBALANCE}{group_id}-{member_id}"


def rejoin_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a classic member that does not rejoin."""
    return f"{REJOIN}{group_id}-{member_id}"


def resync_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a classic member that does not sync."""
    return f"{RESYNC}{group_id}-{member_id}"


def timers_beside(group_id: str, member_id: str) -> tuple[str, str, str]:
    """Return the names of a member's timers except the session timer."""
    return (
        rebalance_timer(group_id, member_id),
        rejoin_timer(group_id, member_id),
        resync_timer(group_id, member_id),
    )


def patterns_timer(group_id: str) -> str:
    """Return the name of the timer that ends the look-up of a group's patterns."""
    return PATTERNS + group_id


def on_loaded(group: Group, at: Moment) -> Turn[Soft]:
    """Start the timers of a loaded group in full; no rebalance follows."""
    group_id, soft = group.group_id, NOTHING_SOFT
    session_us = at.after(at.settings.group_consumer_session_timeout_ms)
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
    return Turn(soft, (Report(loaded), *effects))


def change_timers(soft: Soft, waiting: LateTimers, at: Moment) -> Turn[Soft]:
    """End and start the timers of a classic member whose request is durable now."""
    if rejoin_timer(waiting.group_id, waiting.member_id) in waiting.ends:
        soft = without_rejoin(soft, waiting.member_id)
    ended = (CancelTimer(name) for name in waiting.ends)
    started = (SetTimer(name, at.after(length_ms)) for name, length_ms in waiting.starts)
    return Turn(soft, (*ended, *started))


def timers_of(group: Group) -> tuple[CancelTimer, ...]:
    """Return the effects that cancel every timer of a group."""
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
