"""Whole periods of an undisturbed run, skipped instead of played.

Members of stable groups that read steady streams do the same again and again. When all parts of a
run are in the state of one period before, later by that period and further by its records, every
period until the next disturbance is the same: its events are written with moved times and offsets,
and the run continues behind the last of them. A run has the same events with and without it
(``tests/emulator/test_periods.py``).
"""

from __future__ import annotations

import math

from emulator.scenario.model import Group, Scenario
from emulator.scenario.resolution import commit_policy, consumer_settings
from emulator.world.cluster.arrivals import period_of_records_us
from emulator.world.draws import constant_of

LONGEST_PERIOD_US = 120_000_000
"""The longest period that is searched for."""


def period_of(scenario: Scenario) -> int | None:
    """Return the expected period of a scenario (us): a multiple of all its intervals; None: none."""
    network = scenario.network
    links = (network.latency, *(link.latency for link in network.link if link.latency))
    drawn = [*links, scenario.cluster.replication]
    lossy = network.loss or any(link.loss for link in network.link)
    if lossy or any(constant_of(delay) is None for delay in drawn):
        return None
    intervals = [1_000]
    for topic in scenario.topic:
        every_us = period_of_records_us(topic)
        if every_us is None:
            return None
        intervals.append(every_us)
    for group in scenario.group:
        intervals += _intervals(group)
    longest_us = min(LONGEST_PERIOD_US, scenario.run_for // 3)
    period_us = math.lcm(*intervals)
    with_samples_us = math.lcm(period_us, scenario.lag_every)
    if with_samples_us <= longest_us:
        return with_samples_us
    return period_us if period_us <= longest_us else None


def _intervals(group: Group) -> list[int]:
    """Return the intervals at which the members of a group do something (us)."""
    found = []
    for member in group.members:
        settings, policy = consumer_settings(group, member), commit_policy(group, member)
        found.append(settings.heartbeat_interval_ms * 1_000)
        if settings.enable_auto_commit:
            found.append(settings.auto_commit_interval_ms * 1_000)
        if policy.every:
            found.append(policy.every)
    return found
