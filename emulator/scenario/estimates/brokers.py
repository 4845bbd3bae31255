"""Estimate what brokers and coordinators do beside their members, before a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.scenario.estimates.lifetimes import begins
from emulator.scenario.model import CreateTopic, DeleteTopic, Scenario, mean_us
from emulator.scenario.resolution import broker_settings
from emulator.scenario.tables.acts import AddPartitions
from emulator.scenario.units import US_PER_MS

SMALLEST_STORED: Final = 200
"""About the size of the smallest record of a group, in bytes, with the header of its batch."""

TOPICS_OF_A_MEMBER: Final = 100
"""About how many topics in the metadata of coordinators cost as much as a member."""

COORDINATORS: Final = 5
"""What a change of topics costs without members and topics, in members."""


TOPICS_MORE: Final[Mapping[type, int]] = {CreateTopic: 1, DeleteTopic: -1, AddPartitions: 0}
"""The acts that change topics, and by how many their number."""


def expiry_checks(scenario: Scenario) -> float:
    """Return how often coordinators look for expired offsets, in each partition of their log."""
    settings = broker_settings(scenario.cluster)
    each_us = settings.offsets_retention_check_interval_ms * US_PER_MS
    return settings.offsets_topic_num_partitions * (scenario.run_for / each_us)


def refused_joins(scenario: Scenario) -> float:
    """Return how often members join again at once because no record of theirs can be stored."""
    if broker_settings(scenario.cluster).max_message_bytes >= SMALLEST_STORED:
        return 0.0
    members = sum(len(group.members) for group in scenario.group)
    return members * scenario.run_for / max(4 * mean_us(scenario.network.latency), 1.0)


def topic_changes(scenario: Scenario) -> float:
    """Return how often members are told of a change of topics.

    Each change goes to every member, and all topics go to the coordinators, which is counted in members.
    """
    told = COORDINATORS + sum(len(group.members) for group in scenario.group)
    created = [each.created for each in scenario.topic if isinstance(each.created, int)]
    there = created.count(0)
    changes = [(at_us, 1) for at_us in created if at_us]
    acts = begins(scenario)
    changes += [(at_us, TOPICS_MORE[type(act)]) for act, at_us in acts if type(act) in TOPICS_MORE]
    found = 0.0
    for _, more in sorted(changes):
        there += more
        found += told + there / TOPICS_OF_A_MEMBER
    return found
