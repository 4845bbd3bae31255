"""Who takes part in a scenario, by name: members, brokers, groups, and both sides at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from emulator.scenario.model import Cluster, Group, Member, Scenario

CLIENTS, BROKERS = "clients", "brokers"
COORDINATOR_OF = "coordinator of "

_BROKER = re.compile(r"broker-([1-9]\d{0,8})")


def members_of(scenario: Scenario) -> Iterator[tuple[Group, Member]]:
    """Yield every member with its group, in the order of the file."""
    for group in scenario.group:
        for member in group.members:
            yield group, member


def broker_number(party: str) -> int | None:
    """Return the number of ``broker-N``; None for any other party."""
    match = _BROKER.fullmatch(party)
    return int(match[1]) if match else None


def broker_names(cluster: Cluster) -> list[str]:
    """Return the names of all brokers: ``broker-1``, ``broker-2``, and so on."""
    return [f"broker-{number}" for number in range(1, cluster.brokers + 1)]


def coordinator_names(scenario: Scenario) -> list[str]:
    """Return ``coordinator of GROUP`` for every group."""
    return [f"{COORDINATOR_OF}{group.id}" for group in scenario.group]
