"""Members of a consumer group that still use the classic protocol (KIP-848, online migration).

Their generation is their member epoch. There is no barrier: each JoinGroup is answered at once,
after the same steps as a heartbeat. The subscription contains the owned partitions, so that a
rejoin acknowledges revocations. A heartbeat response requests the rejoin.

Source: ``classicGroupJoinToConsumerGroup``, ``classicGroupSyncToConsumerGroup``,
``classicGroupHeartbeatToConsumerGroup`` of 4.4.0.
"""

from __future__ import annotations

from assignors.types import Subscription
from protocols.facts import MemberAdded
from protocols.groups.kip848.group import (
    NO_METADATA,
    AssignedEpochs,
    Group,
    Member,
    MemberState,
    named,
)
from protocols.groups.kip848.membership import Arrival, holder, with_member
from protocols.groups.kip848.soft import Soft, rejoin_timer, resync_timer, with_rejoin
from protocols.groups.kip848.steps import HeartbeatContext, advanced
from protocols.groups.kip848.target import TargetAssignmentError
from protocols.groups.responses import error_response, join_error_response
from protocols.groups.shard import LateTimers, Moment, Turn
from protocols.groups.topics import TopicsImage
from protocols.machine import Report, Send, SetTimer
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import encode_subscription
from protocols.offsets_topic.records.consumer import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from protocols.values import replace

_FIRST_TO_BRING_ITS_ID = 4
"""The first JoinGroup version whose new members request a member id first (KIP-394)."""

_NO_PREFIX = ""
"""Member ids generated in a consumer group have neither a client id nor an instance id."""


# -- joining -----------------------------------------------------------------------------------


def join(
    group: Group, soft: Soft, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Soft]:
    """Respond to a JoinGroup as soon as its records are durable."""
    context = arrived(group, soft, header, request, at)
    if isinstance(context, HeartbeatContext):
        try:
            context = advanced(group, context, owned_by(request, at.broker.image), at)
        except TargetAssignmentError as error:
            response = error_response(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return Turn(soft, (Report(error.fact), Send(header, response)))
    if context is ErrorCode.MEMBER_ID_REQUIRED:
        response = join_error_response(context, at.broker.new_id(_NO_PREFIX), request.version)
        return Turn(soft, (Send(header, response),))
    if isinstance(context, ErrorCode):
        return Turn(soft, (Send(header, error_response(request, context)),))
    return _joined(context, header, request)


def arrived(
    group: Group, soft: Soft, header: Header, request: JoinGroupRequest, at: Moment
) -> HeartbeatContext | ErrorCode:
    """Add or update a member, or return the error; a new member must request an id first."""
    arrival = _refused(group, request, at) or _arrival(group, request)
    if isinstance(arrival, ErrorCode):
        return arrival
    member_id = request.member_id or at.broker.new_id(_NO_PREFIX)
    metadata = _updated_metadata(arrival, header, request)
    context = HeartbeatContext(
        with_member(group, arrival, member_id, metadata), soft, member_id, arrival.member
    )
    if arrival.member is None or arrival.replaces:
        context = context.with_effects(Report(_added(group, arrival, member_id, header, request)))
    return context


def _refused(group: Group, request: JoinGroupRequest, at: Moment) -> ErrorCode | None:
    """Check the migration policy, the group size and the protocols, in this order.

    A member that rejoins needs a protocol that all classic members, including itself, had before.
    """
    if at.settings.group_consumer_migration_policy == "disabled":
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    known = (
        group.member(request.member_id) is not None
        or request.group_instance_id in group.static_members
    )
    if len(group.members) >= at.settings.group_consumer_max_size and not known:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    offered = {offer.name for offer in request.protocols}
    for member in group:
        classic = member.metadata.classic_member_metadata
        if classic is not None:
            offered &= {protocol.name for protocol in classic.supported_protocols}
    fits = request.protocol_type == CONSUMER_PROTOCOL_TYPE and bool(offered)
    return None if fits else ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def _arrival(group: Group, request: JoinGroupRequest) -> Arrival | ErrorCode:
    """Identify the member; a static one without a member id replaces the holder of its instance."""
    if request.group_instance_id is None:
        if not request.member_id and request.version >= _FIRST_TO_BRING_ITS_ID:
            return ErrorCode.MEMBER_ID_REQUIRED
        return Arrival(group.member(request.member_id))
    member = holder(group, request.group_instance_id)
    if not request.member_id:
        return Arrival(member, replaces=member is not None)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.member_id != request.member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    return Arrival(member)


def _updated_metadata(
    arrived: Arrival, header: Header, request: JoinGroupRequest
) -> ConsumerGroupMemberMetadataValue:
    """Return a member's metadata; its first protocol has the subscription, never a pattern."""
    before = NO_METADATA if arrived.member is None else arrived.member.metadata
    subscription, timeout_ms = request.protocols[0].metadata, request.rebalance_timeout_ms
    return replace(
        before,
        instance_id=request.group_instance_id or before.instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        client_id=header.client_id,
        client_host=header.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        subscribed_topic_regex="",
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        classic_member_metadata=classic_metadata(
            request.session_timeout_ms,
            tuple((offer.name, offer.metadata) for offer in request.protocols),
        ),
    )


def classic_metadata(
    session_timeout_ms: int, protocols: tuple[tuple[str, Subscription], ...]
) -> ClassicMemberMetadata:
    """Return the part of record 5 that only classic members have."""
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=tuple(
            ClassicProtocol(name=name, metadata=encode_subscription(subscription))
            for name, subscription in protocols
        ),
    )


def owned_by(request: JoinGroupRequest, image: TopicsImage) -> tuple[TopicPartitions, ...]:
    """Return the partitions the member reports as owned; an eager member reports none."""
    owned: dict[str, list[int]] = {}
    for topic, number in request.protocols[0].metadata.owned_partitions:
        topic_id = image.id_of(topic)
        if topic_id is not None:
            owned.setdefault(topic_id, []).append(number)
    return tuple(TopicPartitions(topic_id, tuple(each)) for topic_id, each in owned.items())


def _added(
    group: Group, arrived: Arrival, member_id: str, header: Header, request: JoinGroupRequest
) -> MemberAdded:
    return MemberAdded(
        group=group.group_id,
        member_id=member_id,
        instance_id=request.group_instance_id,
        client=header.client,
        protocol="classic",
        replaced=arrived.member.member_id if arrived.member else "",
    )


def join_response(context: HeartbeatContext, request: JoinGroupRequest) -> JoinGroupResponse:
    """Return the response to a joined member: its first protocol, no leader and no member list."""
    return JoinGroupResponse(
        generation_id=context.member.current.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=request.protocols[0].name,
        member_id=context.member_id,
    )


def _joined(context: HeartbeatContext, header: Header, request: JoinGroupRequest) -> Turn[Soft]:
    member, group_id = context.member, context.group.group_id
    timers = LateTimers(
        group_id,
        member.member_id,
        ends=(rejoin_timer(group_id, member.member_id),),
        starts=(
            (member.session_timer, request.session_timeout_ms),
            (resync_timer(group_id, member.member_id), request.rebalance_timeout_ms),
        ),
    )
    response = Send(header, join_response(context, request))
    return Turn(context.soft, context.effects, context.draft.records, (timers, response))


# -- SyncGroup and heartbeats ------------------------------------------------------------------


def sync(
    group: Group, soft: Soft, header: Header, request: SyncGroupRequest, at: Moment
) -> Turn[Soft]:
    """Respond to a SyncGroup with the member's assignment; the assignments it carries are ignored.

    With the response, the member's session is renewed.
    """
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    if isinstance(member, ErrorCode):
        return Turn(soft, (Send(header, SyncGroupResponse(error=member)),))
    first = _first_protocol(member)
    if request.protocol_type not in {None, CONSUMER_PROTOCOL_TYPE} or (
        request.protocol_name not in {None, first}
    ):
        response = SyncGroupResponse(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return Turn(soft, (Send(header, response),))
    current = member.current
    unrevoked = current.state is MemberState.UNREVOKED_PARTITIONS
    if current.epoch < group.target_epoch and not unrevoked:
        response = SyncGroupResponse(error=ErrorCode.REBALANCE_IN_PROGRESS)
        return _start_rejoin_timer(group, soft, member, at).also(Send(header, response))
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=named(_existing(current.assigned, at), at.broker.image),
    )
    timers = LateTimers(
        group.group_id,
        member.member_id,
        ends=(resync_timer(group.group_id, member.member_id),),
        starts=((member.session_timer, _classic(member).session_timeout_ms),),
    )
    return Turn(soft, waits=(timers, Send(header, response)))


def _existing(assigned: AssignedEpochs, at: Moment) -> AssignedEpochs:
    """Return an assignment without deleted topics, which have no name for a classic member."""
    names = at.broker.image.name_of
    return {topic: numbers for topic, numbers in assigned.items() if topic in names}


def heartbeat(
    group: Group, soft: Soft, header: Header, request: HeartbeatRequest, at: Moment
) -> Turn[Soft]:
    """Renew a classic member's session; respond with REBALANCE_IN_PROGRESS if it must rejoin."""
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    if isinstance(member, ErrorCode):
        return Turn(soft, (Send(header, HeartbeatResponse(error=member)),))
    turn: Turn[Soft] = Turn(soft)
    error = ErrorCode.NONE
    if has_to_rejoin(group, member):
        turn, error = _start_rejoin_timer(group, soft, member, at), ErrorCode.REBALANCE_IN_PROGRESS
    response = Send(header, HeartbeatResponse(error=error))
    return turn.also(_session(member, at)).after_append(response)


def has_to_rejoin(group: Group, member: Member) -> bool:
    """Return whether a member is behind, must revoke, or can get the partitions it waits for."""
    current = member.current
    if current.epoch < group.target_epoch:
        return True
    if current.state is MemberState.UNRELEASED_PARTITIONS:
        return not _waits_for_others(group, member)
    return current.state is MemberState.UNREVOKED_PARTITIONS


def _waits_for_others(group: Group, member: Member) -> bool:
    return any(
        number in group.held.get(topic, {}) and number not in member.current.assigned.get(topic, {})
        for topic, numbers in group.targets.get(member.member_id, {}).items()
        for number in numbers
    )


def _start_rejoin_timer(group: Group, soft: Soft, member: Member, at: Moment) -> Turn[Soft]:
    """Start the rejoin timer (the rebalance timeout) with the first request to rejoin."""
    if member.member_id in soft.rejoining:
        return Turn(soft)
    timer = rejoin_timer(group.group_id, member.member_id)
    deadline_us = at.after(member.metadata.rebalance_timeout_ms)
    return Turn(with_rejoin(soft, member.member_id), (SetTimer(timer, deadline_us),))


def _known(
    group: Group, member_id: str, instance_id: str | None, generation: int
) -> Member | ErrorCode:
    """Return the classic member that sent a request, or the error."""
    member = group.member(member_id)
    if instance_id is not None:
        member = holder(group, instance_id)
        if member is not None and member.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member is None or not member.uses_classic:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if generation == member.current.epoch else ErrorCode.ILLEGAL_GENERATION


def _session(member: Member, at: Moment) -> SetTimer:
    return SetTimer(member.session_timer, at.after(_classic(member).session_timeout_ms))


def _first_protocol(member: Member) -> str:
    return _classic(member).supported_protocols[0].name


def _classic(member: Member) -> ClassicMemberMetadata:
    classic = member.metadata.classic_member_metadata
    assert classic is not None, "only classic members have a session here"
    return classic
