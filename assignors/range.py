"""The ``range`` assignor: of every topic each reader gets one run of neighbouring partitions.

Topics with the same readers and the same number of partitions are split alike, so records with
one key meet on one member. Where racks matter, see :mod:`assignors.range_racks`.
Source: ``RangeAssignor`` (spec assignors 1.3).
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.leader_input import LeaderInput, partitions_of, read_leader_input, static_order
from assignors.range_racks import assign_near, near_topics
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics

Readers = Mapping[str, tuple[str, ...]]
"""Known topic, in map order, to the members that ask for it, in static order."""


def assign_range(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Split every topic among its readers, topic by topic; static members come first.

    >>> from assignors.types import Subscription
    >>> both = Subscription(topics=("t0", "t1"))
    >>> for member, given in assign_range(
    ...     Topics(partition_counts={"t0": 3, "t1": 3}), {"C0": both, "C1": both}
    ... ).items():
    ...     print(member, *given)
    C0 t0-0 t0-1 t1-0 t1-1
    C1 t0-2 t1-2
    """
    group = read_leader_input(topics, subscriptions)
    readers = _readers(group)
    near = near_topics(group, readers)
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    if near:
        for member, run in assign_near(group, readers, near):
            assigned[member] += run
        for partitions in assigned.values():
            partitions.sort()
    else:
        for topic, members in readers.items():
            _assign_runs(topic, group.partition_counts[topic], members, assigned)
    return {member: tuple(partitions) for member, partitions in assigned.items()}


def _readers(group: LeaderInput) -> Readers:
    members = tuple(static_order(group.subscriptions))
    if group.uniform:
        return dict.fromkeys(group.partition_counts, members)
    asked = {member: frozenset(group.topics_of[member]) for member in members}
    return {
        topic: tuple(member for member in members if topic in asked[member])
        for topic in group.partition_counts
    }


def _assign_runs(
    topic: str, count: int, readers: tuple[str, ...], assigned: dict[str, list[TopicPartition]]
) -> None:
    """Give each reader its run of *topic*; the first ones share what is left over."""
    partitions = partitions_of(topic, range(count))
    share, extra = divmod(count, len(readers))
    start = 0
    for place, member in enumerate(readers):
        end = start + share + (place < extra)
        assigned[member] += partitions[start:end]
        start = end
