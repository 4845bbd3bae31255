"""The load of each group: what arrives, and what its members can process.

A load follows from rates and mean work alone; polls, rebalances and faults come on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations
from math import ceil, inf
from typing import Any, Final

from assignors.values import dataclass
from emulator.scenario.model import Bursts, Group, Scenario
from emulator.scenario.resolution import (
    concurrency,
    consumer_settings,
    factor_of,
    mean_work_us,
    mean_works_of,
    rates_of,
    records_at_once,
    subscription_of,
    topics_of,
    work_of,
    written_between,
)
from emulator.scenario.tables.handlers import KEYS, crowding, mean_extra_us
from emulator.scenario.tables.rates import peak_rate, segments_of
from emulator.scenario.units import US_PER_S

ENOUGH: Final = 1.01
"""A member keeps up if it can process this many times what arrives; with less, its lag never falls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What arrives for one group, and what it can process; in records per second."""

    group: str
    members: int
    partitions: int
    arrival: float
    peak: float = 0.0
    """The most that arrives at any time of the run; not above ``arrival`` if no rate changes."""

    capacity: float
    """Of all members together."""

    store: float = inf
    """What the database with its offsets can commit at most."""

    hottest: str
    """The partition that gets the most."""

    hottest_arrival: float
    hottest_key: str = ""
    """The named key with most of its records, if it has one."""

    key_arrival: float = 0.0
    """The records of that key."""

    fastest: float
    """Of the fastest member, in one partition."""

    fullest: int = 1
    """The partitions of the member that gets most of them, at least."""

    fullest_arrival: float = 0.0
    """What arrives in so many partitions, at least."""

    fewest: int = 0
    """The partitions that every member gets at least; 0: its assignors may give one none."""

    fewest_arrival: float = 0.0
    """What arrives in so many partitions, at least."""

    slowest: str = ""
    """The slowest of its members, if they are not all alike."""

    slowest_speed: float = 0.0
    """What it can process, in all of its partitions."""

    of_member: float = inf
    """What the fastest member can process, in all of its partitions."""

    disjoint: tuple[str, str] | tuple[()] = ()
    """The topics of two members that have none in common; empty: there are no such members."""

    topics: int = 1
    """Topics with a rate."""

    compacted: bool = False
    """Whether these are compacted in the run: what it does not process in time, it need not."""

    speeds: Mapping[str, float] = field(default_factory=dict)
    """What each member can process."""

    period_s: float = 0.0
    """The longest period of a rate that varies; 0: all are steady."""

    failing: float = 0.0
    """The share of its members' time for slow and failing records, with their back-offs."""

    different_work: bool = False
    """Whether records of its topics take different times."""

    times: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """If so: the time of a record (us) by member and topic, divided by the records in work at a time."""

    best_members: int = 0
    """The number of members that would process more, if its members slow one another down; else 0."""

    best: float = 0.0
    """What these can process."""

    depends: bool = False
    """Whether the time of a record depends on the state of the run."""

    late_capacity: float = 0.0
    """What the members can process once their partitions lag most; 0: no less than otherwise."""

    late_above: int = 0
    """The records behind a record from which on that holds."""

    @property
    def even_members(self) -> int:
        """The next larger number of members of which each gets as many partitions; 0: none."""
        more = range(self.members + 1, self.partitions + 1)
        return next((number for number in more if self.partitions % number == 0), 0)

    def members_for(self, margin: float = ENOUGH) -> int:
        """Return how many members are enough, at most one a partition; each has whole partitions.

        *margin*: what one member can process, by what arrives in its partitions at most.
        """
        of_one, of_partition = self.capacity / self.members, self.arrival / self.partitions
        return ceil(self.partitions / max(int(of_one / (of_partition * margin)), 1))

    @property
    def is_overload(self) -> bool:
        """Whether the members, one of them, or the owner of one partition do not keep up with what arrives."""
        return not self._fits or self.is_uneven or self.has_slow_member

    @property
    def is_uneven(self) -> bool:
        """Whether the members together keep up, but not the one with most partitions."""
        return self._fits and self.fullest_arrival * ENOUGH > self.of_member

    @property
    def has_slow_member(self) -> bool:
        """Whether the members together keep up, but not the slowest of them with its part."""
        is_slow = bool(self.slowest) and self.fewest_arrival * ENOUGH > self.slowest_speed
        return self._fits and not self.is_uneven and is_slow

    @property
    def is_hot(self) -> bool:
        """Whether the owner of the partition that gets the most does not keep up."""
        return self.hottest_arrival * ENOUGH > self.fastest

    @property
    def _fits(self) -> bool:
        """Whether the members together, and the owner of each partition, keep up."""
        return not self.is_short and not self.is_hot

    @property
    def is_short(self) -> bool:
        """Whether the members together do not keep up."""
        return self.arrival * ENOUGH > self.capacity


def loads_of(scenario: Scenario) -> Iterator[Load]:
    """Yield the load of each group to whose topics records are produced until the end."""
    for group in scenario.group:
        topics = topics_of(group, scenario)
        rates = {
            f"{topic.name}-{number}": rate
            for topic in topics
            if topic.produce_until is None or topic.produce_until >= scenario.run_for
            for number, rate in enumerate(rates_of(topic, scenario.run_for))
        }
        if rates and group.members:
            yield _load_of(group, scenario, rates)


def _load_of(group: Group, scenario: Scenario, rates: Mapping[str, float]) -> Load:
    of_member, of_partition = concurrency(group)
    work = {name: max(mean_us, 1.0) for name, mean_us in mean_works_of(group, scenario).items()}
    extra = _extra_us(group, work, rates)
    slower = crowding(group.work_by, min(len(work), group.max_running) * of_member)
    alone = {name: US_PER_S / max(work[name] + extra[name], 1.0) / slower for name in work}
    speeds = [*alone.values()][: group.max_running]
    at_once = max(records_at_once(group, member) for member in group.members)
    store = scenario.database.records_per_s(at_once) if group.offsets == "database" else inf
    at_most = len(rates) * of_partition * max(speeds)
    hottest = max(rates, key=lambda name: rates[name])
    return Load(
        group=group.id,
        members=len(speeds),
        partitions=len(rates),
        arrival=sum(rates.values()),
        peak=_peak(group, scenario),
        capacity=min(sum(speeds) * of_member, at_most if group.pool else inf, store),
        store=store,
        hottest=hottest,
        hottest_arrival=rates[hottest],
        fastest=max(speeds) * of_partition,
        **_fullest(group, len(speeds), rates),
        **_slowest(group, {name: alone[name] * of_member for name in alone}, rates),
        of_member=max(speeds) * of_member,
        **_hot_key(hottest, scenario),
        disjoint=_disjoint(group),
        topics=len({name.rpartition("-")[0] for name in rates}),
        compacted=all(
            topic.is_compacted
            for topic in scenario.topic
            if any(name.rpartition("-")[0] == topic.name for name in rates)
        ),
        speeds={name: speed * of_member for name, speed in alone.items()},
        period_s=_longest_period_us(group, scenario) / US_PER_S,
        failing=max((extra[name] / (work[name] + extra[name]) for name in work), default=0),
        different_work=bool(group.work_by and group.work_by.topic),
        times=times_by_topic(group, scenario),
        **_late(group, sum(speeds) * of_member),
        **_best(group, min(speeds) * slower * of_member, len(rates)),
    )


def times_by_member(
    group: Group, load: Load | None, work: Mapping[str, float]
) -> Mapping[str, float]:
    """Return how long a record takes each member (us), with what slow and failing ones add if it is known."""
    if group.work_by is not None and group.work_by.depends:
        return {}
    if load is not None:
        return {name: US_PER_S / speed for name, speed in load.speeds.items()}
    at_a_time, _ = concurrency(group)
    return {name: us / at_a_time for name, us in work.items()}


def _extra_us(
    group: Group, work: Mapping[str, float], rates: Mapping[str, float]
) -> dict[str, float]:
    """Return what slow and failing records add to the mean time of a record of each member.

    It is the same for members whose other records take the same time.
    """
    keys = KEYS if group.pool is None else group.pool.keys
    times = dict.fromkeys(work.values())
    added = {us: mean_extra_us(group.poison, rates, us, keys) for us in times}
    return {name: added[us] for name, us in work.items()}


def _fullest(group: Group, members: int, rates: Mapping[str, float]) -> dict[str, Any]:
    """Return how many partitions one member gets at least, and what arrives in them at least.

    Whatever the assignor, one of *members* gets the average, rounded up; range rounds up for each topic.
    Nothing where the work on a record depends on its topic: then the rates alone do not say who is busy.
    """
    if group.work_by is not None and group.work_by.topic:
        return {}
    gets = [sorted(each)[: ceil(len(each) / members)] for each in _assigned_together(group, rates)]
    return {
        "fullest": sum(len(each) for each in gets),
        "fullest_arrival": sum(sum(each) for each in gets),
    }


def _slowest(
    group: Group, speeds: Mapping[str, float], rates: Mapping[str, float]
) -> dict[str, Any]:
    """Return the slowest member of several, and how many partitions each gets at least.

    Nothing where members are alike, or come and go.
    """
    are_alike = min(speeds.values()) == max(speeds.values())
    if are_alike or group.max_running < len(speeds) or (group.work_by and group.work_by.topic):
        return {}
    from emulator.scenario.estimates.shares import slowest  # noqa: PLC0415  few groups are unequal

    return slowest(group, speeds, [*_assigned_together(group, rates)])


def _assigned_together(group: Group, rates: Mapping[str, float]) -> Iterator[list[float]]:
    """Yield the rates of the partitions that are assigned together: all of them, or those of a topic."""
    topics = dict[str, list[float]]()
    for name, rate in rates.items():
        topics.setdefault(name.rpartition("-")[0], []).append(rate)
    if len(topics) > 1 and _by_topic(group):
        yield from topics.values()
    else:
        yield [*rates.values()]


def _by_topic(group: Group) -> bool:
    """Return whether the partitions of each topic are assigned by themselves, to all members alike."""
    if len({subscription_of(group, member) for member in group.members}) > 1:
        return False
    all_settings = (consumer_settings(group, member) for member in group.members)
    return all(
        settings.group_remote_assignor == "range"
        if settings.group_protocol == "consumer"
        else settings.partition_assignment_strategy[0] == "range"
        for settings in all_settings
    )


def _peak(group: Group, scenario: Scenario) -> float:
    """Return the sum of the highest rates of a group's topics in the run, where rates change."""
    peak, changes = 0.0, False
    for topic in topics_of(group, scenario):
        segments, rates = segments_of(topic.rate), rates_of(topic, scenario.run_for)
        if segments is None:
            peak += sum(rates)
        else:
            changes = True
            factors = sum(factor_of(topic, number) for number in range(topic.partitions))
            peak += factors * peak_rate(segments, *written_between(topic, scenario.run_for))
    return peak if changes else 0.0


def _longest_period_us(group: Group, scenario: Scenario) -> int:
    """Return the longest period of the rates of a group's topics; 0: none repeats."""
    longest = 0
    for topic in topics_of(group, scenario):
        segments = segments_of(topic.rate)
        if segments is not None:
            longest = max(longest, segments.every_us or 0)
        elif isinstance(topic.rate, Bursts):
            longest = max(longest, topic.rate.bursts.every or 0)
    return longest


def _hot_key(partition: str, scenario: Scenario) -> dict[str, Any]:
    """Return the named key with most records of a partition, and their rate."""
    name, _, number = partition.rpartition("-")
    topic = next(topic for topic in scenario.topic if topic.name == name)
    if topic.keys is None:
        return {}
    from emulator.scenario.keys import hottest_key  # noqa: PLC0415  few topics have keys

    key, share = hottest_key(topic, int(number))
    return {"hottest_key": key, "key_arrival": share * sum(rates_of(topic, scenario.run_for))}


def _late(group: Group, capacity: float) -> dict[str, Any]:
    """Return what is processed of records that are read late, where that is slower."""
    if group.work_by is None or not group.work_by.depends:
        return {}
    slow = [step for step in group.work_by.lag if step.factor > 1]
    if not slow:
        return {"depends": True}
    worst = max(slow, key=lambda step: step.factor)
    return {
        "depends": True,
        "late_capacity": capacity / worst.factor,
        "late_above": worst.above,
    }


def _best(group: Group, speed: float, partitions: int) -> dict[str, Any]:
    """Return how many members of a group process most, if fewer than it has; *speed*: of one alone."""
    if group.work_by is None:
        return {}
    from emulator.scenario.estimates.shares import best_number  # noqa: PLC0415  few groups

    return best_number(group, speed, partitions)


def _disjoint(group: Group) -> tuple[str, str] | tuple[()]:
    """Return the first two subscriptions of a group, by name, that have no topic in common."""
    topics = dict.fromkeys(subscription_of(group, member)[0] for member in group.members)
    pairs = (
        pair for pair in combinations(filter(None, topics), 2) if set(pair[0]).isdisjoint(pair[1])
    )
    first = next(pairs, None)
    return () if first is None else (", ".join(first[0]), ", ".join(first[1]))


def times_by_topic(group: Group, scenario: Scenario) -> dict[tuple[str, str], float]:
    """Return the mean time of a record (us) by member and topic, divided by the records in work at a time.

    Empty if the time does not depend on the topic.
    """
    if group.work_by is None or not group.work_by.topic:
        return {}
    of_member, _ = concurrency(group)
    topics = topics_of(group, scenario)
    return {
        (member.name, topic.name): mean_work_us(
            work_of(group, member), group.work_by.topic, [topic], scenario.run_for
        )
        / of_member
        for member in group.members
        for topic in topics
    }
