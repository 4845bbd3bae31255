"""The ``uniform`` assignor when all members ask for the same topics.

Surplus partitions stay with whoever holds them, up to the number of members that may have one
more; from scratch the last members of the map get them.
Source: ``UniformHomogeneousAssignmentBuilder`` (spec assignors 1.8, as since Kafka 4.1).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from assignors.errors import AssignorDefectError, Defect
from assignors.java import hash_map_order, length_of_set_copy
from assignors.leader_input import partitions_of
from assignors.server_input import CoordinatorInput, Target
from assignors.types import TopicPartition


def assign_homogeneous(group: CoordinatorInput) -> dict[str, Target]:
    """Return the new target of each member; none if no topic is known.

    Raises :class:`AssignorDefectError` where Kafka's class raises.
    """
    asked = next(iter(group.topics_of.values()), None)
    if asked is None or not asked.names:
        return {}
    topics = hash_map_order(asked.names, group.topic_hash, length_of_set_copy(asked.reported_size))
    targets = {member: group.current_target(member) for member in group.subscriptions}
    unassigned = deque(_unassigned(group, topics))
    partitions = sum(group.partition_counts[topic] for topic in topics)
    share, extra = divmod(partitions, len(targets))
    unfilled: dict[str, int] = {}
    for visited, (member, target) in enumerate(targets.items()):
        quota = share + (extra > 0)
        left = _revoke(target, topics, quota, unassigned)
        # A member that lacks just the extra partition leaves it to a later one that holds it,
        # unless so few are left that each of them has to take one.
        takes_extra = extra > 0
        if left > 0 and takes_extra and len(targets) - visited > extra:
            left -= 1
            takes_extra = False
        if left > 0:
            unfilled[member] = left
        extra -= takes_extra
    _fill(targets, unfilled, unassigned)
    return targets


def _unassigned(group: CoordinatorInput, topics: Iterable[str]) -> Iterable[TopicPartition]:
    """Yield the partitions in nobody's current target, topic by topic."""
    assigned = {one for sub in group.subscriptions.values() for one in sub.owned_partitions}
    for topic in topics:
        for partition in partitions_of(topic, range(group.partition_counts[topic])):
            if partition not in assigned:
                yield partition


def _revoke(
    target: Target, topics: Iterable[str], quota: int, unassigned: deque[TopicPartition]
) -> int:
    """Take from *target* what is not asked for or beyond *quota*; return what is left of that.

    Partitions of dropped topics are not handed on in this round.
    """
    wanted = set(topics)
    room = target.room(wanted, quota)
    if room is not None:
        return room
    for topic in target.topics():
        if topic not in wanted:
            target.drop(topic)
            continue
        numbers = target.numbers(topic)
        for number in numbers[quota:]:
            target.remove(topic, number)
            unassigned.append(TopicPartition(topic, number))
        quota -= min(quota, len(numbers))
    return quota


def _fill(
    targets: Mapping[str, Target], unfilled: Mapping[str, int], unassigned: deque[TopicPartition]
) -> None:
    for member, left in unfilled.items():
        targets[member].begin_change()
        for _ in range(min(left, len(unassigned))):
            targets[member].add(*unassigned.popleft())
    if unassigned:
        raise AssignorDefectError(Defect.PARTITIONS_LEFT, f"nobody takes {unassigned[0]}")
