"""Count the fetches of clients that fill a queue whatever the application does."""

from __future__ import annotations

from emulator.scenario.model import Group, Member, Scenario, mean_us
from emulator.scenario.resolution import consumer_settings, topics_of
from emulator.scenario.units import US_PER_MS


def queue_fetches(
    group: Group, member: Member, scenario: Scenario, records: float, living_us: int
) -> float:
    """Return about how many fetches a member sends in its lifetime, if its queues have room.

    *records*: those that are produced for it. A broker answers as soon as it has one of them
    (fetch.min.bytes), so a member that is behind in its work fetches as often as one that is not.
    """
    partitions = sum(topic.partitions for topic in topics_of(group, scenario)) / len(group.members)
    brokers = max(min(scenario.cluster.brokers, partitions), 1.0)
    wait_us: float = consumer_settings(group, member).fetch_max_wait_ms * US_PER_MS
    if records:
        wait_us = min(wait_us, brokers * living_us / records)
    each_us = wait_us + 2 * mean_us(scenario.network.latency)
    return brokers * living_us / max(each_us, 1.0)
