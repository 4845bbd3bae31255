"""The period of an undisturbed run, as far as it follows from the scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from heapq import merge

from emulator.scenario.model import CommitPolicy, Constant, Group, Scenario, Topic
from emulator.scenario.resolution import (
    broker_settings,
    commit_policy,
    consumer_settings,
    profile_with_deviations,
)
from emulator.scenario.tables.rates import changes_of, segments_of
from emulator.scenario.units import US_PER_S

LONGEST_PERIOD_US = 120_000_000
"""The longest period that is searched for."""

SHORTER = 3
"""How many times a short period has to fit into one with heartbeats: less would hardly save time."""

MOST_MEMBERS = 30
"""The most members with automatic commits of which short periods are searched for.

Of more members, one has usually not read its last response where a short period ends, or sends a heartbeat
while its commit is in flight: looking for such periods takes more time than they save.
"""

LAGS_REPEAT_US = 5_000_000
"""After which time the delays of the threads of a consumer of the consumer protocol repeat.

Kafka's default interval of heartbeats and of automatic commits. Delays of different threads, of
different members and within this time are independent of each other.
"""


def period_of(scenario: Scenario) -> int | None:
    """Return the expected period of a scenario (us): a multiple of all its intervals; None: none."""
    network = scenario.network
    links = (network.latency, *(link.latency for link in network.link if link.latency))
    drawn = [*links, scenario.cluster.replication]
    lossy = network.loss or any(link.loss for link in network.link)
    if lossy or any(not isinstance(delay, Constant) for delay in drawn):
        return None
    intervals = [1_000]
    for topic in scenario.topic:
        every_us = period_of_records_us(topic)
        if every_us is None:
            return None
        intervals.append(every_us)
    beats_us = _beats_us(scenario)
    for group in scenario.group:
        intervals += _intervals(group, beats_us)
    longest_us = min(LONGEST_PERIOD_US, scenario.run_for // 3)
    period_us = math.lcm(*intervals)
    with_samples_us = math.lcm(period_us, scenario.lag_every)
    if with_samples_us <= longest_us:
        return with_samples_us
    return period_us if period_us <= longest_us else None


def short_period_of(scenario: Scenario, expected_us: int) -> int | None:
    """Return after which time members may do the same again but for heartbeats (us); None: see below.

    Only members of the classic protocol send heartbeats that change nothing else; of others, or if the
    time is hardly shorter than *expected_us*, all of that is one period.
    """
    intervals, left = [1_000], MOST_MEMBERS
    for group in scenario.group:
        for member in group.members:
            settings, policy = consumer_settings(group, member), commit_policy(group, member)
            if settings.group_protocol != "classic":
                return None
            intervals.append(max(settings.retry_backoff_ms, 1) * 1_000)
            if _is_often(policy):
                continue
            profile = profile_with_deviations(group, member)
            left -= 1
            if policy.when == "every" or profile.in_background or left < 0:
                return None
            if settings.enable_auto_commit:
                intervals.append(max(settings.auto_commit_interval_ms, 1) * 1_000)
    intervals += [every_us for t in scenario.topic if (every_us := period_of_records_us(t))]
    if expected_us % scenario.lag_every == 0:
        intervals.append(scenario.lag_every)
    short_us = math.lcm(*intervals)
    return short_us if SHORTER * short_us <= expected_us else None


def longest_interval_of(scenario: Scenario) -> int:
    """Return the longest interval at which a member does something (us); 0: it commits by batches."""
    if any(_commits_often(group) for group in scenario.group):
        return 0
    beats_us = _beats_us(scenario)
    every = [each for group in scenario.group for each in _intervals(group, beats_us)]
    return max(every, default=0)


def _commits_often(group: Group) -> bool:
    """Return whether the application of a member commits after each batch or record."""
    return any(_is_often(commit_policy(group, member)) for member in group.members)


def _is_often(policy: CommitPolicy) -> bool:
    return policy.call in ("sync", "async") and policy.when != "every"


def _beats_us(scenario: Scenario) -> int:
    """Return the time between heartbeats of the consumer protocol (us)."""
    return broker_settings(scenario.cluster).group_consumer_heartbeat_interval_ms * 1_000


def _intervals(group: Group, beats_us: int) -> list[int]:
    """Return the intervals at which the members of a group do something (us).

    *beats_us*: between heartbeats of the consumer protocol.
    """
    found = []
    for member in group.members:
        settings, policy = consumer_settings(group, member), commit_policy(group, member)
        if settings.group_protocol == "classic":
            found.append(settings.heartbeat_interval_ms * 1_000)
        else:
            found.append(beats_us)
            if not profile_with_deviations(group, member).in_background:
                found.append(LAGS_REPEAT_US)
        if settings.enable_auto_commit:
            found.append(max(settings.auto_commit_interval_ms, 1) * 1_000)
        if policy.every:
            found.append(policy.every)
    return found


def period_of_records_us(topic: Topic) -> int | None:
    """Return after which time the arrivals of all partitions repeat to the microsecond; None: never.

    Of a rate that changes: while it is constant.
    """
    if topic.keys is not None:
        return None
    constant = _constant_rates(topic)
    rates = [per_microsecond(rate * factor) for factor in {1.0, *topic.skew} for rate in constant]
    return math.lcm(*[rate.denominator for rate in rates if rate]) if constant else None


def _constant_rates(topic: Topic) -> list[float]:
    """Return the rates that a partition of a topic has for a while; none: it has no constant rate."""
    if isinstance(topic.rate, float):
        return [topic.rate]
    segments = segments_of(topic.rate)
    if segments is None:
        return []
    return sorted({part.first for part in segments.parts if part.is_constant})


def changes_of_rates(scenario: Scenario) -> Iterator[int]:
    """Return when the rate of a topic changes, for each change in the run (us), in order of time."""
    found = (segments_of(topic.rate) for topic in scenario.topic)
    return merge(*(changes_of(each, scenario.run_for) for each in found if each is not None))


def per_microsecond(rate_per_second: float) -> Fraction:
    """Return a rate per microsecond, exactly for all rates that a person would write."""
    return Fraction(rate_per_second).limit_denominator(10**9) / US_PER_S
