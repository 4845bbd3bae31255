"""Where an incident begins in the logs of a group, and which consumers stopped."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from operator import attrgetter

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.blaming.evidence import Evidence, Work, grouped
from emulator.blaming.static_members import Replaced, replaced
from emulator.blaming.topic_symptoms import Absence, appeared, recreated, retentions

QUIET_US = 4_000_000
"""A group has formed when it makes no new generation for this time."""

SHORTEST_STOP_US = 1_200_000
"""Shorter pauses between two records are not stops."""

TIMES_USUAL = 4
"""A stop is longer than the usual pause of its consumer by this factor."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A time in which a consumer finished no record; ``resumed_us``: None if it never did again."""

    consumer: str
    stopped_us: int
    resumed_us: int | None
    usual_us: int = field(default=0, compare=False)
    """A usual pause of this consumer."""

    repeated: bool = field(default=False, compare=False)
    """Whether the next owner of one of its partitions began below what it had finished."""

    def lasted_us(self, ended_us: int) -> int:
        """Return how long it lasted in a log that ends at *ended_us*."""
        return (ended_us if self.resumed_us is None else self.resumed_us) - self.stopped_us


@dataclass(frozen=True, slots=True)
class Symptoms:
    """The course of an incident."""

    formed_us: int
    """When the group had formed before it."""

    onset_us: int
    """The first stop, or else the first new generation; without both, the middle of the log."""

    ended_us: int
    next_generation_us: int | None
    stops: tuple[Stop, ...]
    """Of the consumers that stopped for longer than the others, in order of time."""

    added: tuple[tuple[TopicPartition, int], ...]
    """Partitions whose first record is first processed after the group has formed, and when."""

    joined: tuple[tuple[str, int], ...]
    """Consumers that begin after the group has formed, and when."""

    halted_us: int = 0
    """How long partitions stopped at the onset, where no consumer stopped longer than the others."""

    appeared: tuple[tuple[str, int], ...] = ()
    """Topics whose first record is first processed after the group has formed, and when."""

    recreated: tuple[Absence, ...] = ()
    """Topics that begin at offset 0 again."""

    retentions: Mapping[str, int] = field(default_factory=dict)
    """By topic how long records were kept (microseconds), where a stop ends behind deleted ones."""

    replaced: tuple[Replaced, ...] = ()
    """Consumers whose partitions another one got without a new generation."""

    present: tuple[str, ...] = ()
    """Consumers that work before it."""

    def until(self, end_us: int) -> Symptoms:
        """Return those of a log that ends at an instant."""
        stops = (
            stop if (stop.resumed_us or 0) <= end_us else replace(stop, resumed_us=None)
            for stop in self.stops
            if stop.stopped_us <= end_us
        )
        return replace(
            self,
            ended_us=end_us,
            stops=tuple(stops),
            added=tuple(each for each in self.added if each[1] <= end_us),
            joined=tuple(each for each in self.joined if each[1] <= end_us),
            appeared=tuple(each for each in self.appeared if each[1] <= end_us),
            recreated=tuple(each for each in self.recreated if each.back_us <= end_us),
            replaced=tuple(each for each in self.replaced if each.at_us <= end_us),
        )


def symptoms_of(evidence: Evidence) -> Symptoms:
    """Return the course of the incident; *evidence* has at least one piece of work."""
    ended_us = evidence.work[-1].ended_us
    by_consumer = grouped(evidence.work, attrgetter("consumer"))
    formed_us = _formed_us(evidence, by_consumer)
    taken_over = tuple(replaced(evidence, by_consumer, formed_us))
    late = _late(evidence, by_consumer, formed_us)
    late += [each.successor for each in taken_over if each.successor not in late]
    present = {name: done for name, done in by_consumer.items() if name not in late}
    stops = _stops_of(evidence, present, formed_us, ended_us)
    later = [at_us for at_us in evidence.generations_us if at_us > formed_us]
    absent = tuple(recreated(evidence, formed_us))
    begun = [stop.stopped_us for stop in stops] + later[:1] + [each.gone_us for each in absent]
    halted = [] if stops else list(_of_partitions(evidence, formed_us, ended_us))
    if not begun:
        begun = [stop.stopped_us for stop in halted]
    joined = tuple((name, by_consumer[name][0].began_us) for name in late)
    onset_us = min(begun, default=(formed_us + ended_us) // 2)
    next_us = next((at_us for at_us in later if at_us >= onset_us), None)
    added = tuple(_added(evidence, formed_us))
    halted_us = max((stop.lasted_us(ended_us) for stop in halted if stop.resumed_us), default=0)
    return Symptoms(
        formed_us,
        onset_us,
        ended_us,
        next_us,
        stops,
        added,
        joined,
        halted_us,
        tuple(appeared(evidence, formed_us + QUIET_US)),
        absent,
        retentions(evidence.work, stops),
        taken_over,
        tuple(present),
    )


def _stops_of(
    evidence: Evidence, present: Mapping[str, Sequence[Work]], formed_us: int, ended_us: int
) -> tuple[Stop, ...]:
    """Return the stops of consumers that work before the incident."""
    each = [
        stop for name, done in present.items() for stop in _stops(name, done, formed_us, ended_us)
    ]
    found = _with_new_processes(evidence, present, formed_us, _outstanding(each, ended_us))
    return _with_repeats(evidence.work, found)


def _late(
    evidence: Evidence, by_consumer: Mapping[str, Sequence[Work]], formed_us: int
) -> list[str]:
    """Return the consumers that begin after the group has formed.

    Where records are rare, a member may have processed none until then: its member id tells.
    """
    joined: dict[str, int] = {}
    for each in evidence.joins:
        joined.setdefault(each.consumer, each.at_us)
    return [
        name
        for name, done in by_consumer.items()
        if done[0].began_us > formed_us and joined.get(name, formed_us + 1) > formed_us
    ]


def _formed_us(evidence: Evidence, by_consumer: Mapping[str, Sequence[Work]]) -> int:
    """Return when each consumer of the first quiet generation had processed a record."""
    begun_us = evidence.work[0].began_us
    ends = [*evidence.generations_us, evidence.work[-1].ended_us]
    for at_us, next_us in pairwise(ends):
        if next_us - max(at_us, begun_us) >= QUIET_US:
            early = max(at_us, begun_us) + QUIET_US // 2
            firsts = [done[0].began_us for done in by_consumer.values()]
            return max(first for first in firsts if first <= early)
    return begun_us


def _stops(name: str, done: Sequence[Work], formed_us: int, ended_us: int) -> Iterator[Stop]:
    """Yield the times after *formed_us* without a finished record."""
    pauses = sorted(two.ended_us - one.ended_us for one, two in pairwise(done))
    usual = pauses[len(pauses) * 9 // 10] if pauses else 0
    least = max(SHORTEST_STOP_US, TIMES_USUAL * usual)
    for one, two in pairwise(done):
        if two.ended_us - one.ended_us >= least and one.ended_us >= formed_us:
            yield Stop(name, one.ended_us, two.ended_us, usual)
    if ended_us - done[-1].ended_us >= least:
        yield Stop(name, done[-1].ended_us, None, usual)


def _with_new_processes(
    evidence: Evidence,
    present: Mapping[str, Sequence[Work]],
    formed_us: int,
    stops: tuple[Stop, ...],
) -> tuple[Stop, ...]:
    """Return the stops, and those of consumers with a new member id that are too short to be seen.

    A process that restarts has another member id, however short the pause between its records is.
    """
    found = list(stops)
    for joined in evidence.joins:
        done = present.get(joined.consumer, ())
        if joined.at_us <= formed_us or not done or done[0].began_us > joined.at_us:
            continue
        stop = _around(joined.at_us, joined.consumer, done)
        if stop is not None and not any(_overlap(stop, each) for each in found):
            found.append(stop)
    return tuple(sorted(found, key=lambda stop: (stop.stopped_us, stop.consumer)))


def _with_repeats(work: Sequence[Work], stops: Sequence[Stop]) -> tuple[Stop, ...]:
    """Return the stops with whether what their consumers had finished was reprocessed."""
    of_partitions = grouped(work, attrgetter("partition")).values()
    return tuple(
        replace(stop, repeated=any(_is_repeated(stop, done) for done in of_partitions))
        for stop in stops
    )


def _is_repeated(stop: Stop, done: Sequence[Work]) -> bool:
    """Return whether the work on a partition goes back behind a stop of its owner."""
    place = bisect_right(done, stop.stopped_us, key=attrgetter("ended_us"))
    if not 0 < place < len(done):
        return False
    last, following = done[place - 1], done[place]
    return last.consumer == stop.consumer and following.first < last.next_offset


def _around(joined_us: int, consumer: str, done: Sequence[Work]) -> Stop | None:
    """Return the stop in which a consumer joined; None if it had already stopped processing."""
    later = [each for each in done if each.began_us >= joined_us]
    if not later:
        return None
    before = [each.ended_us for each in done if each.began_us < joined_us]
    return Stop(consumer, min(max(before), joined_us), later[0].ended_us)


def _overlap(one: Stop, other: Stop) -> bool:
    if one.consumer != other.consumer:
        return False
    return one.stopped_us <= (other.resumed_us or one.stopped_us) and other.stopped_us <= (
        one.resumed_us or other.stopped_us
    )


def _added(evidence: Evidence, formed_us: int) -> Iterator[tuple[TopicPartition, int]]:
    """Yield the highest partitions of a topic, if they begin after the group has formed.

    A group that resets to the latest offset skips the first records of a new partition; no offset of
    it was committed before.
    """
    committed: dict[TopicPartition, int] = {}
    for commit in evidence.commits:
        committed.setdefault(commit.partition, commit.at_us)
    firsts: dict[TopicPartition, Work] = {}
    for done in evidence.work:
        firsts.setdefault(done.partition, done)
    late_us = formed_us + QUIET_US
    early = [partition for partition, done in firsts.items() if done.began_us <= late_us]
    for partition, done in firsts.items():
        below = [each.partition for each in early if each.topic == partition.topic]
        if (
            (done.first == 0 or committed.get(partition, 0) >= done.began_us)
            and below
            and done.began_us > late_us
            and partition.partition > max(below)
        ):
            yield partition, done.began_us


def _of_partitions(evidence: Evidence, formed_us: int, ended_us: int) -> Iterator[Stop]:
    """Yield the stops of partitions."""
    for partition, done in grouped(evidence.work, attrgetter("partition")).items():
        yield from _stops(str(partition), done, formed_us, ended_us)


def _outstanding(stops: Sequence[Stop], ended_us: int) -> tuple[Stop, ...]:
    """Return the stops that last longer than those of others at the same time."""

    def is_outstanding(stop: Stop) -> bool:
        lasted_us = stop.lasted_us(ended_us)
        beside = [
            other.lasted_us(ended_us)
            for other in stops
            if other.consumer != stop.consumer
            and other.stopped_us < stop.stopped_us + lasted_us
            and other.stopped_us + other.lasted_us(ended_us) > stop.stopped_us
        ]
        return lasted_us >= 1.3 * max(beside, default=0) + SHORTEST_STOP_US / 2

    return tuple(sorted(filter(is_outstanding, stops), key=lambda stop: stop.stopped_us))
