"""A group's records, one behind the other, as its generations and the owners of its partitions.

A classic group is written whole, once a generation, and again when a static member comes back
under a new id. Groups of the newer protocols are written fact by fact: a generation here is a
group epoch, with the members as they are when the epoch is written; a member that was replaced
without a new epoch shows at the end of its batch, which is where the timestamp changes.

Owners of partitions are those of the classic assignment, or of the current assignment of members
(not of the target): somebody who has to give a partition up owns it until another one has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from emulator.logs.imported.history.members import (
    Assigned,
    Member,
    Roster,
    Seen,
    assigned_of,
    member_of,
    with_assigned,
)

CLASSIC: Final = "classic"
_CLASSIC_GROUP = 2
_EPOCH: Final = {3: "consumer", 11: "share", 17: "streams"}
_MEMBER: Final = frozenset({5, 10, 19})
_CURRENT: Final = frozenset({8, 14})
"""Without 22: tasks of a streams group are no partitions."""

Row = Mapping[str, Any]
"""One of the table ``groups``."""


class Place(NamedTuple):
    """Where a record stands in the log, and of when it is."""

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
    """From here on a partition has this owner."""

    place: Place
    assigned: Assigned
    member: Seen | None
    """None: nobody."""


@dataclass(slots=True)
class Follower:
    """Follows the records of one group, in the order of the log."""

    _roster: dict[str, Member] = field(default_factory=dict)
    _owners: dict[Assigned, Seen] = field(default_factory=dict)
    _group_type: str = CLASSIC
    _epoch: int = -1
    _assignor: str | None = None
    _unwritten: Place | None = None
    """Of the last change of members without an epoch yet."""

    @property
    def roster(self) -> Roster:
        """The members by now."""
        return self._roster

    def see(self, row: Row) -> Iterator[Generation | Owner]:
        """Take in a record; yield what it changed."""
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
        """Yield what the end of a batch tells: members were replaced without a new epoch."""
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
        for told in row["members"] or ():
            known = self._roster.get(member_id)
            member = replace(member_of(told), member_id=member_id)
            self._roster[member_id] = with_assigned(member, known.assigned if known else ())
        self._assignor = row["protocol"] or self._assignor

    def _current(self, row: Row, place: Place) -> Iterator[Owner]:
        member = self._roster.get(row["member_id"])
        if row["is_tombstone"] or member is None:
            id_ = row["member_id"]
            lost = [tp for tp, owner in self._owners.items() if owner.member_id == id_]
            yield from self._owned(dict.fromkeys(lost), place)
            return
        for told in row["members"] or ():
            member = with_assigned(member, assigned_of(told))
            self._roster[member.member_id] = member
            yield from self._owned(dict.fromkeys(member.assigned, member.seen), place)

    # -- both --------------------------------------------------------------------------------------

    def _deleted(self, group_type: str, place: Place) -> Iterator[Generation | Owner]:
        """Yield the end of a group, if it is of that type still: it may have become another."""
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
