"""The *upgrade*: a classic group with members becomes a consumer group.

The first heartbeat of the consumer protocol causes it. The members stay, with their generation as
their member epoch, and are served by ``kip848/classic_members.py``.

Source: ``validateOnlineUpgrade``, ``convertToConsumerGroup`` and ``ConsumerGroup.fromClassicGroup``
of 4.4.0.
"""

from __future__ import annotations

from functools import partial

from protocols.facts import GroupConverted
from protocols.groups.classic import group as classic
from protocols.groups.classic import kind
from protocols.groups.classic.rebalance import reject_sync, respond_to_joins
from protocols.groups.kip848 import classic_members
from protocols.groups.kip848 import group as consumer
from protocols.groups.kip848.records import (
    Draft,
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from protocols.groups.kip848.replay import in_map_order
from protocols.groups.kip848.shard import without_soft
from protocols.groups.kip848.soft import session_timer as consumer_session
from protocols.groups.shard import AnyShard, Moment, Turn
from protocols.machine import Effect, Report, SetTimer
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    ConsumerGroupHeartbeatRequest,
    Header,
    JoinGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import (
    GroupMetadataValue,
    MalformedRecordError,
    MemberMetadata,
    Record,
)
from protocols.offsets_topic.records.embedded import read_assignment, read_subscription
from protocols.values import replace


def may_upgrade(group: classic.Group, at: Moment) -> bool:
    """Return whether policy, type and size allow the upgrade of a classic group with members."""
    settings = at.settings
    return (
        settings.group_consumer_migration_policy in {"bidirectional", "upgrade"}
        and group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and len(group.members) <= settings.group_consumer_max_size
    )


def reject_waiting(group: classic.Group) -> Turn[classic.Group]:
    """Respond to all parked requests with an error; this also takes effect if the upgrade fails.

    Their members no longer count as joined, and their sessions are unchanged.
    """
    again = ErrorCode.REBALANCE_IN_PROGRESS
    turn = respond_to_joins(
        group, lambda member: JoinGroupResponse(error=again, member_id=member.member_id)
    )
    for member in classic.in_order(group):
        turn = turn.then(partial(reject_sync, member_id=member.member_id, error=again))
    return turn


def validate_upgrade(shard: AnyShard, group: classic.Group) -> ErrorCode | None:
    """Return the error if an allowed upgrade is not possible, else None.

    User data in an assignment, which only custom assignors write, has no counterpart in the new
    group. Bytes that are not of the consumer protocol cannot be read. A group in its first join
    phase has not selected the protocol whose metadata Kafka reads.
    """
    stored = shard.durable.groups.get(group.group_id)
    for member in stored.members if isinstance(stored, GroupMetadataValue) else ():
        if member.member_id in group.members and not _is_readable(member):
            return ErrorCode.GROUP_ID_NOT_FOUND
    offers_it = (_offers(member, group.protocol_name) for member in group.members.values())
    return None if all(offers_it) else ErrorCode.UNKNOWN_SERVER_ERROR


def _is_readable(member: MemberMetadata) -> bool:
    try:
        read_subscription(member.subscription)
        return not (member.assignment and read_assignment(member.assignment).user_data)
    except MalformedRecordError:
        return False


def _offers(member: classic.Member, protocol: str | None) -> bool:
    return any(offer.name == protocol for offer in member.protocols)


def convert(
    shard: AnyShard,
    group: classic.Group,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
    at: Moment,
) -> Turn[AnyShard]:
    """Convert a classic group without parked requests to a consumer group.

    The timers of the classic group stay: they do nothing unless the conversion fails.
    """
    group_id = group.group_id
    draft = _as_consumer_group(group, at)
    sessions = tuple(
        SetTimer(consumer_session(group_id, member.member_id), at.after(member.session_timeout_ms))
        for member in classic.in_order(group)
    )
    groups = shard.durable.groups.hold(group_id, draft.group)
    emptied = without_soft(shard.without_group(group_id), group_id)
    after = replace(emptied, durable=replace(shard.durable, groups=groups))
    deleted = kind.delete(shard, group_id).records
    converted = GroupConverted(
        group=group_id,
        protocol="consumer",
        generation=group.generation,
        member_id=request.member_id,
        client=header.client,
        assignment=classic.by_member(group),
    )
    effects: tuple[Effect, ...] = (Report(converted), *sessions)
    return Turn(after, effects, (*deleted, *draft.records))


def _as_consumer_group(group: classic.Group, at: Moment) -> Draft:
    """Return the consumer group and its records; its epoch is the classic group's generation.

    The records are in the order of the new group's table, which is filled in the order of the classic
    group's (``ConsumerGroup.fromClassicGroup``, ``createConsumerGroupRecords``).
    """
    group_id, epoch, image = group.group_id, group.generation, at.broker.image
    filled = Draft(consumer.Group(group_id)).with_records(
        [_member_record(group, member) for member in classic.in_order(group)]
    )
    wanted = {
        member.member_id: _by_id(group.assignments.get(member.member_id, ()), at)
        for member in filled.group
    }
    draft = Draft(
        filled.group,
        tuple(
            member_record(group_id, member.member_id, member.metadata) for member in filled.group
        ),
    )
    topics_hash = image.hash_of(consumer.subscribed_topics(draft.group))
    return draft.with_records(
        [
            epoch_record(group_id, epoch, topics_hash),
            *(target_record(group_id, name, given) for name, given in wanted.items()),
            target_epoch_record(group_id, epoch, 0),
            *(
                current_record(group_id, name, _stable(epoch, given))
                for name, given in wanted.items()
            ),
        ]
    )


def _member_record(group: classic.Group, member: classic.Member) -> Record:
    subscription = classic.metadata_of(member, group.protocol_name)
    metadata = replace(
        consumer.NO_METADATA,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic_member_metadata=classic_members.classic_metadata(
            member.session_timeout_ms,
            tuple((offer.name, offer.metadata) for offer in member.protocols),
        ),
    )
    return member_record(group.group_id, member.member_id, metadata)


def _by_id(partitions: classic.Partitions, at: Moment) -> consumer.TargetPartitions:
    """Return partitions by topic id in the order of Kafka's maps, without those of deleted topics."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        topic_id = at.broker.image.id_of(topic)
        if topic_id is not None:
            numbers.setdefault(topic_id, []).append(number)
    return in_map_order({topic_id: tuple(each) for topic_id, each in numbers.items()})


def _stable(epoch: int, given: consumer.TargetPartitions) -> consumer.CurrentAssignment:
    grants = {topic_id: dict.fromkeys(numbers, epoch) for topic_id, numbers in given.items()}
    return consumer.CurrentAssignment(epoch, epoch, consumer.MemberState.STABLE, grants)
