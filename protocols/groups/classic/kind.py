"""The operations that the coordinator needs of the classic group type.

They validate commits and deletions, delete and describe a group, decide when offsets expire, load
and unload a group, and act when a turn's records are durable or have failed. The group may change
while its records are replicated, so each of the last cases depends on the group's current state.

Source: ``ClassicGroup.validateOffsetCommit``, ``validateDeleteGroup``,
``offsetExpirationCondition``; ``GroupMetadataManager.describeGroups``, ``onLoaded``, ``onUnloaded``
and its append futures; the rollback of ``CoordinatorRuntime``.
"""

from __future__ import annotations

from typing import Final

from assignors.types import TopicPartition
from protocols.facts import GroupLoaded
from protocols.groups.classic import static_members, sync
from protocols.groups.classic.group import (
    AssignmentStored,
    Group,
    InstanceStored,
    JoinWaits,
    Shard,
    SyncWaits,
    Waiting,
    in_order,
    is_subscribed,
    join_timer,
    metadata_of,
    on_group,
    session_timer,
    state_of,
    sync_timer,
    transition,
)
from protocols.groups.classic.membership import sender_in_generation
from protocols.groups.classic.rebalance import (
    mark_answered,
    prepare_rebalance,
    respond_to_joins,
    respond_to_syncs,
)
from protocols.groups.classic.records import restored
from protocols.groups.classic.states import (
    DELETE_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    Act,
    Sender,
    State,
)
from protocols.groups.responses import client_error
from protocols.groups.shard import Durable, GroupKind, Moment, Turn
from protocols.java_maps import NOTHING
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, OffsetCommitValue, Record
from protocols.values import replace


def validate_commit(
    shard: Shard, request: OffsetCommitRequest, at: Moment
) -> ErrorCode | tuple[Effect, ...]:
    """Return the error of a rejected commit, or the effects of one beside storing offsets."""
    group = shard.groups.get(request.group_id)
    verdict = OFFSET_COMMIT[_sender_of(group, request)][state_of(group)]
    if isinstance(verdict, Act):
        return _renewed_session(group, request, at) if verdict is Act.STORE_AND_KEEP else ()
    assert verdict is not None
    return _in_version(verdict, request)


def _sender_of(group: Group | None, request: OffsetCommitRequest) -> Sender:
    """Identify the sender of an OffsetCommit; an empty group only checks for no generation."""
    no_generation = request.generation_id < 0
    if group is None or group.state is State.EMPTY:
        return Sender.NONE if no_generation else Sender.UNKNOWN
    if no_generation and not request.member_id and request.group_instance_id is None:
        return Sender.NONE
    return sender_in_generation(
        group, request.member_id, request.group_instance_id, request.generation_id
    )


def _in_version(error: ErrorCode, request: OffsetCommitRequest) -> ErrorCode:
    """Return the error as the request version knows it: GROUP_ID_NOT_FOUND exists since v9."""
    old = error is ErrorCode.GROUP_ID_NOT_FOUND and request.version <= 8
    return ErrorCode.ILLEGAL_GENERATION if old else error


def _renewed_session(
    group: Group | None, request: OffsetCommitRequest, at: Moment
) -> tuple[Effect, ...]:
    """Renew the session of a committing member, even if each of its partitions is rejected."""
    assert group is not None
    member = group.members[request.member_id]
    return (SetTimer(member.timer, at.now_us + member.session_timeout_ms * 1000),)


def create_for_commit(shard: Shard, group_id: str, at: Moment) -> Shard:
    """Create the group of a first commit."""
    return shard.with_group(group_id, Group(group_id, state_since_ms=at.now_ms))


def _anyone_may_fetch(_: Durable, __: OffsetFetchRequest) -> ErrorCode | None:
    """Accept every OffsetFetch: membership is not checked."""
    return None


# -- deleting ---------------------------------------------------------------------------------


def validate_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Return the error if a group cannot be deleted, else None."""
    verdict = DELETE_GROUPS[Sender.ANYONE][state_of(shard.groups.get(group_id))]
    return verdict if isinstance(verdict, ErrorCode) else None


def delete(shard: Shard, group_id: str) -> Turn[Shard]:
    """Delete a group without members; its offsets are already deleted."""
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(shard.without_group(group_id), (), (group_gone,))


def validate_offset_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Return the error if offsets of a group cannot be deleted, else None."""
    group = shard.groups.get(group_id)
    verdict = OFFSET_DELETE[_sender_of_offset_delete(group)][state_of(group)]
    return verdict if isinstance(verdict, ErrorCode) else None


def is_subscribed_in(shard: Shard, group_id: str, topic: str) -> bool:
    """Return whether a subscription to a topic protects its offsets."""
    return is_subscribed(shard.groups[group_id], topic)


def _sender_of_offset_delete(group: Group | None) -> Sender:
    foreign = group is not None and group.protocol_type != CONSUMER_PROTOCOL_TYPE
    return Sender.OTHER_GROUP if foreign else Sender.ANYONE


def expires_from_ms(
    shard: Shard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """Return the time from which the retention of an offset counts, or None while it is in use.

    For an empty group, that is the time at which it became empty.
    """
    group = shard.groups[group_id]
    if group.protocol_type is None:
        return value.commit_timestamp
    if group.state is State.EMPTY:
        return value.commit_timestamp if group.state_since_ms is None else group.state_since_ms
    quiet = group.state is State.STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE
    if not quiet or group.subscribed_topics is None or is_subscribed(group, partition.topic):
        return None
    return value.commit_timestamp


def may_be_removed(shard: Shard, group_id: str) -> bool:
    """Return whether a group may be removed once it has no offsets."""
    return shard.groups[group_id].state is State.EMPTY


# -- describing -------------------------------------------------------------------------------


def describe_group(group: Group | None, request: DescribeGroupRequest) -> DescribeGroupResponse:
    """Describe a group; protocol name and metadata are shown only while the group is stable."""
    if group is None:
        missing = request.version >= _FIRST_TO_MISS_A_GROUP
        return DescribeGroupResponse(
            group_id=request.group_id,
            state=State.DEAD.label,
            error=ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.NONE,
        )
    stable = group.state is State.STABLE
    return DescribeGroupResponse(
        group_id=group.group_id,
        state=group.state.label,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                metadata_of(member, group.protocol_name) if stable else None,
                group.assignments.get(member.member_id, ()),
            )
            for member in in_order(group)
        ),
    )


_FIRST_TO_MISS_A_GROUP = 6
"""The first DescribeGroups version that answers GROUP_ID_NOT_FOUND for an absent group."""


def on_loaded(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    """Restore a group after the log has been loaded.

    Every member starts a full session. A group over ``group.max.size`` rebalances.
    """
    group = restored(group_id, shard.durable.groups.get(group_id), at.now_ms)
    shard = shard.with_group(group_id, group)
    members = in_order(group)
    loaded = GroupLoaded(
        group=group_id,
        generation=group.generation,
        members=tuple(member.member_id for member in members),
    )
    effects: list[Effect] = [Report(loaded)]
    effects += (SetTimer(member.timer, at.after(member.session_timeout_ms)) for member in members)
    size_max = at.settings.group_max_size
    if len(members) <= size_max:
        return Turn(shard, tuple(effects))
    reason = (
        f"Freshly-loaded group {group_id} (size {len(members)}) is over capacity {size_max}. "
        "Rebalancing in order to give a chance for consumers to commit offsets"
    )
    turn = Turn(group, tuple(effects)).then(
        lambda group: prepare_rebalance(group, at, reason, members[0].member_id)
    )
    return on_group(shard, turn)


def on_unloaded(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    """Unload a group: its state becomes DEAD, and parked requests get NOT_COORDINATOR."""
    group = shard.groups[group_id]
    gone = ErrorCode.NOT_COORDINATOR
    turn = respond_to_joins(
        group, lambda member: JoinGroupResponse(error=gone, member_id=member.member_id)
    ).then(lambda group: respond_to_syncs(group, at, lambda _: SyncGroupResponse(error=gone)))
    dead = transition(turn.state, State.DEAD, at.now_ms)
    return on_group(shard, Turn(dead, turn.effects).also(*timers_of(group)))


def restore(shard: Shard, group: Group) -> Shard:
    """Restore a group whose removal could not be appended.

    Its parked requests were answered, so their members no longer count as joined. Its timers are as
    they were.
    """
    back = replace(group, joining=NOTHING, syncing=NOTHING)
    return shard.with_group(group.group_id, back)


def discard(shard: Shard, group_id: str, error: ErrorCode, at: Moment) -> Turn[Shard]:
    """Discard a group whose first record could not be appended, and respond to its parked requests."""
    group = shard.groups[group_id]
    seen = client_error(error)
    turn = respond_to_joins(group, lambda _: JoinGroupResponse(error=seen)).then(
        lambda group: respond_to_syncs(group, at, lambda _: SyncGroupResponse(error=seen))
    )
    responses = (effect for effect in turn.effects if isinstance(effect, Send))
    return Turn(shard.without_group(group_id), (*responses, *timers_of(group)))


def timers_of(group: Group) -> tuple[CancelTimer, ...]:
    """Return the effects that cancel every timer of a group."""
    pending = (
        session_timer(group.group_id, member_id) for member_id in sorted(group.pending_joins)
    )
    return (
        *(CancelTimer(member.timer) for member in in_order(group)),
        *(CancelTimer(name) for name in pending),
        CancelTimer(join_timer(group.group_id)),
        CancelTimer(sync_timer(group.group_id)),
    )


def on_durable(shard: Shard, waiting: Waiting, at: Moment) -> Turn[Shard]:
    """Continue the step that waited for records that are now durable."""
    group = shard.groups.get(waiting.group_id)
    if group is None:
        return Turn(shard)
    match waiting:
        case AssignmentStored():
            return on_group(shard, sync.on_assignment_stored(group, waiting, at))
        case InstanceStored():
            return on_group(shard, static_members.on_instance_stored(group, waiting))
        case _:
            return Turn(shard)


def on_append_failed(shard: Shard, waiting: Waiting, error: ErrorCode, at: Moment) -> Turn[Shard]:
    """Respond to the requests that waited for an append that failed with *error* or timed out."""
    group = shard.groups.get(waiting.group_id)
    if group is None:
        return Turn(shard)
    match waiting:
        case AssignmentStored():
            return on_group(shard, sync.on_assignment_failed(group, waiting, error, at))
        case InstanceStored():
            turn = static_members.on_instance_store_failed(group, waiting, error, at)
            return on_group(shard, turn)
        case JoinWaits():
            return on_group(shard, _join_failed(group, waiting, error))
        case SyncWaits():
            return on_group(shard, _sync_failed(group, waiting, error))


def _join_failed(group: Group, waiting: JoinWaits, error: ErrorCode) -> Turn[Group]:
    """Respond to the client with an error; the member stays and counts as joined."""
    joining = mark_answered(group.joining, waiting.member_id, waiting.header)
    if joining is None:
        return Turn(group)
    response = JoinGroupResponse(error=client_error(error))
    return Turn(replace(group, joining=joining), (Send(waiting.header, response),))


def _sync_failed(group: Group, waiting: SyncWaits, error: ErrorCode) -> Turn[Group]:
    syncing = mark_answered(group.syncing, waiting.member_id, waiting.header)
    if syncing is None:
        return Turn(group)
    response = SyncGroupResponse(error=client_error(error))
    return Turn(replace(group, syncing=syncing), (Send(waiting.header, response),))


CLASSIC: Final = GroupKind(
    validate_commit=validate_commit,
    create_for_commit=create_for_commit,
    validate_fetch=_anyone_may_fetch,
    validate_delete=validate_delete,
    delete=delete,
    validate_offset_delete=validate_offset_delete,
    is_subscribed=is_subscribed_in,
    expires_from_ms=expires_from_ms,
    may_be_removed=may_be_removed,
    on_loaded=on_loaded,
    on_unloaded=on_unloaded,
)
"""Also serves groups that do not exist, and those that have offsets only."""
