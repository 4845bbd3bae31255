"""How many records a call of the application hands out, from the commits of consumers that always work.

A consumer with a backlog gets full batches, and the Java client commits only between two of them. So each
of its commits covers whole batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Final

from assignors.types import TopicPartition
from emulator.blaming.evidence import Committed, Evidence

LARGEST_BATCH: Final = "max.poll.records"
USUAL = 500
"""The default of ``max.poll.records``."""

MIN_COMMITS = 3
SMALLEST = 10
"""Fewer records divide the numbers of commits by chance."""

PARTS = (2 / 3, 0.85)
"""The part of the commits that have to cover whole batches: a fetch may end within one, and so may the
backlog. Fewer commits than all may cover two batches each, so more than one size is possible."""

_AT_ONCE_US = 50_000
"""Commits of a consumer within this time are those of one request."""


def sizes_of_batches(evidence: Evidence, formed_us: int, onset_us: int) -> tuple[int, ...]:
    """Return what the records of a full batch of busy consumers may be, beside the default.

    *formed_us*, *onset_us*: the quiet time that is looked at.
    """
    covered = list(_covered(evidence, formed_us, onset_us))
    if len(covered) < MIN_COMMITS:
        return ()
    divisors = sorted({gcd(one, other) for one in covered for other in covered}, reverse=True)
    sizes = [_largest(divisors, covered, part) for part in PARTS]
    if not any(sizes) and max(covered) < USUAL:
        sizes = [max(covered)]
    return tuple(dict.fromkeys(each for each in sizes if each and each != USUAL))


def _largest(divisors: Sequence[int], covered: Sequence[int], part: float) -> int:
    """Return the first of the divisors that divides such a part of the numbers; 0: none does."""
    for each in divisors:
        whole = sum(not records % each for records in covered)
        if SMALLEST <= each <= USUAL and whole >= part * len(covered):
            return each
    return 0


def _covered(evidence: Evidence, formed_us: int, onset_us: int) -> Iterator[int]:
    """Yield the records that each commit of a consumer covers beyond its last one."""
    reached: dict[TopicPartition, int] = {}
    asked: dict[str, tuple[int, int]] = {}
    """By consumer: when its last request was written, and the records that this one covers."""

    for consumer, commit in _with_owners(evidence, onset_us):
        before = reached.get(commit.partition, commit.offset)
        reached[commit.partition] = max(before, commit.offset)
        if commit.at_us <= formed_us:
            continue
        more = max(0, commit.offset - before)
        at_us, records = asked.get(consumer, (commit.at_us, 0))
        if commit.at_us - at_us > _AT_ONCE_US:
            if records:
                yield records
            records = 0
        asked[consumer] = (commit.at_us, records + more)
    yield from (records for _, records in asked.values() if records)


def _with_owners(evidence: Evidence, end_us: int) -> Iterator[tuple[str, Committed]]:
    """Yield the commits before an instant with the consumer that last worked on the partition."""
    owners: dict[TopicPartition, str] = {}
    work, place = evidence.work, 0
    for commit in evidence.commits:
        if commit.at_us >= end_us:
            return
        while place < len(work) and work[place].ended_us <= commit.at_us:
            owners[work[place].partition] = work[place].consumer
            place += 1
        if commit.partition in owners:
            yield owners[commit.partition], commit
