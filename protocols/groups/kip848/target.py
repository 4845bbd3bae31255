"""Compute the target assignment of the whole group; only changes are written.

The assignor starts from the members' last *targets*, not from their current assignments: a
partition that is still being revoked elsewhere already counts for its next owner.

Source: ``TargetAssignmentBuilder``, ``GroupMetadataManager.canComputeNextTargetAssignment``,
``ConsumerGroup.subscriptionType`` of Kafka 4.4.0.
"""

from __future__ import annotations

from itertools import repeat

from assignors.errors import AssignorDefectError, AssignorError
from assignors.java import hash_map_order, java_hash
from assignors.plugin import check_assignment, user_code
from assignors.types import (
    Assignment,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
    partition_of_pair,
)
from protocols.facts import AssignorFailed
from protocols.groups.kip848.group import (
    Counts,
    Group,
    Member,
    TargetPartitions,
    subscribed_topics,
    topics_of,
)
from protocols.groups.kip848.records import Draft, target_epoch_record, target_record
from protocols.groups.shard import Moment
from protocols.groups.topics import topic_id_bytes
from protocols.offsets_topic.records import Record


def is_due(group: Group, at: Moment) -> bool:
    """Return whether the target is behind and may be computed now (KIP-1263).

    The assignment interval separates the computations of one group; there is no timer for it, the
    next heartbeat after it computes the target.
    """
    if group.epoch <= group.target_epoch:
        return False
    interval_ms = at.settings.group_consumer_assignment_interval_ms
    rested = at.now_ms >= group.assigned_ms + interval_ms
    return group.assigned_ms == 0 or interval_ms == 0 or rested


class TargetAssignmentError(Exception):
    """The assignor failed: the request is answered with UNKNOWN_SERVER_ERROR, without a message."""

    def __init__(self, group: Group, assignor: str, reason: object) -> None:
        """Take the group, whose epoch is that of the target, and the reason of the failure."""
        message = f"Failed to compute a new target assignment for epoch {group.epoch}: {reason}"
        super().__init__(message)
        self.fact = AssignorFailed(group=group.group_id, assignor=assignor, message=message)


def with_target(
    draft: Draft, name: str, counted: Counts, new_member: str | None, at: Moment
) -> Draft:
    """Return the draft with a target assignment for its group epoch, by the assignor *name*.

    *counted*: the subscriptions by which the group counts as homogeneous or not.
    *new_member*: the member that this heartbeat added; it is last in the assignor's input. Raises
    TargetAssignmentError if the assignor fails or is not in ``group.consumer.assignors``.

    Source: ``GroupMetadataManager.updateTargetAssignment``.
    """
    group = draft.group
    if name not in at.settings.group_consumer_assignors:
        raise TargetAssignmentError(group, name, f"there is no assignor {name!r}")
    subscriptions = _subscriptions(group, members_in_order(group, new_member), at)
    try:
        assigned = _assigned(name, _topics(group, counted, at), subscriptions, at)
    except (AssignorError, AssignorDefectError) as error:
        raise TargetAssignmentError(group, name, error) from error
    records = _changes(group, subscriptions, assigned, at)
    epoch = target_epoch_record(group.group_id, group.epoch, at.now_ms)
    return draft.with_records((*records, epoch))


def members_in_order(group: Group, new_member: str | None) -> list[Member]:
    """Return the members as they are put into the assignor's input, a new one last."""
    members = list(group)
    if new_member is not None:
        members.sort(key=lambda member: member.member_id == new_member)
    return members


def _changes(
    group: Group, subscriptions: Subscriptions, assigned: Assignment, at: Moment
) -> list[Record]:
    """Return record 7 of every member whose target is new or changed, in Kafka's order.

    Source: ``TargetAssignmentBuilder.build``, which iterates over a HashMap of the member ids.
    """
    image, records = at.broker.image, list[Record]()
    for member_id in hash_map_order(subscriptions, java_hash):
        partitions = assigned[member_id]
        old = group.targets.get(member_id)
        kept = partitions == subscriptions[member_id].owned_partitions
        if kept and old is not None and len(partitions) == sum(map(len, old.values())):
            continue
        wanted: dict[str, list[int]] = {}
        for topic, number in partitions:
            wanted.setdefault(image.by_name[topic].topic_id, []).append(number)
        if old is None or not _same(old, wanted):
            new = {topic: tuple(numbers) for topic, numbers in wanted.items()}
            records.append(target_record(group.group_id, member_id, new))
    return records


def _same(old: TargetPartitions, new: dict[str, list[int]]) -> bool:
    return old.keys() == new.keys() and all(
        len(old[topic]) == len(numbers) and set(old[topic]) == set(numbers)
        for topic, numbers in new.items()
    )


# -- the input of the assignor -----------------------------------------------------------------


def _subscriptions(group: Group, members: list[Member], at: Moment) -> Subscriptions:
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    subscriptions = {}
    for member in members:
        names = topics_of(group, member)
        subscriptions[member.member_id] = Subscription(
            topics=shared.setdefault(names, names),
            owned_partitions=_owned(group, member, at),
            rack_id=member.metadata.rack_id,
            group_instance_id=member.metadata.instance_id,
        )
    return subscriptions


def _assigned(name: str, topics: Topics, subscriptions: Subscriptions, at: Moment) -> Assignment:
    assign = at.broker.assignors[name]
    with user_code(name, "assign"):
        assigned = assign(topics, subscriptions)
    return assigned if name in _TRUSTED else check_assignment(assigned, subscriptions).assignment


_TRUSTED = frozenset({"uniform", "range"})
"""The built-in assignors, whose assignments are not checked."""


def _topics(group: Group, counted: Counts, at: Moment) -> Topics:
    by_name = at.broker.image.by_name
    known = [by_name[name] for name in subscribed_topics(group) if name in by_name]
    ids = {topic.name: topic_id_bytes(topic.topic_id) for topic in known}
    name_of = at.broker.image.name_of
    owned = {topic_id for target in group.targets.values() for topic_id in target}
    ids |= {topic_id: topic_id_bytes(topic_id) for topic_id in sorted(owned - name_of.keys())}
    return Topics(
        partition_counts={topic.name: len(topic.leaders) for topic in known},
        racks={topic.name: topic.racks for topic in known if topic.racks},
        topic_ids=ids,
        same_for_all=counted.is_homogeneous(),
    )


def _owned(group: Group, member: Member, at: Moment) -> tuple[TopicPartition, ...]:
    """Return a member's last target by topic name; a deleted topic has its id instead."""
    name_of = at.broker.image.name_of
    return tuple(
        partition
        for topic, numbers in group.targets.get(member.member_id, {}).items()
        for partition in map(
            partition_of_pair, zip(repeat(name_of.get(topic, topic)), numbers, strict=False)
        )
    )
