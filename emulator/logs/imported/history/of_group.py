"""All that a group's own records tell of it: small, however many members come and go."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from emulator.logs.imported.history.generations import Follower, Generation, Owner, Row
from emulator.logs.imported.history.members import Roster, Seen
from emulator.logs.imported.history.rebalances import Change, change

FLAPPING_RETURNS: Final = 3
FLAPPING_WITHIN_MS: Final = 3_600_000


@dataclass(slots=True)
class Presence:
    """When somebody of one name and host was in the group."""

    first_ms: int
    last_ms: int
    """When it was last seen to join or to leave; while present, of the last generation."""

    joins: int = 0
    leaves: int = 0
    returns: int = 0
    """Joins after a leave of somebody of that name: restarts, expired sessions."""

    away: int = 0
    """How many of that name have left and not come back."""

    flapping: bool = False
    """It came back so often within an hour, at least once."""

    _returned_ms: deque[int] = field(default_factory=lambda: deque(maxlen=FLAPPING_RETURNS))

    def joined(self, at_ms: int) -> None:
        """Count somebody who came."""
        self.joins += 1
        self.last_ms = at_ms
        if self.away:
            self.away -= 1
            self._returned(at_ms)

    def left(self, at_ms: int) -> None:
        """Count somebody who went."""
        self.leaves += 1
        self.away += 1
        self.last_ms = at_ms

    def came_back(self, at_ms: int) -> None:
        """Count a static member that came back under a new id."""
        self.joins += 1
        self._returned(at_ms)
        self.last_ms = at_ms

    def _returned(self, at_ms: int) -> None:
        self.returns += 1
        self._returned_ms.append(at_ms)
        often = len(self._returned_ms) == FLAPPING_RETURNS
        self.flapping |= often and at_ms - self._returned_ms[0] <= FLAPPING_WITHIN_MS


@dataclass(slots=True)
class History:
    """Changes of one group, and how it stands in the end."""

    group: str
    changes: list[Change] = field(default_factory=list)
    presences: dict[tuple[str, str], Presence] = field(default_factory=dict)
    """By name and host."""

    roster: Roster = field(default_factory=dict)
    """In the end."""

    assignors: dict[str, int] = field(default_factory=dict)
    """How many generations each was in use."""

    records: int = 0
    first_ms: int = 0
    last_ms: int = 0

    _before: Generation | None = None
    _deleted: Generation | None = None
    """What the group was before it was deleted, if that came last."""

    _follower: Follower = field(default_factory=Follower)

    def see(self, row: Row) -> Iterator[Owner]:
        """Take in a record of the group; yield the new owners of partitions."""
        at_ms = row["timestamp"]
        self.first_ms = min(self.first_ms, at_ms) if self.records else at_ms
        self.last_ms = max(self.last_ms, at_ms)
        self.records += 1
        for told in self._follower.see(row):
            if isinstance(told, Generation):
                self._changed(told)
            else:
                yield told

    def closed(self) -> History:
        """Take in that no record follows, and return itself."""
        for generation in self._follower.end():
            self._changed(generation)
        self.roster = dict(self._follower.roster)
        self._before = self._deleted = None
        self._follower = Follower()
        return self

    def _changed(self, generation: Generation) -> None:
        before = self._before
        if before is not None and before.deleted and _goes_on(before, generation):
            self.changes.pop()
            before = self._deleted
        told = change(before, generation)
        self._deleted = before if generation.deleted else None
        self._before = generation
        self.changes.append(told)
        if told.assignor and not told.same_epoch:
            self.assignors[told.assignor] = self.assignors.get(told.assignor, 0) + 1
        at_ms = told.place.at_ms
        for seen in told.joined:
            self._presence(seen, at_ms).joined(at_ms)
        for departure in told.left:
            self._presence(departure.seen, at_ms).left(at_ms)
        for seen in told.rejoined:
            self._presence(seen, at_ms).came_back(at_ms)

    def _presence(self, seen: Seen, at_ms: int) -> Presence:
        return self.presences.setdefault((seen.name, seen.host), Presence(at_ms, at_ms))


def _goes_on(deleted: Generation, generation: Generation) -> bool:
    """Say whether a group was deleted as one of a type only to be written as one of another."""
    at_once = deleted.place.at_ms == generation.place.at_ms
    return at_once and deleted.group_type != generation.group_type
