"""Evidence written by hand: work at given times, and commits."""

from __future__ import annotations

from collections.abc import Iterable

from assignors.types import TopicPartition
from emulator.blaming.evidence import Committed, Evidence, Joined, Work
from emulator.blaming.setup import Setup

SECOND = 1_000_000

SETUP = Setup(
    group="billing",
    protocol="classic",
    assignor="range",
    session_timeout_ms=6_000,
    rebalance_timeout_ms=8_000,
)


def orders(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def steady(
    consumer: str, number: int, begin_s: float, end_s: float, first: int = 0, every_s: float = 0.1
) -> list[Work]:
    """Return one record each *every_s* seconds, which takes 10 ms."""
    times = range(int(begin_s * SECOND), int(end_s * SECOND), int(every_s * SECOND))
    return [
        Work(consumer, orders(number), first + place, first + place + 1, at_us, at_us + 10_000)
        for place, at_us in enumerate(times)
    ]


def evidence(
    *work: Iterable[Work],
    commits: Iterable[tuple[float, int, int]] = (),
    generations: Iterable[float] = (0.0,),
    joins: Iterable[tuple[float, str]] = (),
) -> Evidence:
    """Return evidence; commits as second, partition, offset; joins as second, consumer."""
    done = sorted((each for some in work for each in some), key=lambda each: each.ended_us)
    return Evidence(
        tuple(done),
        tuple(
            Committed(int(at * SECOND), orders(number), offset) for at, number, offset in commits
        ),
        tuple(int(at * SECOND) for at in generations),
        tuple(Joined(int(at * SECOND), consumer) for at, consumer in joins),
    )
