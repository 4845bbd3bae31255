"""Dispatch requests, timers and the outcome of appends to the handlers of the group's type.

Source: ``GroupCoordinatorService`` (validation), ``GroupCoordinatorShard`` (dispatch) and
``CoordinatorRuntime`` (timers, deferred events) of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

from protocols.coordinator.durability import HostContractError
from protocols.facts import OffsetsDropped
from protocols.groups import deletion, kip848, migration
from protocols.groups.classic import join, rebalance, sessions, sync
from protocols.groups.classic import kind as classic
from protocols.groups.classic.group import (
    JOIN,
    SESSION,
    SYNC,
    Group,
    JoinWaits,
    SyncWaits,
    on_group,
)
from protocols.groups.classic.kind import CLASSIC, describe_group
from protocols.groups.classic.sessions import on_session_timeout
from protocols.groups.deletion import EXPIRE_OFFSETS
from protocols.groups.offsets import offset_commit, offset_fetch, reject_commit, still_gone
from protocols.groups.responses import append_failed_response, error_response, join_error_response
from protocols.groups.shard import (
    AnyShard,
    Broker,
    Durable,
    GroupKind,
    LateTimers,
    Moment,
    Retry,
    TopicsByName,
    Turn,
    Waiting,
    is_classic,
)
from protocols.machine import Effect, Report, Send, SetTimer
from protocols.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupRequest,
    Envelope,
    GroupRequest,
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    Message,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import BrokerSettings

_PROTOCOL_MANDATORY = 5
"""The first SyncGroup version that requires protocol type and name (KIP-559)."""

Handler = Callable[[AnyShard, Header, Any, Moment], Turn[AnyShard]]
InConsumerGroup = Callable[[AnyShard, Any, Header, Any, Moment], Turn[AnyShard]]
"""A handler that also takes the consumer group of the request."""


def kind_of(shard: AnyShard, group_id: str) -> GroupKind:
    """Return the type of a group; one that does not exist counts as classic."""
    return kind_in(shard.durable, group_id)


def kind_in(durable: Durable, group_id: str) -> GroupKind:
    """Return the type of a group in one view of the log."""
    return CLASSIC if durable.is_classic(group_id) else kip848.shard.CONSUMER


# -- requests that may change a group ----------------------------------------------------------


def _in_either(classic: Handler, consumer: Callable[[], InConsumerGroup]) -> Handler:
    """Respond to a request of the classic protocol, in a classic group or in a consumer group.

    *consumer* returns the handler for the latter; it is called when a consumer group exists.
    """

    def handle(shard: AnyShard, header: Header, request: Any, at: Moment) -> Turn[AnyShard]:
        group = shard.durable.groups.get(request.group_id)
        if is_classic(group):
            return classic(shard, header, request, at)
        return consumer()(shard, group, header, request, at)

    return handle


def _consumer_heartbeat(
    shard: AnyShard, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    return migration.requests.heartbeat_at_any_group(shard, header, request, at)


def _commit(
    shard: AnyShard, header: Header, request: OffsetCommitRequest, at: Moment
) -> Turn[AnyShard]:
    return offset_commit(shard, header, request, kind_of(shard, request.group_id), at)


def _stable_fetch(
    shard: AnyShard, header: Header, request: OffsetFetchRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a stable fetch from the newest state, once all of that state is durable."""
    refused = kind_of(shard, request.group_id).validate_fetch(shard.durable, request)
    if refused is not None:
        return Turn(shard, (Send(header, OffsetFetchResponse(error=refused)),))
    response = offset_fetch(shard.durable, request, at.broker)
    return Turn(shard, waits=(Send(header, response),))


def _offset_delete(
    shard: AnyShard, header: Header, request: OffsetDeleteRequest, at: Moment
) -> Turn[AnyShard]:
    return deletion.offset_delete(shard, header, request, kind_of(shard, request.group_id), at)


def _delete_groups(
    shard: AnyShard, header: Header, request: DeleteGroupsRequest, _: Moment
) -> Turn[AnyShard]:
    return deletion.delete_groups(shard, header, request, kind_of)


HANDLERS: Final[MappingProxyType[type, Handler]] = MappingProxyType(
    {
        JoinGroupRequest: _in_either(
            join.join_group, lambda: migration.requests.join_consumer_group
        ),
        SyncGroupRequest: _in_either(
            sync.sync_group, lambda: migration.requests.sync_in_consumer_group
        ),
        HeartbeatRequest: _in_either(
            sessions.heartbeat, lambda: migration.requests.heartbeat_in_consumer_group
        ),
        LeaveGroupRequest: _in_either(
            sessions.leave_group, lambda: migration.requests.leave_consumer_group
        ),
        ConsumerGroupHeartbeatRequest: _consumer_heartbeat,
        OffsetCommitRequest: _commit,
        OffsetFetchRequest: _stable_fetch,
        OffsetDeleteRequest: _offset_delete,
        DeleteGroupsRequest: _delete_groups,
    }
)


# -- requests that only read -------------------------------------------------------------------


def read(request: Any, shard: AnyShard, view: Durable, broker: Broker) -> Message | None:
    """Respond to a request that only reads, else return None; a group is visible once it is durable.

    *view*: the durable state.
    """
    if isinstance(request, DescribeGroupRequest):
        known = request.group_id in view.groups
        group = shard.groups.get(request.group_id) if known else None
        return describe_group(group, request)
    if isinstance(request, ConsumerGroupDescribeRequest):
        group = view.groups.get(request.group_id)
        consumers = group if isinstance(group, kip848.group.Group) else None
        return kip848.describe.described(consumers, request, broker)
    if isinstance(request, OffsetFetchRequest) and not request.require_stable:
        refused = kind_in(view, request.group_id).validate_fetch(view, request)
        if refused is not None:
            return OffsetFetchResponse(error=refused)
        return offset_fetch(view, request, broker)
    return None


# -- rejecting ---------------------------------------------------------------------------------


def validate(request: Any, settings: BrokerSettings) -> Message | None:
    """Return the error response to a request that is invalid in any group, else None."""
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        return kip848.validation.validate_heartbeat(request, settings)
    return _validate_classic(request, settings)


def _validate_classic(request: GroupRequest, settings: BrokerSettings) -> Message | None:
    """Return the error response to an invalid classic request, else None.

    The empty group id is valid for offsets only, not for a group with members.
    """
    validator = _VALIDATORS.get(type(request))
    if validator is None:
        return None
    error = validator(request, settings)
    if error is None:
        return None
    if isinstance(request, JoinGroupRequest):
        return join_error_response(error, request.member_id, request.version)
    return error_response(request, error)


def _join_error(request: JoinGroupRequest, settings: BrokerSettings) -> ErrorCode | None:
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    shortest_ms = settings.group_min_session_timeout_ms
    longest_ms = settings.group_max_session_timeout_ms
    fits = shortest_ms <= request.session_timeout_ms <= longest_ms
    return None if fits else ErrorCode.INVALID_SESSION_TIMEOUT


def _sync_error(request: SyncGroupRequest, settings: BrokerSettings) -> ErrorCode | None:
    named = request.protocol_type is not None and request.protocol_name is not None
    if request.version >= _PROTOCOL_MANDATORY and not named:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return _group_error(request, settings)


def _group_error(
    request: SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest | OffsetDeleteRequest,
    _: BrokerSettings,
) -> ErrorCode | None:
    return None if request.group_id else ErrorCode.INVALID_GROUP_ID


_VALIDATORS: Final[MappingProxyType[type, Callable[[Any, BrokerSettings], ErrorCode | None]]] = (
    MappingProxyType(
        {
            JoinGroupRequest: _join_error,
            SyncGroupRequest: _sync_error,
            HeartbeatRequest: _group_error,
            LeaveGroupRequest: _group_error,
            OffsetDeleteRequest: _group_error,
        }
    )
)


def reject_unavailable(
    header: Header, request: Any, topics: TopicsByName, *, loading: bool
) -> tuple[Effect, ...]:
    """Reject a request at a coordinator that is loading, failed or unloaded."""
    if loading and isinstance(request, HeartbeatRequest):
        return (Send(header, HeartbeatResponse()),)
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NOT_COORDINATOR
    if isinstance(request, OffsetCommitRequest):
        return reject_commit(header, request, error, topics)
    return (Send(header, error_response(request, error)),)


def reject_not_coordinator(
    envelope: Envelope, settings: BrokerSettings, topics: TopicsByName
) -> tuple[Effect, ...]:
    """Reject a group request at a broker that does not lead the group's offsets partition."""
    request: Any = envelope.body  # the tables decide by its type
    refused = validate(request, settings)
    if refused is not None:
        return (Send(envelope.header, refused),)
    return reject_unavailable(envelope.header, request, topics, loading=False)


def on_timer(shard: AnyShard, timer: str, at: Moment) -> Turn[AnyShard]:
    """Handle a timer of a group, or the timer of offset expiry."""
    if timer.startswith(SESSION):
        return on_session_timeout(shard, timer, at)
    if timer.startswith(JOIN):
        return _on_classic_timer(shard, timer.removeprefix(JOIN), rebalance.on_join_timeout, at)
    if timer.startswith(SYNC):
        return _on_classic_timer(shard, timer.removeprefix(SYNC), sync.on_sync_timeout, at)
    if timer == EXPIRE_OFFSETS:
        return deletion.expire(shard, kind_of, at)
    if not kip848.shard.is_timer(timer):
        raise HostContractError(f"the coordinator never set a timer {timer!r}")
    return migration.requests.on_timer(shard, timer, at)


def _on_classic_timer(
    shard: AnyShard, group_id: str, wake: Callable[[Group, Moment], Turn[Group]], at: Moment
) -> Turn[AnyShard]:
    group = shard.groups.get(group_id)
    return Turn(shard) if group is None else on_group(shard, wake(group, at))


RETRY_MS: Final = 500
"""Delay before a timer whose records could not be written fires again."""


FOR_FAILURES: Final = (Retry, JoinWaits, SyncWaits)
"""Waits with which nothing is done unless their append fails."""


def on_durable(shard: AnyShard, waiting: Waiting, at: Moment) -> Turn[AnyShard]:
    """Continue a step that waited for records that are now durable."""
    if isinstance(waiting, Send):
        return Turn(shard, (waiting,))
    if isinstance(waiting, Report):
        return Turn(shard, _still_dropped(shard, waiting))
    if isinstance(waiting, LateTimers):
        return kip848.shard.on_durable(shard, waiting, at)
    if isinstance(waiting, FOR_FAILURES):
        return Turn(shard)
    return classic.on_durable(shard, waiting, at)


def on_append_failed(
    shard: AnyShard, waiting: Waiting, error: ErrorCode, at: Moment
) -> Turn[AnyShard]:
    """Respond to a request that waited for an append that failed with *error* or timed out."""
    if isinstance(waiting, Send):
        return Turn(shard, (Send(waiting.to, append_failed_response(waiting.message, error)),))
    if isinstance(waiting, Report):
        return Turn(shard, waits=_still_dropped(shard, waiting))
    if isinstance(waiting, Retry):
        if error is ErrorCode.NOT_COORDINATOR:
            return Turn(shard)
        after = kip848.shard.with_retried(shard, waiting)
        return Turn(after, (SetTimer(waiting.timer, at.after(RETRY_MS)),))
    if isinstance(waiting, LateTimers):
        return Turn(shard)
    return classic.on_append_failed(shard, waiting, error, at)


def _still_dropped(shard: AnyShard, emitted: Report) -> tuple[Report, ...]:
    """Return the fact for the offsets that are still deleted; some batches may have failed."""
    fact = emitted.fact
    assert isinstance(fact, OffsetsDropped), "no other fact waits for the log"
    return still_gone(shard.durable, fact)
