"""Estimate the number of events of a run before it begins.

The estimate follows from rates, members, work and ``run_for``. It is accurate within a small factor,
which is enough to distinguish a minute from a month.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.scenario.model import Bursts, CommitPolicy, Group, Poisson, Scenario, Topic, mean_us
from emulator.scenario.problems import Problem, ScenarioError
from emulator.scenario.resolution import (
    commit_policy,
    consumer_settings,
    members_of,
    subscription_of,
    work_of,
)
from emulator.scenario.units import US_PER_MS, US_PER_S

MOST_EVENTS = 10**9
"""The maximum for one run, unless the user allows more."""

EVENTS_PER_POLL = 4
EVENTS_PER_HEARTBEAT = 3
EVENTS_PER_COMMIT = 4

COMMITTED_TOGETHER = 10
SAMPLED_TOGETHER = 10
"""The number of offsets in a commit, or of partitions in a lag sample, that cost one event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The events of a run, by source."""

    polls: int
    heartbeats: int
    commits: int
    samples: int

    @property
    def events(self) -> int:
        """Return the total number of events."""
        return self.polls + self.heartbeats + self.commits + self.samples


def estimate(scenario: Scenario) -> Estimate:
    """Return the approximate number of events in a run of the scenario."""
    polls = heartbeats = commits = 0.0
    samples = 0
    for group in scenario.group:
        partitions = sum(topic.partitions for topic in _topics_of(group, scenario))
        group_polls, group_commits = _data_plane(group, scenario)
        polls += group_polls
        commits += group_commits * max(1.0, partitions / len(group.members) / COMMITTED_TOGETHER)
        samples += partitions * scenario.run_for // scenario.lag_every
    for group, member in members_of(scenario):
        settings = consumer_settings(group, member)
        heartbeats += scenario.run_for / (settings.heartbeat_interval_ms * US_PER_MS)
    return Estimate(
        polls=int(polls * EVENTS_PER_POLL),
        heartbeats=int(heartbeats * EVENTS_PER_HEARTBEAT),
        commits=int(commits * EVENTS_PER_COMMIT),
        samples=samples // SAMPLED_TOGETHER,
    )


def refuse_large(scenario: Scenario, name: str) -> None:
    """Raise ScenarioError with the estimate if a run would have more than 10^9 events."""
    expected = estimate(scenario)
    if expected.events <= MOST_EVENTS:
        return
    parts = ", ".join(
        f"{getattr(expected, part):.1e} for {part}"
        for part in ("polls", "heartbeats", "commits", "samples")
    )
    reason = (
        f"about {expected.events:.1e} events ({parts}); allowed are {MOST_EVENTS:.0e}. "
        "Shorten run_for, lower the rates or take fewer members; `allow_large` runs it anyway"
    )
    raise ScenarioError(name, [Problem("", reason)])


# -- polls and commits -----------------------------------------------------------------------


def _data_plane(group: Group, scenario: Scenario) -> tuple[float, float]:
    """Return the polls and commits of a group, as if its records were distributed evenly."""
    run_for = scenario.run_for
    records = _records_of(group, scenario) / len(group.members)
    polls = commits = 0.0
    for member in group.members:
        settings, policy = consumer_settings(group, member), commit_policy(group, member)
        work_us = max(mean_us(work_of(group, member)), 1.0)
        done = min(records, run_for / work_us)
        busy = min(done * work_us / run_for, 1 - 1 / settings.max_poll_records)
        round_trip_us = 2 * mean_us(scenario.network.latency)
        at_once = done / run_for * round_trip_us / (1 - busy)
        mine = done / min(max(at_once, 1.0), settings.max_poll_records)
        polls += mine + run_for * (1 - busy) / group.poll_timeout
        if settings.enable_auto_commit:
            commits += run_for / max(settings.auto_commit_interval_ms * US_PER_MS, US_PER_MS)
        if policy.call in ("sync", "async"):
            spaced = _spaced_commits(policy, done, run_for)
            commits += {"record": done, "every": spaced}.get(policy.when, mine)
    return polls, commits


def _spaced_commits(policy: CommitPolicy, records: float, run_for: int) -> float:
    by_records = records / policy.records if policy.records else 0.0
    by_time = run_for / policy.every if policy.every else 0.0
    return min(by_records + by_time, records)


def _records_of(group: Group, scenario: Scenario) -> float:
    return sum(_records_in(topic, scenario.run_for) for topic in _topics_of(group, scenario))


def _topics_of(group: Group, scenario: Scenario) -> list[Topic]:
    """Return the topics that a group may read; a pattern may match every topic."""
    wanted = {topic for member in group.members for topic in subscription_of(group, member)[0]}
    everything = any(subscription_of(group, member)[1] for member in group.members)
    return [topic for topic in scenario.topic if everything or topic.name in wanted]


def _records_in(topic: Topic, run_for: int) -> float:
    until = run_for if topic.produce_until is None else min(topic.produce_until, run_for)
    factors = topic.partitions - len(topic.skew) + sum(topic.skew)
    produced = _rate(topic) * factors * max(until - topic.produce_from, 0) / US_PER_S
    return produced + topic.backlog * topic.partitions


def _rate(topic: Topic) -> float:
    match topic.rate:
        case Poisson(poisson=rate):
            return rate
        case Bursts(bursts=shape):
            share = shape.lasting / shape.every
            return shape.rate * share + shape.between * (1 - share)
        case rate:
            return rate
