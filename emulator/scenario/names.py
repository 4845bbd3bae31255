"""Names in a scenario: members, brokers, groups, topics and faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from emulator.scenario.model import Cluster, Group, Member, Scenario

CLIENTS, BROKERS = "clients", "brokers"
CONTROLLER = "controller"
"""The controller quorum, modelled as one node."""

ADMIN = "admin"
"""The admin client, which deletes and resets offsets."""

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


class Names(NamedTuple):
    """All names that a scenario can refer to, in the order of the file."""

    member: dict[str, Group]
    """With the group it belongs to."""

    group: dict[str, Group]
    topic: tuple[str, ...]
    broker: tuple[str, ...]
    """``broker-N``, and ``coordinator of GROUP``."""

    fault: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Return the names of a scenario."""
        coordinators = [f"{COORDINATOR_OF}{group.id}" for group in scenario.group]
        return cls(
            member={member.name: group for group, member in members_of(scenario)},
            group={group.id: group for group in scenario.group},
            topic=tuple(topic.name for topic in scenario.topic),
            broker=(*coordinators, *broker_names(scenario.cluster)),
            fault=tuple(fault.id for fault in scenario.fault),
        )

    @property
    def party(self) -> tuple[str, ...]:
        """Return the names of all nodes that can send and receive."""
        return (CLIENTS, BROKERS, CONTROLLER, ADMIN, *self.member, *self.broker)

    def same_side(self, one: str, other: str) -> bool:
        """Return whether both are clients, or neither: then they exchange no client requests."""
        return self._asks(one) == self._asks(other)

    def exchange_messages(self, one: str, other: str) -> bool:
        """Return whether two nodes exchange messages of any kind."""
        if self._asks(one) or self._asks(other):
            return not self.same_side(one, other) and CONTROLLER not in (one, other)
        return one != other

    def _asks(self, party: str) -> bool:
        return party in (CLIENTS, ADMIN) or party in self.member
