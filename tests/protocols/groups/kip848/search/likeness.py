"""When two states of a machine are one: they differ only in what no rule looks at.

A state becomes a value of tuples. Moments count from now, those that are over are one, and so are
those that lie further ahead than any timer the search lets run out; correlation ids count by
their rank; names of facts for people, versions and ages are left out.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from immutables import Map

from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.member import NO_ASSIGNMENT, LocalAssignment
from protocols.consumer.kip848.state import ClientState, InFlight
from protocols.consumer.positions import Positions, Reading
from protocols.consumer.reader import Metadata
from protocols.java_maps import TimelineMap

AHEAD_US = 20_000_000
"""A deadline later than this never fires in the search."""

NUMBERS = frozenset({"number", "key", "lookup"})
"""Fields that hold a correlation id, or the key of a commit, which is counted with them."""

LEFT_OUT = frozenset(
    {
        "armed_us",
        "assigned_ms",
        "next_correlation_id",
        "session_timer",
        "taken_us",
        "why",
    }
)

SLOTS: Mapping[type, tuple[str, ...]] = {
    Fetcher: ("pending", "positions"),
    InFlight: ("api", "commit"),
    Positions: ("readings", "behind"),
    Reading: ("phase", "position", "retry_us"),
}
"""What counts of values of which not all does."""


class Likeness:
    """Values as of one moment, with the correlation ids in use."""

    def __init__(
        self,
        now_us: int,
        numbers: Collection[int] = (),
        assignments: Collection[LocalAssignment] = (),
    ) -> None:
        self._now_us = now_us
        self._ranks = {number: rank for rank, number in enumerate(sorted(numbers))}
        counts = sorted({assignment.epoch for assignment in assignments})
        self._counts = {count: rank for rank, count in enumerate(counts)}

    def moment(self, when_us: int) -> int:
        """Return how long it is till a moment; 0: it is over, -1: it never comes."""
        left = max(when_us - self._now_us, 0)
        return left if left < AHEAD_US else -1

    def of(self, value: Any) -> Any:
        """Return what counts of a value."""
        match value:
            case None | str() | bytes() | int():
                return value
            case LocalAssignment(epoch, partitions):
                return (self._counts[epoch] if epoch >= 0 else -1, partitions)
            case Metadata():
                return (value.wanted, value.in_flight is None, self.of(value.topics))
            case enum.Enum():
                return value.name
        return self._structured(value)

    def _structured(self, value: Any) -> Any:
        if isinstance(value, TimelineMap):
            return tuple((key, self.of(item)) for key, item in value.items())
        if isinstance(value, dict | Map):
            pairs = [(self.of(key), self.of(item)) for key, item in value.items()]
            return tuple(sorted(pairs, key=repr))
        if isinstance(value, frozenset):
            return frozenset(self.of(item) for item in value)
        names = _names_of(value)
        if names is not None:
            return self._fields(value, names)
        assert isinstance(value, tuple | list), f"{type(value)} is compared how?"
        return tuple(self.of(item) for item in value)

    def _fields(self, value: Any, names: Collection[str]) -> Any:
        kept = [name for name in names if name not in LEFT_OUT]
        return (type(value).__name__, *(self._field(name, getattr(value, name)) for name in kept))

    def _field(self, name: str, value: Any) -> Any:
        if name == "in_flight" and isinstance(value, dict):
            return tuple(self.of(flight) for _, flight in sorted(value.items()))
        if value is not None and name in NUMBERS:
            return self._ranks.get(value, -1)
        if value is not None and name.endswith("_us") and isinstance(value, int):
            return self.moment(value)
        return self.of(value)


def _names_of(value: Any) -> Collection[str] | None:
    if type(value) in SLOTS:
        return SLOTS[type(value)]
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    names: Collection[str] | None = getattr(value, "_fields", None)
    return names


def numbers_of(state: ClientState) -> list[int]:
    """Return the correlation ids, and keys of commits, that a client still knows."""
    waiting = [commit.key for commit in state.commits]
    sent = [flight.commit.key for flight in state.in_flight.values() if flight.commit is not None]
    events = [event.key for event in state.events if hasattr(event, "key")]
    app = [state.app.key] if hasattr(state.app, "key") else []
    return [*state.in_flight, *waiting, *sent, *events, *app]


def assignments_of(state: ClientState) -> list[LocalAssignment]:
    """Return the assignments that a client compares by their counts."""
    member = state.member
    resolved = getattr(member.reconciling, "resolved", NO_ASSIGNMENT)
    known = (member.target, member.current, resolved, state.beat.sent.local)
    return [each for each in known if each is not None and each != NO_ASSIGNMENT]
