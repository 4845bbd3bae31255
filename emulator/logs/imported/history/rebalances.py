"""What one generation changed of the one before, without saying why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from emulator.logs.imported.history.generations import Generation, Place
from emulator.logs.imported.history.members import Member, Roster, Seen

MOST_NAMED: Final = 50
"""Members that a change names; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A member that is gone, and how long the coordinator would have waited for it."""

    seen: Seen
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One generation against the one before."""

    place: Place
    group_type: str
    epoch: int
    assignor: str | None
    members: int
    joined: tuple[Seen, ...] = ()
    joined_count: int = 0
    left: tuple[Departure, ...] = ()
    left_count: int = 0
    rejoined: tuple[Seen, ...] = ()
    """Static members that came back under a new id, which is the one named."""

    resubscribed: tuple[Seen, ...] = ()
    """Members that read other topics than before."""

    partitions_before: int = 0
    partitions: int = 0
    """How many partitions all members had together; only classic groups are written with them."""

    first: bool = False
    """The log shows no generation before it: nothing is known to have changed."""

    same_epoch: bool = False
    """The group was written again in the same generation or epoch."""

    converted: bool = False
    """The group was of another type before."""

    deleted: bool = False


def change(before: Generation | None, after: Generation) -> Change:
    """Return what a generation changed; *before*: None if it is the first one that is seen."""
    then = {} if before is None or before.deleted else before.roster
    now = after.roster
    came = [now[each] for each in now if each not in then]
    gone = [then[each] for each in then if each not in now]
    back = {each.instance_id for each in came} & {each.instance_id for each in gone} - {None}
    joined = [each.seen for each in came if each.instance_id not in back]
    left = [each for each in gone if each.instance_id not in back]
    return Change(
        place=after.place,
        group_type=after.group_type,
        epoch=after.epoch,
        assignor=after.assignor,
        members=len(now),
        joined=tuple(joined[:MOST_NAMED]),
        joined_count=len(joined),
        left=tuple(_departure(each) for each in left[:MOST_NAMED]),
        left_count=len(left),
        rejoined=_named(each for each in came if each.instance_id in back),
        resubscribed=_named(
            now[each] for each in now if each in then and now[each].topics != then[each].topics
        ),
        partitions_before=_partitions(then),
        partitions=_partitions(now),
        first=before is None,
        same_epoch=before is not None and not before.deleted and before.epoch == after.epoch,
        converted=before is not None and before.group_type != after.group_type,
        deleted=after.deleted,
    )


def _departure(member: Member) -> Departure:
    return Departure(
        seen=member.seen,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )


def _named(members: Iterable[Member]) -> tuple[Seen, ...]:
    return tuple(each.seen for each in members)[:MOST_NAMED]


def _partitions(roster: Roster) -> int:
    return len({assigned for member in roster.values() for assigned in member.assigned})
