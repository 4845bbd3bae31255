"""What members that are not alike, or slow one another down, can process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.scenario.model import Group
from emulator.scenario.resolution import concurrency, consumer_settings, subscription_of
from emulator.scenario.tables.handlers import crowding


def slowest(
    group: Group, speeds: Mapping[str, float], together: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Return the slowest member, and how many partitions each gets at least, with what arrives in them.

    *together*: the rates of partitions that are assigned together. Nothing where an assignor may give a
    member none.
    """
    if not _is_balanced(group):
        return {}
    name = min(speeds, key=lambda each: speeds[each])
    gets = [sorted(each)[: len(each) // len(speeds)] for each in together]
    return {
        "slowest": name,
        "slowest_speed": speeds[name],
        "fewest": sum(len(each) for each in gets),
        "fewest_arrival": sum(sum(each) for each in gets),
    }


BALANCED = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky", "uniform"})
"""Assignors that give members with one subscription as many partitions, or one more."""


def _is_balanced(group: Group) -> bool:
    """Return whether every member gets its part of the partitions, whatever it can process."""
    if len({subscription_of(group, member) for member in group.members}) > 1:
        return False
    return all(
        settings.group_remote_assignor in (None, *BALANCED)
        if settings.group_protocol == "consumer"
        else BALANCED.issuperset(settings.partition_assignment_strategy)
        for settings in (consumer_settings(group, member) for member in group.members)
    )


def best_number(group: Group, speed: float, partitions: int) -> dict[str, Any]:
    """Return how many members of a group process most, if fewer than it has; *speed*: of one alone."""
    of_member, _ = concurrency(group)
    most = min(len(group.members), partitions)
    by_number = {n: speed * n / crowding(group.work_by, n * of_member) for n in range(1, most + 1)}
    best = max(by_number, key=lambda n: (by_number[n], -n))
    if by_number[best] <= by_number[most] * NOTABLE_GAIN:
        return {}
    return {"best_members": best, "best": by_number[best]}


NOTABLE_GAIN = 1.05
"""Fewer members are better only if they process this many times as much."""
