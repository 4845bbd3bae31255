"""A classic group with members becomes a consumer group: the *upgrade*.

The first heartbeat of the consumer protocol does it. The members go on as they were, at the epoch
that was their generation, served by ``kip848/classic_members.py``.

Source: ``validateOnlineUpgrade``, ``convertToConsumerGroup`` and ``ConsumerGroup.fromClassicGroup``
of 4.4.0 (spec kip848 5.1).
"""

from __future__ import annotations

from dataclasses import replace

from protocols.classic import admin
from protocols.classic import group as classic
from protocols.classic.lifecycle import timers_of as classic_timers
from protocols.classic.parked import answered_joins, answered_syncs
from protocols.coordinator.kinds import AnyShard
from protocols.coordinator.turn import Moment, Turn
from protocols.errors import ErrorCode
from protocols.facts import GroupConverted
from protocols.kip848 import classic_members
from protocols.kip848 import group as consumer
from protocols.kip848.timers import session_timer as consumer_session
from protocols.kip848.writing import (
    Draft,
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    ConsumerGroupHeartbeatRequest,
    Header,
    JoinGroupResponse,
    SyncGroupResponse,
)
from protocols.records import Record
from protocols.step import SetTimer, Tell


def is_allowed(group: classic.Group, at: Moment) -> bool:
    """Say whether a classic group with members may become a consumer group."""
    settings = at.settings
    return (
        settings.group_consumer_migration_policy in {"bidirectional", "upgrade"}
        and group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and len(group.members) <= settings.group_consumer_max_size
    )


def upgraded(
    shard: AnyShard,
    group: classic.Group,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
    at: Moment,
) -> Turn[AnyShard]:
    """Make a consumer group of a classic one; whoever waits in it joins again."""
    group_id, again = group.group_id, ErrorCode.REBALANCE_IN_PROGRESS
    answered = answered_joins(
        group, lambda member: JoinGroupResponse(error=again, member_id=member.member_id)
    ).then(lambda group: answered_syncs(group, at, lambda _: SyncGroupResponse(error=again)))
    draft = _as_consumer_group(group, at)
    sessions = tuple(
        SetTimer(consumer_session(group_id, member.member_id), at.after(member.session_timeout_ms))
        for member in classic.in_order(group)
    )
    groups = shard.durable.groups.hold(group_id, draft.group)
    after = replace(shard.without_group(group_id), durable=replace(shard.durable, groups=groups))
    deleted = admin.deleted(shard, group_id).records
    told = GroupConverted(
        group=group_id,
        protocol="consumer",
        generation=group.generation,
        member_id=request.member_id,
        client=header.client,
        assignment=classic.by_member(group),
    )
    effects = (Tell(told), *answered.effects, *classic_timers(group), *sessions)
    return Turn(after, effects, (*deleted, *draft.records))


def _as_consumer_group(group: classic.Group, at: Moment) -> Draft:
    """Return the records of a consumer group at the epoch of a classic one's generation."""
    group_id, epoch, image = group.group_id, group.generation, at.broker.image
    members = classic.in_order(group)
    wanted = {
        member.member_id: _by_id(group.assignments.get(member.member_id, ()), at)
        for member in members
    }
    draft = Draft(consumer.Group(group_id)).with_records(
        [_member_record(group, member) for member in members]
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
    names = [offer.name for offer in member.protocols]
    chosen = group.protocol_name if group.protocol_name in names else names[0]
    subscription = classic.metadata_of(member, chosen)
    told = replace(
        consumer.NOTHING_TOLD,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic_member_metadata=classic_members.classic_metadata(
            member.session_timeout_ms,
            tuple((offer.name, offer.metadata) for offer in member.protocols),
        ),
    )
    return member_record(group.group_id, member.member_id, told)


def _by_id(partitions: classic.Partitions, at: Moment) -> dict[str, tuple[int, ...]]:
    """Return partitions by topic id; those of topics that are gone are left out."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        topic_id = at.broker.image.id_of(topic)
        if topic_id is not None:
            numbers.setdefault(topic_id, []).append(number)
    return {topic_id: tuple(each) for topic_id, each in numbers.items()}


def _stable(epoch: int, given: dict[str, tuple[int, ...]]) -> consumer.CurrentAssignment:
    grants = {topic_id: dict.fromkeys(numbers, epoch) for topic_id, numbers in given.items()}
    return consumer.CurrentAssignment(epoch, epoch, consumer.MemberState.STABLE, grants)
