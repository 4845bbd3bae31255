"""Types that meters share: their interface, the readings they return at the end, and a stopwatch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import Event, OffsetGaps
from emulator.events.run import end_of_finished
from emulator.ledger.entries import Ledger

if TYPE_CHECKING:
    from emulator.events.offsets import Removed

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


@dataclass(slots=True)
class Stopwatch:
    """The total and longest duration of a recurring condition."""

    since_us: int | None = None
    """Start of the current occurrence; None: the condition does not hold."""

    total_us: int = 0
    longest_us: int = 0

    def begin(self, at_us: int) -> None:
        """Begin the condition, unless it holds already."""
        if self.since_us is None:
            self.since_us = at_us

    def end(self, at_us: int) -> None:
        """End the condition, if it holds."""
        if self.since_us is not None:
            lasted = at_us - self.since_us
            self.since_us = None
            self.total_us += lasted
            self.longest_us = max(self.longest_us, lasted)

    def begin_again(self, at_us: int) -> None:
        """Discard what was measured; a condition that holds begins at *at_us*."""
        self.total_us = self.longest_us = 0
        if self.since_us is not None:
            self.since_us = at_us


@dataclass(slots=True)
class PartitionState:
    """One partition: its owners in the order of their epochs, and how many of them work."""

    owners: tuple[str, ...] = ()
    working: int = 0
    starting: bool = False
    """Whether its start-up lasts: it existed when its group started, and had no owner since."""

    unowned: Stopwatch = field(default_factory=Stopwatch)
    overlap: Stopwatch | None = None
    """None: it never had several working owners."""

    def own(self, consumer: str) -> None:
        """Add an owner, or move it to the end."""
        self.owners = (*[each for each in self.owners if each != consumer], consumer)

    def disown(self, consumer: str) -> None:
        """Remove an owner."""
        self.owners = tuple([each for each in self.owners if each != consumer])

    def end(self, at_us: int) -> None:
        """End what is measured."""
        self.unowned.end(at_us)
        if self.overlap is not None:
            self.overlap.end(at_us)

    def change(self, step: int, at_us: int) -> None:
        """Add *step* (1 or -1) to the number of working owners."""
        self.working += step
        if self.working == 0:
            self.unowned.begin(at_us)
        else:
            self.unowned.end(at_us)
        if self.working > 1:
            self.overlap = self.overlap or Stopwatch()
            self.overlap.begin(at_us)
        elif self.overlap is not None:
            self.overlap.end(at_us)


@dataclass(slots=True, eq=False)
class Reader:
    """One open epoch: its owner, generation and position."""

    consumer: str
    generation: int
    cursor: int
    out_of_order: dict[int, int] | None = None
    """First to next offset of what was processed beyond the cursor; None: no worker has overtaken."""

    gaps: OffsetGaps | Removed | None = None
    """Which offsets hold no record, without what it had fetched before compaction; None: all hold one."""

    def move(self, next_offset: int) -> None:
        """Move the cursor over what was processed."""
        if self.out_of_order:
            next_offset = end_of_finished(next_offset, self.out_of_order, self.gaps)
        self.cursor = next_offset


def readers_with(readers: tuple[Reader, ...], new: Reader) -> tuple[Reader, ...]:
    """Return the epochs with a new one, in place of that of the same consumer."""
    if any(each.consumer == new.consumer for each in readers):
        return tuple([new if each.consumer == new.consumer else each for each in readers])
    return (*readers, new)


def readers_without(readers: tuple[Reader, ...], consumer: str) -> tuple[Reader, ...]:
    """Return the epochs without that of a consumer."""
    return tuple([each for each in readers if each.consumer != consumer])


class Meter(Protocol):
    """Computes one concern of a run, event by event, in bounded memory."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""

    def read(self, ended_us: int) -> Reading:
        """Return the numbers of a run that ended at *ended_us*."""


class LateMeter(Protocol):
    """Computes one concern that only some scenarios have; it also reads the finished ledger."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""

    def read(self, ended_us: int, ledger: Ledger) -> Reading:
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


def longest_by_group(stopwatches: Mapping[Key, Stopwatch]) -> dict[str, Number]:
    """Return the longest time of each group's partitions, in seconds, by group."""
    found: dict[str, int] = {}
    for (group, _), each in sorted(stopwatches.items(), key=lambda item: item[0]):
        found[group] = max(found.get(group, 0), each.longest_us)
    return in_seconds(found)


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


def lasted(phases: Iterable[tuple[int | None, int | None]]) -> list[int]:
    """Return the durations of the phases that have begun and ended."""
    return [end - start for start, end in phases if start is not None and end is not None]
