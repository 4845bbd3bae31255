"""Types and helpers that meters share: their interface, and the readings they return at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from assignors.types import TopicPartition
from emulator.events import Event

Number = int | float
Row = Mapping[str, Any]
"""One line of a listing; its values are text or numbers."""

Handler = Callable[[Event, Any], None]
"""Takes an event and its content, whose type is the one that the handler is registered for."""

Key = tuple[str, TopicPartition]
"""A partition as one group sees it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers by name, tables by name, and listings by name."""

    values: dict[str, Number]
    tables: dict[str, dict[str, Number]] = field(default_factory=dict)
    listings: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    without_value: frozenset[str] = frozenset()
    """Names in ``values`` that have no value, such as the time of a takeover without one."""


class Meter(Protocol):
    """Computes one concern of a run, event by event, in bounded memory."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""

    def read(self, ended_us: int) -> Reading:
        """Return the numbers of a run that ended at *ended_us*."""


def seconds(duration_us: int) -> float:
    """Return microseconds as seconds.

    >>> seconds(1_500_000)
    1.5
    """
    return duration_us / 1_000_000


def in_seconds(durations_us: Mapping[str, int]) -> dict[str, Number]:
    """Return a table of microseconds as one of seconds."""
    return {name: seconds(duration) for name, duration in durations_us.items()}


def named(counts: Mapping[Key, int]) -> dict[str, int]:
    """Name partitions ``topic-partition``; ``group/…`` if there are several groups."""
    several = len({group for group, _ in counts}) > 1
    ordered = sorted(counts.items())
    if several:
        return {f"{group}/{partition}": count for (group, partition), count in ordered}
    return {str(partition): count for (_, partition), count in ordered}


def longest(durations: Iterable[int]) -> float:
    """Return the maximum of durations in microseconds, in seconds; 0 if there are none."""
    return seconds(max(durations, default=0))
