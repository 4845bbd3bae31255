"""The history of a group from its own records, and its status at the end of the log.

Kafka deletes offsets by KIP-211: those of a classic group are kept for the retention from when it
became empty, those of a group of the newer protocols from their commit; those of topics that an
active group does not subscribe to from their commit (``protocols.groups.deletion``).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from assignors.values import dataclass
from emulator.logs.imports.generations import (
    CLASSIC,
    Change,
    Follower,
    Generation,
    Owner,
    Roster,
    Row,
    Seen,
    change,
)
from emulator.logs.imports.progress import Progress
from emulator.logs.imports.values import Assumptions, State

FLAPPING_RETURNS: Final = 3
FLAPPING_WITHIN_MS: Final = 3_600_000


@dataclass(slots=True)
class Presence:
    """The times at which members with one name and host were in the group."""

    first_ms: int
    last_ms: int
    """Time of the last join or leave; while present, of the last generation."""

    joins: int = 0
    leaves: int = 0
    returns: int = 0
    """Number of joins after a leave under that name: restarts, expired sessions."""

    away: int = 0
    """Number of members with that name that left and have not returned."""

    flapping: bool = False
    """Whether it returned ``FLAPPING_RETURNS`` times within one hour, at least once."""

    _returned_ms: deque[int] = field(default_factory=lambda: deque(maxlen=FLAPPING_RETURNS))

    def joined(self, at_ms: int) -> None:
        """Count a member that joined."""
        self.joins += 1
        self.last_ms = at_ms
        if self.away:
            self.away -= 1
            self._returned(at_ms)

    def left(self, at_ms: int) -> None:
        """Count a member that left."""
        self.leaves += 1
        self.away += 1
        self.last_ms = at_ms

    def came_back(self, at_ms: int) -> None:
        """Count a static member that returned under a new id."""
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
    """Changes of one group, and its members at the end."""

    group: str
    changes: list[Change] = field(default_factory=list)
    presences: dict[tuple[str, str], Presence] = field(default_factory=dict)
    """By name and host."""

    roster: Roster = field(default_factory=dict)
    """At the end of the log."""

    assignors: dict[str, int] = field(default_factory=dict)
    """The number of generations in which each assignor was in use."""

    records: int = 0
    first_ms: int = 0
    last_ms: int = 0

    _before: Generation | None = None
    _deleted: Generation | None = None
    """The group before its deletion, if the deletion is its last record."""

    _follower: Follower = field(default_factory=Follower)

    def see(self, row: Row) -> Iterator[Owner]:
        """Apply a record of the group; yield the new owners of partitions."""
        at_ms = row["timestamp"]
        self.first_ms = min(self.first_ms, at_ms) if self.records else at_ms
        self.last_ms = max(self.last_ms, at_ms)
        self.records += 1
        for latest in self._follower.see(row):
            if isinstance(latest, Generation):
                self._changed(latest)
            else:
                yield latest

    def closed(self) -> History:
        """Process the end of the log, and return the history."""
        for generation in self._follower.end():
            self._changed(generation)
        self.roster = dict(self._follower.roster)
        self._before = self._deleted = None
        self._follower = Follower()
        return self

    def _changed(self, generation: Generation) -> None:
        before = self._before
        if before is not None and before.deleted and _continues(before, generation):
            self.changes.pop()
            before = self._deleted
        latest = change(before, generation)
        self._deleted = before if generation.deleted else None
        self._before = generation
        self.changes.append(latest)
        if latest.assignor and not latest.same_epoch:
            self.assignors[latest.assignor] = self.assignors.get(latest.assignor, 0) + 1
        at_ms = latest.place.at_ms
        for seen in latest.joined:
            self._presence(seen, at_ms).joined(at_ms)
        for departure in latest.left:
            self._presence(departure.seen, at_ms).left(at_ms)
        for seen in latest.rejoined:
            self._presence(seen, at_ms).came_back(at_ms)

    def _presence(self, seen: Seen, at_ms: int) -> Presence:
        return self.presences.setdefault((seen.name, seen.host), Presence(at_ms, at_ms))


def _continues(deleted: Generation, generation: Generation) -> bool:
    """Return whether a group was deleted only to be rewritten as another type."""
    at_once = deleted.place.at_ms == generation.place.at_ms
    return at_once and deleted.group_type != generation.group_type


RISK_SHARE: Final = 0.25
"""An offset is at risk if at most this share of the retention time is left."""

IDLE_INTERVALS: Final = 20
IDLE_FROM_MS: Final = 300_000
"""A partition is idle if its offset did not advance for this many usual intervals and this time."""


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The status of one group."""

    state: State
    assumptions: Assumptions
    empty_since_ms: int | None
    """The subscriptions of a classic group that had members before."""

    topics: frozenset[str] | None
    """The topics that its members read; None: not in the log, so all count as subscribed."""

    assigned: Mapping[str, int] | None
    """Number of partitions of each member id at the end of the log; None: not in the log."""

    def expires_ms(self, progress: Progress) -> int | None:
        """Return when a committed offset will be deleted; None: not while the group stays as it is."""
        if progress.offset is None or self.state is State.DELETED:
            return None
        if self.state is State.ACTIVE and self._reads(progress.topic):
            return None
        since_ms = self.empty_since_ms if self.state is State.EMPTY else None
        base_ms = progress.last_ms if since_ms is None else since_ms
        return base_ms + self.assumptions.retention_ms

    def is_at_risk(self, expires_ms: int | None) -> bool:
        """Return whether little of the retention time is left."""
        left_ms = None if expires_ms is None else expires_ms - self.assumptions.end_ms
        return left_ms is not None and left_ms <= RISK_SHARE * self.assumptions.retention_ms

    def is_idle(self, progress: Progress, usual_ms: int | None) -> bool:
        """Return whether a partition has an owner and its committed offset does not advance."""
        if self.state is not State.ACTIVE or progress.owner is None:
            return False
        known = (progress.advanced_ms, progress.owned_since_ms)
        since_ms = max((each for each in known if each is not None), default=progress.first_ms)
        quiet_ms = self.assumptions.end_ms - since_ms
        return quiet_ms >= max(IDLE_FROM_MS, IDLE_INTERVALS * (usual_ms or 0))

    def _reads(self, topic: str) -> bool:
        return self.topics is None or topic in self.topics


def status_of(
    history: History, assumptions: Assumptions, progress: Sequence[Progress]
) -> GroupStatus:
    """Return the status of a group."""
    state = _state(history)
    classic = bool(history.changes) and history.changes[-1].group_type == CLASSIC
    return GroupStatus(
        state=state,
        assumptions=assumptions,
        empty_since_ms=_empty_since_ms(history) if classic else None,
        topics=_topics(history),
        assigned=_assigned(progress),
    )


def _state(history: History) -> State:
    if not history.changes:
        return State.OFFSETS_ONLY
    if history.changes[-1].deleted:
        return State.DELETED
    return State.ACTIVE if history.roster else State.EMPTY


def _empty_since_ms(history: History) -> int | None:
    """Return the time since which it has no members; None if the log shows no member at all."""
    had_members = any(change.members for change in history.changes)
    last = history.changes[-1]
    return last.place.at_ms if had_members and not last.members else None


def _topics(history: History) -> frozenset[str] | None:
    latest = [member.topics for member in history.roster.values()]
    return frozenset(topic for topics in latest for topic in topics) if all(latest) else None


def _assigned(progress: Sequence[Progress]) -> Mapping[str, int] | None:
    """Count the partitions of each member; if no member has any, assignments are not readable."""
    counts = Counter(each.owner.member_id for each in progress if each.owner is not None)
    return counts or None
