"""The *downgrade*: a consumer group with only classic members left becomes a classic group.

Either the last member of the consumer protocol leaves, and the group rebalances; or a classic
member takes over its instance id, and there is no rebalance if the target is up to date.

Source: ``validateOnlineDowngradeWithFencedMembers``, ``validateOnlineDowngradeWithReplacedMember``,
``convertToClassicGroup`` and ``ClassicGroup.fromConsumerGroup`` of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from immutables import Map

from assignors.java import hash_map_length
from assignors.types import TopicPartition
from protocols.facts import GroupConverted, GroupEpochRaised
from protocols.groups.classic import group as classic
from protocols.groups.classic import rebalance
from protocols.groups.classic.group import on_group
from protocols.groups.classic.group import session_timer as classic_session
from protocols.groups.classic.membership import support_of
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import State
from protocols.groups.kip848 import classic_members
from protocols.groups.kip848 import group as consumer
from protocols.groups.kip848.membership import holder
from protocols.groups.kip848.records import group_tombstones
from protocols.groups.kip848.replay import replayed
from protocols.groups.kip848.shard import group_in, soft_of
from protocols.groups.kip848.steps import HeartbeatContext, carried_over
from protocols.groups.responses import error_response
from protocols.groups.shard import AnyShard, Moment, Turn
from protocols.java_maps import spread
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import CONSUMER_PROTOCOL_TYPE, Header, JoinGroupRequest, Protocol
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import decode_subscription
from protocols.values import replace

_LAST_IS_GONE: Final = "the last member of the consumer protocol is gone"
_LAST_IS_REPLACED: Final = "a classic member took the place of the last of the consumer protocol"


def _may_downgrade(members: int, at: Moment) -> bool:
    """Return whether a group may become classic, given its number of members afterwards."""
    settings = at.settings
    allowed = settings.group_consumer_migration_policy in {"bidirectional", "downgrade"}
    return allowed and members <= settings.group_max_size


# -- the last member of the consumer protocol leaves -------------------------------------------


def downgrade_if_due(
    shard: AnyShard, group_id: str, turn: Turn[AnyShard], at: Moment
) -> Turn[AnyShard]:
    """Return *turn*, which may remove members, with the downgrade added if it is due.

    The downgrade may be late: a group with too many members stays a consumer group.
    """
    before = group_in(shard, group_id)
    if before is None or not before.classic_members or not turn.records:
        return turn
    after = replayed(before, turn.records)
    left = len(after.members)
    if not 0 < left < len(before.members) or left != after.classic_members:
        return turn
    return _convert_remaining(shard, before, after, turn, at) if _may_downgrade(left, at) else turn


def _convert_remaining(
    shard: AnyShard,
    before: consumer.Group,
    after: consumer.Group,
    turn: Turn[AnyShard],
    at: Moment,
) -> Turn[AnyShard]:
    """Convert the remaining members, with their targets, to a classic group, which rebalances.

    The epoch bump of the departure is not written, and no timer of the consumer group ends.
    """
    group = _as_classic_group(before.group_id, before.epoch, list(after), before.targets, at)
    gone = next(each.member_id for each in before if after.member(each.member_id) is None)
    records = group_tombstones(before)
    converted = _converted(shard, group, gone, "", at)
    begun = on_group(converted.state, rebalance.prepare_rebalance(group, at, _LAST_IS_GONE, gone))
    return Turn(
        begun.state,
        (
            *_of_downgrade(turn.effects),
            *converted.effects,
            *begun.effects,
        ),
        (*records, *converted.records, *begun.records),
        (*turn.waits, *begun.waits),
    )


def _of_downgrade(effects: tuple[Effect, ...]) -> list[Effect]:
    """Return the effects that a departure or replacement also has if it causes a downgrade."""
    return [
        effect
        for effect in effects
        if not isinstance(effect, CancelTimer)
        and not (isinstance(effect, Report) and isinstance(effect.fact, GroupEpochRaised))
    ]


# -- a classic member replaces the last one ----------------------------------------------------


def last_replaced(
    group: consumer.Group, request: JoinGroupRequest, at: Moment
) -> consumer.Member | None:
    """Return the only member that is not classic, if a JoinGroup takes over its instance id.

    None: the JoinGroup causes no downgrade.
    """
    if request.group_instance_id is None:
        return None
    member = holder(group, request.group_instance_id)
    if member is None or member.uses_classic:
        return None
    alone = group.classic_members == len(group.members) - 1
    return member if alone and _may_downgrade(len(group.members), at) else None


def convert_with_replaced_member(
    shard: AnyShard,
    group: consumer.Group,
    old: consumer.Member,
    header: Header,
    request: JoinGroupRequest,
    at: Moment,
) -> Turn[AnyShard]:
    """Add a static member and convert all members to a classic group.

    The member takes over the target of the old one. If the target was behind, the group
    rebalances: the response has no generation, and the member rejoins.
    """
    moved = classic_members.arrived(group, soft_of(shard, group.group_id), header, request, at)
    if isinstance(moved, HeartbeatContext):
        moved = carried_over(group, moved, classic_members.owned_by(request, at.broker.image), at)
    if isinstance(moved, ErrorCode):
        return Turn(shard, (Send(header, error_response(request, moved)),))
    after, joiner = moved.group, moved.member
    deleted = group_tombstones(group, old=old.member_id, new=joiner.member_id)
    others = [each for each in after if each is not joiner]
    classic_group = _as_classic_group(
        group.group_id, group.epoch, [*others, joiner], after.targets, at
    )
    checked = shard.with_soft(group.group_id, moved.soft)
    converted = _converted(checked, classic_group, joiner.member_id, header.client, at)
    turn = converted
    if after.epoch > after.target_epoch:
        begun = rebalance.prepare_rebalance(classic_group, at, _LAST_IS_REPLACED, joiner.member_id)
        turn = Turn(converted.state, converted.effects, converted.records).then(
            lambda shard: on_group(shard, begun)
        )
    effects = (*_of_downgrade(moved.effects), *turn.effects)
    records = (*moved.draft.records, *deleted, *turn.records)
    response = Send(header, classic_members.join_response(moved, request))
    return Turn(turn.state, effects, records, turn.waits).after_append(response)


# -- the classic group -------------------------------------------------------------------------


def _converted(
    shard: AnyShard, group: classic.Group, member_id: str, client: str, at: Moment
) -> Turn[AnyShard]:
    """Replace a consumer group by a classic group; the members start full sessions.

    The soft state stays: it is that of the group again if the append fails.
    """
    converted = GroupConverted(
        group=group.group_id,
        protocol="classic",
        generation=group.generation,
        member_id=member_id,
        client=client,
        assignment=classic.by_member(group),
    )
    sessions = (
        SetTimer(member.timer, at.after(member.session_timeout_ms))
        for member in classic.in_order(group)
    )
    groups = shard.durable.groups.without(group.group_id)
    emptied = replace(shard, durable=replace(shard.durable, groups=groups))
    after = emptied.with_group(group.group_id, group)
    return Turn(after, (Report(converted), *sessions), (group_record(group, group.assignments),))


def _as_classic_group(
    group_id: str,
    epoch: int,
    left: Sequence[consumer.Member],
    targets: Mapping[str, consumer.TargetPartitions],
    at: Moment,
) -> classic.Group:
    """Return a stable group whose generation is *epoch*, each member with its target."""
    members = {
        each.member_id: _as_classic_member(group_id, each, place) for place, each in enumerate(left)
    }
    name_of = at.broker.image.name_of
    assignments = {
        member_id: tuple(
            TopicPartition(name_of[topic], number)
            for topic, numbers in targets.get(member_id, {}).items()
            if topic in name_of
            for number in numbers
        )
        for member_id in members
    }
    group = classic.Group(
        group_id,
        state=State.STABLE,
        previous_state=State.COMPLETING_REBALANCE,
        state_since_ms=at.now_ms,
        generation=epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        leader_id=next(iter(members)),
        members=Map(members),
        static_members=Map(
            {each.instance_id: each.member_id for each in members.values() if each.instance_id}
        ),
        assignments=Map(assignments),
        support=support_of(members.values()),
        table_length=hash_map_length(len(members)),
        insertions=len(members),
    )
    named = replace(group, protocol_name=classic.select_protocol(group))
    return replace(named, subscribed_topics=classic.topics_of(named))


def _as_classic_member(group_id: str, member: consumer.Member, place: int) -> classic.Member:
    metadata = member.metadata
    kept = metadata.classic_member_metadata
    assert kept is not None, "only classic members are left"
    return classic.Member(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        session_timeout_ms=kept.session_timeout_ms,
        protocols=tuple(
            Protocol(offer.name, decode_subscription(offer.metadata))
            for offer in kept.supported_protocols
        ),
        timer=classic_session(group_id, member.member_id),
        spread=spread(member.member_id),
        arrived=place,
    )
