"""Racks of members and of replicas, and whether they can make a difference (KIP-881).

Source: ``AbstractPartitionAssignor.useRackAwareAssignment`` (spec assignors 1.3, 1.5 B).
Replicas count whether they are alive or not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from assignors.leader_input import LeaderInput
from assignors.types import Subscription


def member_racks(subscriptions: Mapping[str, Subscription]) -> dict[str, str]:
    """Return the racks of the members that have one; an empty rack is none."""
    return {member: sub.rack_id for member, sub in subscriptions.items() if sub.rack_id}


def partition_racks(group: LeaderInput, topic: str) -> list[frozenset[str]]:
    """Return the racks of each partition of *topic*; none where they are not known."""
    count = group.partition_counts[topic]
    known = [frozenset(racks) for racks in group.racks.get(topic, ())[:count]]
    return known + [frozenset()] * (count - len(known))


def racks_matter(of_members: Collection[str], of_partitions: Iterable[frozenset[str]]) -> bool:
    """Say whether a member is on a rack with a replica, and a partition not on all racks."""
    distinct = set(of_partitions)
    everywhere = frozenset().union(*distinct)
    return not everywhere.isdisjoint(of_members) and distinct != {everywhere}
