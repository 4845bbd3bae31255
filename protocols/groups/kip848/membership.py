"""Identify the sender of a heartbeat, and update its member.

A dynamic member is identified by its member id, a static one by its instance id. While the member
that holds an instance id is active, no other member may join with it; after a temporary leave
(epoch -2) the next one to join with it replaces that member and takes over its assignment.

Source: ``GroupMetadataManager.getOrMaybeSubscribeDynamicConsumerGroupMember``,
``getOrMaybeSubscribeStaticConsumerGroupMember``, ``throwIfConsumerGroupMemberEpochIsInvalid``.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.groups.kip848.group import AWAY_EPOCH, NO_METADATA, Group, Member, by_topic
from protocols.groups.kip848.records import (
    Draft,
    current_record,
    member_record,
    member_tombstones,
    target_record,
)
from protocols.messages import JOIN_EPOCH, ConsumerGroupHeartbeatRequest, Header, TopicPartitions
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records.consumer import ConsumerGroupMemberMetadataValue
from protocols.values import replace


class Arrival(NamedTuple):
    """The member that sent a heartbeat."""

    member: Member | None
    """The sender or the member that it replaces; None: a new member.

    A member may also send an instance id that it did not have before.
    """

    replaces: bool = False


def arrival(group: Group, request: ConsumerGroupHeartbeatRequest) -> Arrival | ErrorCode:
    """Identify the sender of a heartbeat that does not leave, or return the error."""
    if request.instance_id is not None:
        return _static_arrival(group, request, request.instance_id)
    member = group.member(request.member_id)
    if member is None:
        is_new = request.member_epoch == JOIN_EPOCH
        return Arrival(None) if is_new else ErrorCode.UNKNOWN_MEMBER_ID
    return _checked(member, request)


def _static_arrival(
    group: Group, request: ConsumerGroupHeartbeatRequest, instance_id: str
) -> Arrival | ErrorCode:
    member = holder(group, instance_id)
    if request.member_epoch == JOIN_EPOCH:
        if member is None:
            return Arrival(group.member(request.member_id))
        if member.current.epoch != AWAY_EPOCH and not member.uses_classic:
            return ErrorCode.UNRELEASED_INSTANCE_ID
        return Arrival(member, replaces=True)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.member_id != request.member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    return _checked(member, request)


def holder(group: Group, instance_id: str) -> Member | None:
    """Return the member with an instance id, or None."""
    member_id = group.static_members.get(instance_id)
    return None if member_id is None else group.member(member_id)


def has_room(group: Group, request: ConsumerGroupHeartbeatRequest, size_max: int) -> bool:
    """Return whether ``group.consumer.max.size`` admits a sender; a known member always fits."""
    if len(group.members) < size_max or group.member(request.member_id) is not None:
        return True
    return request.instance_id is not None and request.instance_id in group.static_members


# -- epochs ------------------------------------------------------------------------------------


def _checked(member: Member, request: ConsumerGroupHeartbeatRequest) -> Arrival | ErrorCode:
    valid = is_valid_epoch(member, request.member_epoch, request.topic_partitions)
    return Arrival(member) if valid else ErrorCode.FENCED_MEMBER_EPOCH


def is_valid_epoch(
    member: Member, received: int, owned: tuple[TopicPartitions, ...] | None
) -> bool:
    """Return whether the epoch in a member's request is valid.

    The member may have missed one response: its previous epoch is valid if it owns no partitions
    outside its assignment. Epoch 0, with which it rejoins, is always valid.
    """
    current = member.current
    if received in {current.epoch, JOIN_EPOCH}:
        return True
    if received != current.previous_epoch or received > current.epoch or owned is None:
        return False
    return all(
        topic in current.assigned and numbers <= current.assigned[topic].keys()
        for topic, numbers in by_topic(owned).items()
    )


# -- metadata ----------------------------------------------------------------------------------


def updated_metadata(
    before: ConsumerGroupMemberMetadataValue,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupMemberMetadataValue:
    """Return a member's metadata after a request; omitted fields keep their values."""
    names = request.subscribed_topic_names
    pattern = request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        before,
        instance_id=_new_or(request.instance_id, before.instance_id),
        rack_id=_new_or(request.rack_id, before.rack_id),
        client_id=header.client_id,
        client_host=header.client_host,
        subscribed_topic_names=(
            before.subscribed_topic_names if names is None else tuple(sorted(set(names)))
        ),
        subscribed_topic_regex=_new_or(pattern, before.subscribed_topic_regex),
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=_new_or(request.server_assignor, before.server_assignor),
        classic_member_metadata=None,
    )


def _new_or(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def entered(
    group: Group,
    arrived: Arrival,
    member_id: str,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
) -> Draft:
    """Return the group with the sender of a heartbeat added or updated."""
    before = NO_METADATA if arrived.member is None else arrived.member.metadata
    return with_member(group, arrived, member_id, updated_metadata(before, header, request))


def with_member(
    group: Group, arrived: Arrival, member_id: str, metadata: ConsumerGroupMemberMetadataValue
) -> Draft:
    """Return the group with a member added or updated with *metadata*."""
    draft, member = Draft(group), arrived.member
    if arrived.replaces:
        assert member is not None
        draft = _replaced(draft, member, member_id)
    if member is not None and metadata == member.metadata:
        return draft
    return draft.with_record(member_record(group.group_id, member_id, metadata))


def _replaced(draft: Draft, old: Member, new_id: str) -> Draft:
    """Replace a member id by a new one, which starts at epoch 0 with the old assignment."""
    group_id = draft.group.group_id
    wanted = draft.group.targets.get(old.member_id)
    copied = replace(old.current, epoch=0, previous_epoch=0)
    return draft.with_records(
        (
            *member_tombstones(group_id, old.member_id),
            member_record(group_id, new_id, old.metadata),
            target_record(group_id, new_id, {} if wanted is None else wanted),
            current_record(group_id, new_id, copied),
        )
    )
