"""The members and generations of a group, the owners of its partitions, and changes between them.

A classic group is written as a whole, once a generation, and again when a static member returns
under a new id. Groups of the newer protocols are written in several records: a generation here is a
group epoch, with the members at that record; a member that was replaced without a new epoch is
recognised at the end of its batch, where the timestamp changes.

Owners of partitions are those of the classic assignment, or of the current assignment of members
(not of the target): a member that has to revoke a partition owns it until another member has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final, NamedTuple

from assignors.values import dataclass

Roster = Mapping[str, "Member"]
"""Members by id, in the order in which the log names them."""

Assigned = tuple[str, int]
"""A topic (its name, or its id in a group of the newer protocols) and a partition of it."""


class Seen(NamedTuple):
    """A member, as it is named in a change of the group."""

    member_id: str
    name: str
    """The instance id of a static member, else the client id."""

    host: str
    """Empty for a static member, which is the same on every host."""

    def __str__(self) -> str:
        return f"{self.name} ({self.host})" if self.host else self.name


@dataclass(frozen=True, slots=True)
class Member:
    """One member, as in the log."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] = ()
    assigned: tuple[Assigned, ...] = ()

    @property
    def name(self) -> str:
        """Its name for users: the instance id, else the client id."""
        return self.instance_id or self.client_id or self.member_id

    @property
    def seen(self) -> Seen:
        """Return the name and the host, which identify the member in a change."""
        host = "" if self.instance_id else self.client_host.removeprefix("/")
        return Seen(self.member_id, self.name, host)


def member_of(entry: Mapping[str, Any]) -> Member:
    """Return a member from its row in the table ``groups``."""
    return Member(
        member_id=entry["member_id"] or "",
        instance_id=entry["instance_id"],
        client_id=entry["client_id"] or "",
        client_host=entry["client_host"] or "",
        session_timeout_ms=entry["session_timeout_ms"],
        rebalance_timeout_ms=entry["rebalance_timeout_ms"],
        topics=tuple(sorted(entry["topics"] or ())),
        assigned=assigned_of(entry),
    )


def assigned_of(entry: Mapping[str, Any]) -> tuple[Assigned, ...]:
    """Return the partitions that a record assigns to a member, sorted."""
    return tuple(
        sorted(
            (each["topic"], partition)
            for each in entry["assignment"] or ()
            for partition in each["partitions"] or ()
        )
    )


def with_assigned(member: Member, assigned: tuple[Assigned, ...]) -> Member:
    """Return the member with other partitions."""
    return replace(member, assigned=assigned)


CLASSIC: Final = "classic"
_CLASSIC_GROUP = 2
_EPOCH: Final = {3: "consumer", 11: "share", 17: "streams"}
_MEMBER: Final = frozenset({5, 10, 19})
_CURRENT: Final = frozenset({8, 14})
"""Without 22: a streams group has tasks instead of partitions."""

Row = Mapping[str, Any]
"""A row of the table ``groups``."""


class Place(NamedTuple):
    """The position and time of a record in the log."""

    log_partition: int
    log_offset: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Generation:
    """A group from one record on, until its next generation."""

    place: Place
    group_type: str
    epoch: int
    assignor: str | None
    roster: Roster
    deleted: bool = False


class Owner(NamedTuple):
    """The new owner of a partition."""

    place: Place
    assigned: Assigned
    member: Seen | None
    """None: no owner."""


@dataclass(slots=True)
class Follower:
    """Follows the records of one group, in the order of the log."""

    _roster: dict[str, Member] = field(default_factory=dict)
    _owners: dict[Assigned, Seen] = field(default_factory=dict)
    _group_type: str = CLASSIC
    _epoch: int = -1
    _assignor: str | None = None
    _unwritten: Place | None = None
    """The place of the last change of members that has no new epoch yet."""

    @property
    def roster(self) -> Roster:
        """Return the current members."""
        return self._roster

    def see(self, row: Row) -> Iterator[Generation | Owner]:
        """Apply a record; yield the changes."""
        place = Place(row["log_partition"], row["log_offset"], row["timestamp"])
        if self._unwritten is not None and self._unwritten.at_ms != place.at_ms:
            yield from self.end()
        number = row["record_type"]
        if number == _CLASSIC_GROUP:
            yield from self._classic(row, place)
        elif number in _EPOCH:
            yield from self._new_epoch(row, place)
        elif number in _MEMBER:
            self._member(row, place)
        elif number in _CURRENT:
            yield from self._current(row, place)

    def end(self) -> Iterator[Generation]:
        """Yield a generation if members were replaced without a new epoch in the ended batch."""
        if self._unwritten is not None:
            yield self._generation(self._unwritten)

    # -- classic groups ----------------------------------------------------------------------------

    def _classic(self, row: Row, place: Place) -> Iterator[Generation | Owner]:
        if row["is_tombstone"]:
            yield from self._deleted(CLASSIC, place)
            return
        self._group_type, self._epoch = CLASSIC, row["epoch"]
        self._assignor = row["protocol"] or None
        members = [member_of(each) for each in row["members"] or ()]
        self._roster = {each.member_id: each for each in members}
        yield self._generation(place)
        had: dict[Assigned, Seen | None] = dict.fromkeys(self._owners)
        for each in members:
            had |= dict.fromkeys(each.assigned, each.seen)
        yield from self._owned(had, place)

    # -- groups of the newer protocols -------------------------------------------------------------

    def _new_epoch(self, row: Row, place: Place) -> Iterator[Generation | Owner]:
        group_type = _EPOCH[row["record_type"]]
        if row["is_tombstone"]:
            yield from self._deleted(group_type, place)
            return
        self._group_type, self._epoch = group_type, row["epoch"]
        yield self._generation(place)

    def _member(self, row: Row, place: Place) -> None:
        member_id = row["member_id"]
        self._unwritten = place
        if row["is_tombstone"]:
            self._roster.pop(member_id, None)
            return
        for entry in row["members"] or ():
            known = self._roster.get(member_id)
            member = replace(member_of(entry), member_id=member_id)
            self._roster[member_id] = with_assigned(member, known.assigned if known else ())
        self._assignor = row["protocol"] or self._assignor

    def _current(self, row: Row, place: Place) -> Iterator[Owner]:
        member = self._roster.get(row["member_id"])
        if row["is_tombstone"] or member is None:
            id_ = row["member_id"]
            lost = [tp for tp, owner in self._owners.items() if owner.member_id == id_]
            yield from self._owned(dict.fromkeys(lost), place)
            return
        for entry in row["members"] or ():
            member = with_assigned(member, assigned_of(entry))
            self._roster[member.member_id] = member
            yield from self._owned(dict.fromkeys(member.assigned, member.seen), place)

    # -- both --------------------------------------------------------------------------------------

    def _deleted(self, group_type: str, place: Place) -> Iterator[Generation | Owner]:
        """Yield the end of a group, unless it has been converted to another type."""
        if group_type != self._group_type:
            return
        yield replace(self._generation(place, roster={}), deleted=True)
        yield from self._owned(dict.fromkeys(self._owners), place)
        self._roster = {}

    def _generation(self, place: Place, roster: Roster | None = None) -> Generation:
        self._unwritten = None
        members = dict(self._roster) if roster is None else roster
        return Generation(place, self._group_type, self._epoch, self._assignor, members)

    def _owned(self, owners: Mapping[Assigned, Seen | None], place: Place) -> Iterator[Owner]:
        for assigned, member in sorted(owners.items(), key=lambda each: each[0]):
            if self._owners.get(assigned) == member:
                continue
            if member is None:
                del self._owners[assigned]
            else:
                self._owners[assigned] = member
            yield Owner(place, assigned, member)


MAX_NAMED: Final = 50
"""Maximum number of members that a change names; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A member that is no longer in the group, with its timeouts."""

    seen: Seen
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One generation compared with the one before."""

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
    """Static members that returned under a new id; they are named by the new id."""

    resubscribed: tuple[Seen, ...] = ()
    """Members with a changed subscription."""

    partitions_before: int = 0
    partitions: int = 0
    """Number of partitions of all members together; only records of classic groups contain them."""

    first: bool = False
    """Whether this is the first generation in the log, so that its changes are unknown."""

    same_epoch: bool = False
    """Whether the group was written again in the same generation or epoch."""

    converted: bool = False
    """Whether the group was of another type before."""

    deleted: bool = False


def change(before: Generation | None, after: Generation) -> Change:
    """Return the change from *before* to a generation; None: it is the first one in the log."""
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
        joined=tuple(joined[:MAX_NAMED]),
        joined_count=len(joined),
        left=tuple(_departure(each) for each in left[:MAX_NAMED]),
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
    return tuple(each.seen for each in members)[:MAX_NAMED]


def _partitions(roster: Roster) -> int:
    return len({assigned for member in roster.values() for assigned in member.assigned})
