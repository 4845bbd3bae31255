"""Processes that begin with the instance id of a static member that still runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assignors.values import dataclass
from emulator.blaming.evidence import Evidence, Work

FENCED_US = 10_000_000
"""A member that is replaced works on until a heartbeat or a commit of it is refused, at most so long."""

REBALANCED_US = 3_000_000
"""A generation so long before the first record of a consumer may have given it its partitions."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A consumer that got all partitions of another one, without a new generation."""

    former: str
    successor: str
    at_us: int
    """When the successor began its first record."""


def replaced(
    evidence: Evidence, by_consumer: Mapping[str, Sequence[Work]], formed_us: int
) -> Iterator[Replaced]:
    """Yield consumers that were replaced after the group had formed.

    A static member that joins under a known instance id gets the assignment of that member, and the
    group keeps its generation (KIP-345).
    """
    for successor, done in by_consumer.items():
        at_us = done[0].began_us
        made_anew = any(at_us - REBALANCED_US < each <= at_us for each in evidence.generations_us)
        if at_us <= formed_us or made_anew:
            continue
        taken = {each.partition for each in done}
        for former, earlier in by_consumer.items():
            if earlier[0].began_us > formed_us or former == successor:
                continue
            ended_us = earlier[-1].ended_us
            owned = {each.partition for each in earlier if each.ended_us > formed_us}
            if owned == taken and at_us - FENCED_US < ended_us < at_us + FENCED_US:
                yield Replaced(former, successor, at_us)
