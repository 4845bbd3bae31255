"""Estimate the CPU time of a run before it begins.

What a run does is counted by kind (:class:`Source`) from the scenario alone: members, rates, work,
commit policy, faults. Each kind has a cost that was measured: ``python -m benchmarks.estimate`` plays
the catalogue, fits :data:`COSTS_US` to it, and prints them. The estimate is within a factor of two of
the time on the machine that measured, which is enough to distinguish a second from an hour.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from assignors.values import dataclass
from emulator.scenario.estimates.brokers import expiry_checks, refused_joins, topic_changes
from emulator.scenario.estimates.commits import commits_in_polls, spaced_commits
from emulator.scenario.estimates.fetches import queue_fetches
from emulator.scenario.estimates.folding import polls_by_events, refreshes_regularly, repeats
from emulator.scenario.estimates.lifetimes import (
    SCALING_US,
    Lifetime,
    blocked_us,
    broker_changes,
    disturbances,
    disturbed_us,
    lifetimes,
    live_us,
    rebalances,
    settled_us,
)
from emulator.scenario.estimates.periods import changes_of_rates, period_of
from emulator.scenario.model import (
    Group,
    Member,
    Scenario,
    mean_us,
)
from emulator.scenario.resolution import (
    broker_settings,
    client_of,
    commit_policy,
    concurrency,
    consumer_settings,
    mean_work_of,
    poll_timeout_us,
    profile_with_deviations,
    records_of,
    topics_of,
    work_of,
    writing_of,
)
from emulator.scenario.tables.distributions import Constant
from emulator.scenario.tables.handlers import crowding
from emulator.scenario.units import US_PER_MS, US_PER_S
from protocols.consumer.clients import Busy, profile_of


class Source(enum.StrEnum):
    """What a run spends its time on."""

    RUN = "the run"
    STARTS = "starts of members"
    REBALANCES = "rebalances"
    HEARTBEATS = "heartbeats"
    COMMITS = "automatic commits"
    OWN_COMMITS = "commits of the application"
    LIVE_BATCHES = "polls with records, as events"
    LIVE_POLLS = "polls without records, as events"
    REGULAR_POLLS = "polls at regular times"
    FOLDED_POLLS = "polls at irregular times"
    RECORDS = "records watched one by one"
    FETCHES = "fetches into a queue"
    WORKERS = "records processed by a pool of workers"
    SAMPLES = "lag samples"
    SAMPLED = "partitions in lag samples"
    RETENTION = "retention checks"
    EXPIRY = "checks for expired offsets"
    REFUSED = "joins that cannot be stored"
    BROKERS = "starts and ends of brokers"
    TOPICS = "changes of topics"
    SKIPPED = "lag samples in skipped periods"


SEARCHED: Final = 2
"""About the number of periods that are played after a disturbance."""

SETTLING_US: Final = 6_000_000
"""About the time until a group is regular again after a disturbance."""

SETTLING_ROUNDS: Final = 20
"""After so many rounds it is clear how much members slow each other down."""

METADATA_MAX_AGE_US: Final = 300_000_000
"""The default of ``metadata.max.age.ms``."""

COSTS_US: Final[Mapping[Source, float]] = {
    Source.RUN: 27_900,
    Source.STARTS: 1_020,
    Source.REBALANCES: 27.1,
    Source.HEARTBEATS: 131,
    Source.COMMITS: 230,
    Source.OWN_COMMITS: 159,
    Source.LIVE_BATCHES: 22,
    Source.LIVE_POLLS: 18.1,
    Source.REGULAR_POLLS: 2.4,
    Source.FOLDED_POLLS: 14.9,
    Source.RECORDS: 17.9,
    Source.FETCHES: 38,
    Source.WORKERS: 28.6,
    Source.SAMPLES: 32.5,
    Source.SAMPLED: 8.72,
    Source.RETENTION: 6,
    Source.EXPIRY: 4.96,
    Source.REFUSED: 900,
    Source.BROKERS: 6_350,
    Source.TOPICS: 60,
    Source.SKIPPED: 12.1,
}
"""Microseconds of CPU time for each; ``python -m benchmarks.estimate`` measures and prints them."""

MAX_S: Final = 7_200.0
"""The maximum for one run, or for all runs of a command, unless the user allows more."""

LONG_S: Final = 600.0
"""Longer work is announced before it starts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The CPU time of a run, by source, in microseconds."""

    us: Mapping[Source, float]

    @property
    def cpu_s(self) -> float:
        """The CPU time in seconds."""
        return sum(self.us.values()) / US_PER_S

    def largest(self) -> list[tuple[Source, float]]:
        """Return the sources of at least a tenth of the time, and their share, the largest first."""
        total = sum(self.us.values())
        shares = [(source, us / total) for source, us in self.us.items() if us >= total / 10]
        return sorted(shares, key=lambda item: -item[1])


def estimate(scenario: Scenario) -> Estimate:
    """Return the approximate CPU time of a run of the scenario."""
    return Estimate({source: n * COSTS_US[source] for source, n in counts(scenario).items()})


def counts(scenario: Scenario) -> defaultdict[Source, float]:
    """Return about how often a run does each thing that takes time."""
    if scenario.until_settled:
        scenario = scenario.model_copy(update={"run_for": settled_us(scenario)})
    found = defaultdict[Source, float](float, {Source.RUN: 1.0})
    living, changes = lifetimes(scenario), rebalances(scenario)
    samples = scenario.run_for // scenario.lag_every
    for group in scenario.group:
        partitions = sum(topic.partitions for topic in topics_of(group, scenario))
        joins = changes[group.id] * (len(group.members) + partitions / 4)
        found[Source.REBALANCES] += joins
        found[Source.SAMPLES] += samples
        found[Source.SAMPLED] += samples * partitions
        for source, number in _of_members(group, scenario, living):
            found[source] += number
    found[Source.BROKERS] = broker_changes(scenario)
    if retentions := [topic.retention for topic in scenario.topic if topic.retention]:
        found[Source.RETENTION] = max(scenario.run_for - min(retentions), 0) // US_PER_S
    found[Source.TOPICS] = topic_changes(scenario)
    found[Source.EXPIRY], found[Source.REFUSED] = expiry_checks(scenario), refused_joins(scenario)
    recurring = (*RECURRING, *(() if live_us(scenario) else LIVE))
    _skip_periods(found, _played_share(scenario), recurring)
    return found


RECURRING: Final = (
    Source.HEARTBEATS,
    Source.COMMITS,
    Source.OWN_COMMITS,
    Source.REGULAR_POLLS,
    Source.FOLDED_POLLS,
    Source.RECORDS,
    Source.FETCHES,
    Source.SAMPLES,
    Source.SAMPLED,
)
"""What happens again in each period of an undisturbed run."""

LIVE: Final = (Source.LIVE_BATCHES, Source.LIVE_POLLS)
"""The same, unless it is a fault that makes members live."""


def _skip_periods(
    found: defaultdict[Source, float], played: float, recurring: Iterable[Source]
) -> None:
    """Count only what is played of what recurs."""
    found[Source.SKIPPED] = (found[Source.SAMPLES] + found[Source.SAMPLED] / 10) * (1 - played)
    for source in recurring:
        found[source] *= played


def _played_share(scenario: Scenario) -> float:
    """Return the share of the simulated time that is played, not skipped as whole periods.

    After each disturbance some periods pass until they are found. A metadata
    request is skipped like everything else if the time of its response follows from the period.
    """
    period_us = period_of(scenario)
    if period_us is None or not all(repeats(group, scenario) for group in scenario.group):
        return 1.0
    refreshes = 0.0 if all(map(refreshes_regularly, scenario.group)) else scenario.run_for
    refreshes /= METADATA_MAX_AGE_US
    played_us = _searched_us(scenario, period_us) + refreshes * period_us
    played_us += disturbed_us(scenario)
    played_us += SCALING_US // 2 * any(group.autoscaler for group in scenario.group)
    return min(played_us / scenario.run_for, 1.0)


def _searched_us(scenario: Scenario, period_us: int) -> int:
    """Return about how long a run is played until its periods are found, after each disturbance."""
    times = sorted([*disturbances(scenario), *changes_of_rates(scenario), scenario.run_for])
    until_found_us = SETTLING_US + SEARCHED * period_us
    return sum(min(after - at, until_found_us) for at, after in pairwise(times))


def _of_members(
    group: Group, scenario: Scenario, living: Mapping[str, Lifetime]
) -> Iterator[tuple[Source, float]]:
    """Yield what the members of a group do, as if its records were distributed evenly."""
    topics, blocked = topics_of(group, scenario), blocked_us(scenario, group)
    backlog = sum(topic.backlog * topic.partitions for topic in topics)
    produced = sum(records_of(topic, scenario.run_for) for topic in topics)
    total_us = sum(living[member.name].living_us for member in group.members)
    yield Source.STARTS, sum(living[member.name].starts for member in group.members)
    for alike in _alike(group):
        living_us = sum(living[member.name].living_us for member in alike) // len(alike)
        if living_us:
            working = max(living_us - blocked, US_PER_S)
            part = working / total_us
            reader = _Reader(group, alike[0], scenario, working, backlog * part, produced * part)
            for source, number in _of_member(reader).items():
                yield source, number * len(alike)


def _alike(group: Group) -> list[list[Member]]:
    """Return the members that are as their group describes them, and each other one alone."""
    plain, others = list[Member](), list[Member]()
    for member in group.members:
        own = member.model_fields_set - {"name", "start"}
        (others if own else plain).append(member)
    return [each for each in (plain, *([other] for other in others)) if each]


class _Reader(NamedTuple):
    """A member and its part of the records."""

    group: Group
    member: Member
    scenario: Scenario
    living_us: int
    backlog: float
    produced: float


class _Polls(NamedTuple):
    """What a member polls."""

    batches: float
    """Polls that return records."""

    empty: float
    records: float


def _of_member(reader: _Reader) -> dict[Source, float]:
    group, member, living_us = reader.group, reader.member, reader.living_us
    settings, policy = consumer_settings(group, member), commit_policy(group, member)
    profile, polls = profile_of(client_of(group, member)), _polls(reader)
    found: dict[Source, float] = {}
    found[Source.HEARTBEATS] = living_us / _heartbeat_us(reader)
    if settings.enable_auto_commit:
        interval_us = settings.auto_commit_interval_ms * US_PER_MS
        found[Source.COMMITS] = living_us / max(interval_us, US_PER_MS)
        if not profile.in_background:
            working_us = polls.records * _work_us(reader)
            round_us = 2 * mean_us(reader.scenario.network.latency)
            times = interval_us, living_us, working_us, round_us
            found[Source.COMMITS] = commits_in_polls(*times, polls.batches)
    if policy.call in ("sync", "async"):
        spaced = spaced_commits(policy, polls.records, living_us)
        each = {"record": polls.records, "every": min(spaced, polls.batches)}
        found[Source.OWN_COMMITS] = each.get(policy.when, polls.batches)
    if policy.when == "record" or (policy.when == "every" and not policy.between_batches):
        found[Source.RECORDS] = polls.records
    live = 1.0
    if not group.is_serial:
        found[Source.WORKERS] = polls.records
    elif profile.in_background:
        found[Source.RECORDS] = polls.records
    elif (policy.call not in ("sync", "async") or policy.is_by_time) and not polls_by_events(
        group, member, reader.scenario
    ):
        live = min(live_us(reader.scenario) / living_us, 1.0)
    if profile.fills_queues:
        sent = queue_fetches(group, member, reader.scenario, reader.produced, living_us)
        found[Source.FETCHES], polls = sent, polls._replace(batches=0.0)
    found[Source.LIVE_BATCHES] = polls.batches * live
    found[Source.LIVE_POLLS] = polls.empty * live
    if not _is_regular(reader):
        found[Source.FOLDED_POLLS] = (polls.batches + polls.empty) * (1 - live)
    else:
        found[Source.REGULAR_POLLS] = polls.batches * (1 - live)
    return found


def _polls(reader: _Reader) -> _Polls:
    """Return the polls of a member: full batches of the backlog first, then what arrives."""
    group, member, living_us = reader.group, reader.member, reader.living_us
    most = consumer_settings(group, member).max_poll_records
    work_us = max(_work_us(reader), 1.0)
    writing_us = min(_writing_us(group, reader.scenario), living_us)
    idle = 0.0 if _is_removed(reader) else 1 - reader.produced * work_us / writing_us
    kept_up = reader.backlog / idle if idle > 0 else reader.backlog + reader.produced
    full_us = min(kept_up * work_us, living_us)
    full, rest_us = full_us / work_us, living_us - full_us
    later = reader.produced * rest_us / living_us if idle > 0 else 0.0
    at_once = 1.0
    if idle > 0:
        waits_us = 2 * mean_us(reader.scenario.network.latency)
        if group.offsets == "database":
            waits_us += mean_us(reader.scenario.database.latency)
        at_once += (reader.produced / writing_us * waits_us + (1 - idle) / 2) / idle
    batches = full / most + later / min(at_once, most)
    empty = max(rest_us - later * work_us, 0) / poll_timeout_us(group, member)
    return _Polls(batches, empty, full + later)


def _work_us(reader: _Reader) -> float:
    """Return the mean time of a record in a member, by the number that it processes at a time.

    A group whose members slow each other down begins with all of them at work, and may stay so.
    """
    group, scenario = reader.group, reader.scenario
    at_a_time, _ = concurrency(group)
    alone_us = mean_work_of(group, reader.member, scenario) / at_a_time
    needed = alone_us * reader.produced / min(_writing_us(group, scenario), reader.living_us)
    workers, slower = len(group.members) * at_a_time, 1.0
    busy = 1.0
    for _ in range(SETTLING_ROUNDS):
        slower = crowding(group.work_by, workers * busy)
        busy = min(needed * slower, 1.0)
    return alone_us * slower


def _is_removed(reader: _Reader) -> bool:
    """Return whether a member is removed in a batch of its backlog: its client sends no heartbeats then."""
    group, member = reader.group, reader.member
    if Busy.WORK not in profile_with_deviations(group, member).heartbeats_wait_for:
        return False
    settings = consumer_settings(group, member)
    batch_us = min(reader.backlog, settings.max_poll_records) * _work_us(reader)
    return batch_us > settings.session_timeout_ms * US_PER_MS


def _writing_us(group: Group, scenario: Scenario) -> int:
    """Return how long records are written to what a group reads; at least a second."""
    times = [writing_of(topic, scenario.run_for) for topic in topics_of(group, scenario)]
    return max(US_PER_S, *times)


def _heartbeat_us(reader: _Reader) -> int:
    settings = consumer_settings(reader.group, reader.member)
    if settings.group_protocol == "classic":
        return settings.heartbeat_interval_ms * US_PER_MS
    return broker_settings(reader.scenario.cluster).group_consumer_heartbeat_interval_ms * US_PER_MS


def _is_regular(reader: _Reader) -> bool:
    """Return whether the polls of a folded member repeat, so that most of them are skipped."""
    group, member, scenario = reader.group, reader.member, reader.scenario
    times = (work_of(group, member), group.lateness, scenario.network.latency)
    rates = [topic.rate for topic in topics_of(group, scenario)]
    return (
        consumer_settings(group, member).group_protocol == "classic"
        and group.work_by is None
        and all(isinstance(each, Constant) for each in times)
        and all(isinstance(rate, int | float) for rate in rates)
    )
