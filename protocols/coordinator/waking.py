"""Which handler acts on which timer; one that belongs to nobody any more does nothing.

Source: the timers of ``CoordinatorRuntime`` (spec classic-coordinator 7, kip848 1.12).
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.coordinator.requests import kind_of
from protocols.groups import expiry, kip848, migration
from protocols.groups.classic import rebalance, sync
from protocols.groups.classic.group import Group
from protocols.groups.classic.heartbeat import session_over
from protocols.groups.classic.shard import on_group
from protocols.groups.classic.timers import JOIN, SESSION, SYNC
from protocols.groups.kinds import AnyShard
from protocols.groups.timers import EXPIRE_OFFSETS
from protocols.groups.turn import Moment, Turn


def woken(shard: AnyShard, timer: str, at: Moment) -> Turn[AnyShard]:
    """Act on a timer of a group, or of the look for what has expired."""
    if timer.startswith(SESSION):
        return session_over(shard, timer, at)
    if timer.startswith(JOIN):
        return _group_woken(shard, timer.removeprefix(JOIN), rebalance.time_is_up, at)
    if timer.startswith(SYNC):
        return _group_woken(shard, timer.removeprefix(SYNC), sync.time_is_up, at)
    if timer == EXPIRE_OFFSETS:
        return expiry.expire(shard, kind_of, at)
    assert kip848.on_shard.is_timer(timer), f"no timer {timer!r} was ever set"
    return migration.requests.woken(shard, timer, at)


def _group_woken(
    shard: AnyShard, group_id: str, wake: Callable[[Group, Moment], Turn[Group]], at: Moment
) -> Turn[AnyShard]:
    group = shard.groups.get(group_id)
    return Turn(shard) if group is None else on_group(shard, wake(group, at))
