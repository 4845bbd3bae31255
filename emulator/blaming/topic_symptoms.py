"""What the logs show of topics: one that appears, one that begins anew, records that were deleted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.blaming.evidence import Committed, Evidence, Work, grouped

MIN_SHARE = 0.5
"""More than this share of a topic's partitions have to begin anew: one alone may be a commit that was lost."""

REFUSED_US = 5_000_000
"""After a stop, a fetch of deleted records is refused within this time."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A topic that was not there from one instant to another one."""

    topic: str
    gone_us: int
    """When its last record was finished before it."""

    back_us: int
    """When its first record was begun behind it."""


class Stopped(Protocol):
    """A time in which a consumer finished no record."""

    @property
    def consumer(self) -> str:
        """Its name."""

    @property
    def stopped_us(self) -> int:
        """When its last record was finished."""


def appeared(evidence: Evidence, after_us: int) -> Iterator[tuple[str, int]]:
    """Yield topics whose first record is processed after an instant, behind a new generation.

    A topic that a group wants and that is created, or that it begins to want, makes it rebalance.
    """
    firsts: dict[str, int] = {}
    for done in evidence.work:
        firsts.setdefault(done.partition.topic, done.began_us)
    committed = {each.partition.topic for each in evidence.commits if each.at_us <= after_us}
    for topic, at_us in firsts.items():
        made_anew = any(after_us < made_us <= at_us for made_us in evidence.generations_us)
        if at_us > after_us and made_anew and topic not in committed:
            yield topic, at_us


def recreated(evidence: Evidence, after_us: int) -> Iterator[Absence]:
    """Yield topics that begin at offset 0 again after an instant, though offsets of them were committed.

    Without a commit, a group begins at the start of a log that is the same.
    """
    of_topics = grouped(evidence.work, lambda done: done.partition.topic)
    for topic, done in of_topics.items():
        parts = grouped(done, attrgetter("partition"))
        found = [
            rewound
            for partition, each in parts.items()
            if (rewound := _begun_anew(partition, each, evidence.commits, after_us))
        ]
        if len(found) > MIN_SHARE * len(parts):
            gone_us = max(one.ended_us for one, _ in found)
            yield Absence(topic, gone_us, max(gone_us, min(two.began_us for _, two in found)))


def _begun_anew(
    partition: TopicPartition, work: Sequence[Work], commits: Iterable[Committed], after_us: int
) -> tuple[Work, Work] | None:
    """Return the work before and behind a partition's begin at offset 0; None: there is none."""
    for one, two in pairwise(work):
        if two.first == 0 < one.first and two.began_us > after_us:
            known = any(
                each.partition == partition and each.offset > 0 and each.at_us < two.began_us
                for each in commits
            )
            return (one, two) if known else None
    return None


def retentions(work: Iterable[Work], stops: Sequence[Stopped]) -> Mapping[str, int]:
    """Return by topic how long its records were kept, where a consumer that had stopped went on behind a gap.

    The gap is what was deleted; so the first record behind it was as old as the rest of the stop. The
    times are in microseconds.
    """
    found: dict[str, list[int]] = {}
    for partition, done in grouped(work, attrgetter("partition")).items():
        for stop in stops:
            kept_us = _kept_us(done, stop)
            if kept_us > 0:
                found.setdefault(partition.topic, []).append(kept_us)
    return {topic: int(median(each)) for topic, each in found.items()}


def _kept_us(work: Sequence[Work], stop: Stopped) -> int:
    """Return the age of the first record behind the first gap after a stop; 0: nothing is missing.

    The consumer first works on what it had fetched before the stop.
    """
    place = bisect_right(work, stop.stopped_us, key=attrgetter("ended_us"))
    later = work[place:]
    if not 0 < place < len(work) or {work[place - 1].consumer, later[0].consumer} != {
        stop.consumer
    }:
        return 0
    first, last = work[0], work[place - 1]
    each_us = (last.ended_us - first.began_us) / (last.next_offset - first.first)
    for one, two in pairwise(work[place - 1 :]):
        if two.ended_us > later[0].ended_us + REFUSED_US:
            return 0
        if two.first > one.next_offset:
            return int(two.began_us - last.ended_us - (two.first - last.next_offset) * each_us)
    return 0
