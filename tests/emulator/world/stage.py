"""A group of three to do things to, and what the events of its run show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import emulator
from assignors.types import TopicPartition
from emulator.events import CommitSent, Event, FaultBegan, FaultEnded, Processed, RunEnded
from emulator.playing import Run

SECOND = 1_000_000

TEXT = """
title = "staged"
run_for = "{run_for}"
{run}

[[topic]]
name = "t"
{topic}

[[group]]
id = "g"
topics = ["t"]
members = 3
coordinator = 1
{group}

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "{strategy}"
"session.timeout.ms" = "6s"
"heartbeat.interval.ms" = "1s"
{settings}

{more}
"""

TOPIC = """partitions = 6
rate = "8/s"
"""
GROUP = 'work = "5ms"'


@dataclass(frozen=True)
class Seen:
    """The events of one run."""

    run: Run

    @property
    def events(self) -> tuple[Event, ...]:
        return self.run.events

    def all(self, kind: type, /, **fields: Any) -> list[Event]:
        """Return the events of a kind with these fields, in order."""
        return [
            event
            for event in self.run.events
            if isinstance(event.what, kind)
            and all(getattr(event.what, name) == value for name, value in fields.items())
        ]

    def control(self, event_id: int) -> Event:
        """Return the control event with an id."""
        return next(event for event in self.run.events if event.id == event_id)

    def only(self, kind: type, /, **fields: Any) -> Event:
        """Return the one event of a kind with these fields."""
        (event,) = self.all(kind, **fields)
        return event

    def first(self, kind: type, /, **fields: Any) -> Event:
        """Return the first event of a kind with these fields."""
        return self.all(kind, **fields)[0]

    def after(self, at_us: int, kind: type, /, **fields: Any) -> list[Event]:
        """Return those that happened at or after a time."""
        return [event for event in self.all(kind, **fields) if event.at_us >= at_us]

    def times(self, kind: type, /, **fields: Any) -> list[int]:
        """Return when events of a kind with these fields happened."""
        return [event.at_us for event in self.all(kind, **fields)]

    def began_us(self, fault: str) -> int:
        """Return when a fault began."""
        return self.only(FaultBegan, fault=fault).at_us

    def ended_us(self, fault: str) -> int:
        """Return when a fault was over."""
        return self.only(FaultEnded, fault=fault).at_us

    def commits(self, consumer: str) -> Iterator[tuple[int, dict[TopicPartition, int]]]:
        """Yield when a consumer sent which offsets."""
        for event in self.all(CommitSent, consumer=consumer):
            yield event.at_us, dict(event.what.offsets)

    def work(self, partition: TopicPartition) -> list[tuple[str, int, int]]:
        """Return who processed which ranges of a partition, in order."""
        return [
            (event.what.consumer, event.what.first, event.what.next_offset)
            for event in self.all(Processed, partition=partition)
        ]

    @property
    def log_ends(self) -> dict[TopicPartition, int]:
        """The ends of all logs at the end of the run."""
        return dict(self.only(RunEnded).what.log_ends)


@cache
def staged(
    more: str = "",
    *,
    run: str = "",
    topic: str = TOPIC,
    group: str = GROUP,
    settings: str = "",
    strategy: str = "range",
    run_for: str = "20s",
    seed: int = 0,
) -> Seen:
    """Play the group; *more*: tables of TOML behind it."""
    text = TEXT.format(
        run=run,
        topic=topic,
        group=group,
        settings=settings,
        strategy=strategy,
        run_for=run_for,
        more=more,
    )
    played = emulator.run(emulator.loads(text), seed)
    played.ledger.check()
    return Seen(played)
