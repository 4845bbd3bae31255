"""Convert a classic group to its record in the log and back.

Source: ``GroupCoordinatorRecordHelpers.newGroupMetadataRecord``, ``GroupMetadataManager.replay``.
"""

from __future__ import annotations

from immutables import Map

from assignors.java import hash_map_length
from assignors.types import Subscription
from protocols.groups.classic.group import (
    Group,
    Member,
    Partitions,
    in_order,
    metadata_of,
    session_timer,
)
from protocols.groups.classic.membership import support_of
from protocols.groups.classic.states import State
from protocols.java_maps import NOTHING, spread
from protocols.messages import CONSUMER_PROTOCOL_TYPE, Protocol
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MalformedRecordError,
    MemberMetadata,
    Record,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocols.offsets_topic.records.embedded import (
    ConsumerProtocolAssignment,
    assigned_partitions,
    read_assignment,
)
from protocols.offsets_topic.records.errors import BrokenLogError

UNKNOWN_TIMESTAMP = -1


def group_record(
    group: Group, assignments: Map[str, Partitions], user_data: Map[str, bytes] = NOTHING
) -> Record:
    """Return the record of a group with the given assignments.

    *user_data*: from the leader's assignor, for those of members.
    """
    return Record(
        GroupMetadataKey(group.group_id),
        GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=group.generation,
            protocol=group.protocol_name,
            leader=group.leader_id,
            current_state_timestamp=(
                UNKNOWN_TIMESTAMP if group.state_since_ms is None else group.state_since_ms
            ),
            members=tuple(
                _member_metadata(member, group.protocol_name, assignments, user_data)
                for member in in_order(group)
            ),
        ),
    )


def restored(group_id: str, value: GroupMetadataValue | None, now_ms: int) -> Group:
    """Return the group as a coordinator restores it from its record.

    None is a simple group. Each member has only the protocol in the record; there are no parked
    requests, new members or pending ids. Bytes that are not of the consumer protocol are ignored;
    a real coordinator would pass them on unread.
    """
    if value is None:
        return Group(group_id, state_since_ms=now_ms)
    members = [
        _member(group_id, place, value.protocol, stored)
        for place, stored in enumerate(value.members)
    ]
    assigned = [
        (stored.member_id, _assignment(stored.assignment))
        for stored in value.members
        if stored.assignment
    ]
    leader = value.leader or (members[0].member_id if members else None)
    since_ms = value.current_state_timestamp
    return Group(
        group_id,
        state=State.STABLE if members else State.EMPTY,
        state_since_ms=None if since_ms == UNKNOWN_TIMESTAMP else since_ms,
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=leader,
        members=Map((member.member_id, member) for member in members),
        static_members=Map(
            (member.instance_id, member.member_id)
            for member in members
            if member.instance_id is not None
        ),
        assignments=Map((member_id, assigned_partitions(read)) for member_id, read in assigned),
        user_data=Map(
            (member_id, read.user_data)
            for member_id, read in assigned
            if read.user_data is not None
        ),
        support=support_of(members),
        table_length=hash_map_length(len(members)),
        insertions=len(members),
        subscribed_topics=_topics_read(value),
    )


def _topics_read(value: GroupMetadataValue) -> frozenset[str] | None:
    """Return the topics that the members subscribe to, or None if they are unknown."""
    if value.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    topics = set[str]()
    try:
        for stored in value.members:
            topics.update(subscribed_topics(stored.subscription))
    except MalformedRecordError:
        return None
    return frozenset(topics)


def _subscription(data: bytes) -> Subscription:
    try:
        return decode_subscription(data)
    except MalformedRecordError:
        return Subscription(topics=())


def _assignment(data: bytes) -> ConsumerProtocolAssignment:
    try:
        return read_assignment(data)
    except MalformedRecordError:
        return ConsumerProtocolAssignment(assigned_partitions=(), user_data=None, value_version=0)


def _member_metadata(
    member: Member,
    protocol_name: str | None,
    assignments: Map[str, Partitions],
    user_data: Map[str, bytes],
) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=encode_subscription(metadata_of(member, protocol_name)),
        assignment=(
            encode_assignment(assignments[member.member_id], user_data.get(member.member_id))
            if member.member_id in assignments
            else b""
        ),
    )


def _member(group_id: str, place: int, protocol: str | None, stored: MemberMetadata) -> Member:
    if protocol is None:
        raise BrokenLogError(f"group {group_id} has members but no protocol")
    rebalance_ms = stored.rebalance_timeout
    return Member(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.session_timeout if rebalance_ms == -1 else rebalance_ms,
        session_timeout_ms=stored.session_timeout,
        protocols=(Protocol(protocol, _subscription(stored.subscription)),),
        timer=session_timer(group_id, stored.member_id),
        spread=spread(stored.member_id),
        arrived=place,
    )
