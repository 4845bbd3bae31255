"""The coordinator's ``range`` assignor: contiguous ranges of partitions, by topic id.

It gives each member the same partitions as the client's ``range`` without racks; only the order
inside the lists differs. Source: ``org.apache.kafka.coordinator.group.assignor.RangeAssignor``.
"""

from __future__ import annotations

from collections import Counter

from assignors.java import hash_map_order, length_for_capacity
from assignors.leader_input import partitions_of, static_order
from assignors.server_input import CoordinatorInput, SubscribedTopics, read_coordinator_input
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics


def assign_server_range(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Split every topic among its subscribers; static members come first. Not sticky, no racks.

    *subscriptions*: in the order of the coordinator's member map.

    >>> from assignors.types import Subscription
    >>> asks = Subscription(topics=("t0", "t1", "t2", "t3"))
    >>> for member, given in assign_server_range(
    ...     Topics(partition_counts=dict.fromkeys(asks.topics, 2)),
    ...     {"C0": asks, "C1": asks, "C2": asks},
    ... ).items():
    ...     print(member, *given)
    C0 t0-0 t1-0 t3-0 t2-0
    C1 t0-1 t1-1 t3-1 t2-1
    C2
    """
    group = read_coordinator_input(topics, subscriptions)
    divisors = _divisors(group)
    next_free: Counter[str] = Counter()
    served: Counter[str] = Counter()
    assigned: dict[str, tuple[TopicPartition, ...]] = {}
    first = group.topics_of[static_order(group.subscriptions)[0]] if subscriptions else None
    for member in static_order(group.subscriptions):
        asked = first if group.homogeneous and first else group.topics_of[member]
        runs: dict[str, range] = {}
        for topic in asked.names:
            count = group.partition_counts[topic]
            share, extra = divmod(count, divisors[topic])
            start = next_free[topic]
            end = min(start + share + (served[topic] < extra), count)
            next_free[topic] = end
            served[topic] += 1
            if start < end:
                runs[topic] = range(start, end)
        assigned[member] = _in_map_order(group, asked, runs)
    return {member: assigned[member] for member in subscriptions}


def _divisors(group: CoordinatorInput) -> Counter[str]:
    """Return among how many members each topic is split: all of them if they count as homogeneous.

    A member whose pattern was not looked up yet has no topics, and still counts then.
    """
    if group.homogeneous:
        return Counter(dict.fromkeys(group.partition_counts, len(group.subscriptions)))
    return Counter(topic for asked in group.topics_of.values() for topic in asked.names)


def _in_map_order(
    group: CoordinatorInput, asked: SubscribedTopics, runs: dict[str, range]
) -> tuple[TopicPartition, ...]:
    """Return the ranges in the order of the result's map, sized by the number of topics Java counts."""
    size = len(asked.names) if group.homogeneous else asked.reported_size
    ordered = hash_map_order(runs, group.topic_hash, length_for_capacity(4 * size // 3 + 1))
    return tuple(one for topic in ordered for one in partitions_of(topic, runs[topic]))
