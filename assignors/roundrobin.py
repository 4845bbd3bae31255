"""The ``roundrobin`` assignor: all partitions of all topics, dealt to the members in turn.

Members that are not subscribed to a topic are skipped, which unbalances groups with different
subscriptions. Racks are not used. Source: ``RoundRobinAssignor``.
"""

from __future__ import annotations

from assignors.leader_input import LeaderInput, partitions_of, read_leader_input, static_order
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics


def assign_roundrobin(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Deal the partitions in turn, topic by topic; static members come first.

    >>> from assignors.types import Subscription
    >>> both = Subscription(topics=("t0", "t1"))
    >>> for member, given in assign_roundrobin(
    ...     Topics(partition_counts={"t0": 3, "t1": 3}), {"C0": both, "C1": both}
    ... ).items():
    ...     print(member, *given)
    C0 t0-0 t0-2 t1-1
    C1 t0-1 t1-0 t1-2
    """
    group = read_leader_input(topics, subscriptions)
    ring = static_order(group.subscriptions)
    deal = _deal_to_all if group.uniform else _deal_to_readers
    assigned = dict(zip(ring, deal(group, ring), strict=True))
    return {member: tuple(assigned[member]) for member in subscriptions}


def _deal_to_all(group: LeaderInput, ring: list[str]) -> list[list[TopicPartition]]:
    """Give each member every n-th partition: no member is skipped."""
    everything = [
        partition
        for topic in sorted(group.partition_counts)
        for partition in partitions_of(topic, range(group.partition_counts[topic]))
    ]
    return [everything[place :: len(ring)] for place in range(len(ring))]


def _deal_to_readers(group: LeaderInput, ring: list[str]) -> list[list[TopicPartition]]:
    """Give each partition to the next member in the ring that is subscribed to its topic."""
    assigned: list[list[TopicPartition]] = [[] for _ in ring]
    asked = [frozenset(group.topics_of[member]) for member in ring]
    place = 0
    for topic in sorted(group.partition_counts):
        readers = [index for index, topics in enumerate(asked) if topic in topics]
        # Within a topic the ring is that of its readers; it begins where the last topic ended.
        first = next((i for i, index in enumerate(readers) if index >= place), 0)
        turn = readers[first:] + readers[:first]
        dealt = partitions_of(topic, range(group.partition_counts[topic]))
        for offset, index in enumerate(turn):
            assigned[index] += dealt[offset :: len(turn)]
        place = (turn[(len(dealt) - 1) % len(turn)] + 1) % len(ring)
    return assigned
