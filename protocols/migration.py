"""Groups that change from one protocol to the other: the one file that knows both.

A group without members becomes whatever its next member speaks, under any policy: its records
are deleted and the other type's begin, in one batch; its offsets stay.

With members it depends on ``group.consumer.migration.policy``. *Upgrade*: the first heartbeat of
the consumer protocol makes a consumer group of a classic one, whose members go on as they were,
served by ``kip848/classic_members.py``. *Downgrade*: when the last member of the consumer protocol
goes and classic ones are left, the group is classic again, and rebalances.

Source: ``convertToConsumerGroup``, ``convertToClassicGroup``, ``maybeDeleteEmptyClassicGroup``,
``maybeDeleteEmptyConsumerGroup`` of 4.4.0 (spec kip848 1.4 step 2, 5).
"""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from assignors.java import hash_map_length
from assignors.types import TopicPartition
from protocols.classic import admin, heartbeat, join, leave, rebalance, sync
from protocols.classic import group as classic
from protocols.classic.lifecycle import timers_of as classic_timers
from protocols.classic.metadata import group_record
from protocols.classic.parked import answered_joins, answered_syncs
from protocols.classic.roster import support_of
from protocols.classic.shard import on_group
from protocols.classic.states import State
from protocols.classic.timers import session_timer as classic_session
from protocols.coordinator.kinds import AnyShard
from protocols.coordinator.turn import Moment, Turn
from protocols.errors import ErrorCode
from protocols.java_maps import spread
from protocols.kip848 import classic_members
from protocols.kip848 import group as consumer
from protocols.kip848 import leave as consumer_leave
from protocols.kip848.kind import CONSUMER, without_soft
from protocols.kip848.lifecycle import timers_of as consumer_timers
from protocols.kip848.on_shard import at_group, consumer_heartbeat, group_in
from protocols.kip848.on_shard import woken as consumer_woken
from protocols.kip848.replay import replayed
from protocols.kip848.timers import session_timer as consumer_session
from protocols.kip848.writing import (
    Draft,
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    target_epoch_record,
    target_record,
)
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    Header,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.records import Record, decode_subscription
from protocols.step import Effect, SetTimer

# -- requests, to groups of either type --------------------------------------------------------


def heartbeat_at_any_group(
    shard: AnyShard, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    """Answer a heartbeat of the consumer protocol."""
    group = shard.groups.get(request.group_id)
    if group is None or request.member_epoch != JOIN_EPOCH:
        return _followed(
            shard, request.group_id, consumer_heartbeat(shard, header, request, at), at
        )
    if group.state is State.EMPTY:
        ready = admin.deleted(shard, request.group_id)
        ready = replace(ready, state=_unlogged(ready.state, request.group_id))
    elif _may_upgrade(group, at):
        ready = _upgraded(shard, group, at)
    else:
        return consumer_heartbeat(shard, header, request, at)
    return _either(shard, ready, consumer_heartbeat(ready.state, header, request, at))


def join_at_any_group(
    shard: AnyShard, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Answer a JoinGroup."""
    if (group := group_in(shard, request.group_id)) is None:
        return join.join_group(shard, header, request, at)
    if group.members:
        return at_group(shard, group, classic_members.join, header, request, at)
    ready = CONSUMER.deleted(shard, request.group_id)
    ready = replace(ready, state=_unlogged(ready.state, request.group_id))
    return _either(shard, ready, join.join_group(ready.state, header, request, at))


def sync_at_any_group(
    shard: AnyShard, header: Header, request: SyncGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Answer a SyncGroup."""
    if (group := group_in(shard, request.group_id)) is None:
        return sync.sync_group(shard, header, request, at)
    return at_group(shard, group, classic_members.sync, header, request, at)


def beat_at_any_group(
    shard: AnyShard, header: Header, request: HeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    """Answer a heartbeat of the classic protocol."""
    if (group := group_in(shard, request.group_id)) is None:
        return heartbeat.heartbeat(shard, header, request, at)
    return at_group(shard, group, classic_members.heartbeat, header, request, at)


def leave_any_group(
    shard: AnyShard, header: Header, request: LeaveGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Answer a LeaveGroup."""
    if (group := group_in(shard, request.group_id)) is None:
        return leave.leave_group(shard, header, request, at)
    turn = at_group(shard, group, consumer_leave.remove_members, header, request, at)
    return _followed(shard, request.group_id, turn, at)


def woken(shard: AnyShard, timer: str, at: Moment) -> Turn[AnyShard]:
    """Act on a timer of a consumer group."""
    turn = consumer_woken(shard, timer, at)
    return _followed(shard, str(turn.records[0].key[0]), turn, at) if turn.records else turn


def _either(shard: AnyShard, ready: Turn[AnyShard], turn: Turn[AnyShard]) -> Turn[AnyShard]:
    """Return both turns as one; if the second changes nothing, nor does the first."""
    if not turn.records:
        return Turn(shard, turn.effects, (), turn.waits)
    effects, records = ready.effects + turn.effects, ready.records + turn.records
    return Turn(turn.state, effects, records, turn.waits)


def _unlogged(shard: AnyShard, group_id: str) -> AnyShard:
    """Return the shard as it is once the records that delete a group are replayed."""
    groups = shard.durable.groups.without(group_id)
    return replace(shard, durable=replace(shard.durable, groups=groups))


# -- upgrade -----------------------------------------------------------------------------------


def _may_upgrade(group: classic.Group, at: Moment) -> bool:
    settings = at.settings
    return (
        settings.group_consumer_migration_policy in {"bidirectional", "upgrade"}
        and group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and len(group.members) <= settings.group_consumer_max_size
    )


def _upgraded(shard: AnyShard, group: classic.Group, at: Moment) -> Turn[AnyShard]:
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
    effects = (*answered.effects, *classic_timers(group), *sessions)
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


_LAST_IS_GONE = "the last member of the consumer protocol is gone"

# -- downgrade ---------------------------------------------------------------------------------


def _followed(shard: AnyShard, group_id: str, turn: Turn[AnyShard], at: Moment) -> Turn[AnyShard]:
    """Return a turn in which members may have gone; what is left may be a classic group."""
    before = group_in(shard, group_id)
    if before is None or not before.classic_members or not turn.records:
        return turn
    after = replayed(before, turn.records)
    left, everyone = len(after.members), len(before.members)
    if before.classic_members == everyone or left != after.classic_members or not left:
        return turn
    settings = at.settings
    allowed = settings.group_consumer_migration_policy in {"bidirectional", "downgrade"}
    if not allowed or left > settings.group_max_size:
        return turn
    return _downgraded(shard, before, after, turn, at)


def _downgraded(
    shard: AnyShard,
    before: consumer.Group,
    after: consumer.Group,
    turn: Turn[AnyShard],
    at: Moment,
) -> Turn[AnyShard]:
    """Make a classic group of the members that are left, with their targets; it rebalances."""
    group = _as_classic_group(before, after, at)
    gone = next(each.member_id for each in before if after.member(each.member_id) is None)
    records = (*group_tombstones(before), group_record(group, group.assignments))
    sessions = tuple(
        SetTimer(member.timer, at.after(member.session_timeout_ms))
        for member in classic.in_order(group)
    )
    begun = rebalance.begin(group, at, _LAST_IS_GONE, gone)
    effects: tuple[Effect, ...] = (*turn.effects, *consumer_timers(after), *sessions)
    groups = shard.durable.groups.without(before.group_id)
    emptied = replace(
        without_soft(shard, before.group_id), durable=replace(shard.durable, groups=groups)
    )
    rebalancing = on_group(emptied, begun)
    return Turn(
        rebalancing.state,
        effects + rebalancing.effects,
        records + rebalancing.records,
        (*turn.waits, *rebalancing.waits),
    )


def _as_classic_group(before: consumer.Group, after: consumer.Group, at: Moment) -> classic.Group:
    members = {
        each.member_id: _as_classic_member(after.group_id, each, place)
        for place, each in enumerate(after)
    }
    name_of = at.broker.image.name_of
    assignments = {
        member_id: tuple(
            TopicPartition(name_of[topic], number)
            for topic, numbers in before.targets.get(member_id, {}).items()
            if topic in name_of
            for number in numbers
        )
        for member_id in members
    }
    group = classic.Group(
        after.group_id,
        state=State.STABLE,
        previous_state=State.COMPLETING_REBALANCE,
        state_since_ms=at.now_ms,
        generation=before.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        leader_id=next(iter(members)),
        members=Map(members),
        static_members=Map(
            {each.instance_id: each.member_id for each in members.values() if each.instance_id}
        ),
        assignments=Map({name: given for name, given in assignments.items() if given}),
        support=support_of(members.values()),
        table_length=hash_map_length(len(members)),
        insertions=len(members),
    )
    named = replace(group, protocol_name=classic.select_protocol(group))
    return replace(named, subscribed_topics=classic.topics_of(named))


def _as_classic_member(group_id: str, member: consumer.Member, place: int) -> classic.Member:
    told = member.metadata
    kept = told.classic_member_metadata
    assert kept is not None, "only classic members are left"
    return classic.Member(
        member_id=member.member_id,
        instance_id=told.instance_id,
        client_id=told.client_id,
        client_host=told.client_host,
        rebalance_timeout_ms=told.rebalance_timeout_ms,
        session_timeout_ms=kept.session_timeout_ms,
        protocols=tuple(
            Protocol(offer.name, decode_subscription(offer.metadata))
            for offer in kept.supported_protocols
        ),
        timer=classic_session(group_id, member.member_id),
        spread=spread(member.member_id),
        arrived=place,
    )
