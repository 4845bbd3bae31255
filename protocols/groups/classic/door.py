"""What is refused before the group, or even its shard, is looked at.

Source: ``KafkaApis`` and ``GroupCoordinatorService`` (spec classic-coordinator 3, P2, J1, S0).
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

from protocols.groups.answers import join_refused, refusal
from protocols.messages import (
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    Message,
    OffsetDeleteRequest,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.settings.consumer import BrokerSettings

_PROTOCOL_MANDATORY = 5
"""From this SyncGroup version on protocol type and name must be given (KIP-559)."""


def turned_away(request: GroupRequest, settings: BrokerSettings) -> Message | None:
    """Return the answer to a request that no group can have meant, else None.

    Offsets may belong to the group with the empty id; a group with members may not be it.
    """
    error_of = _ERRORS.get(type(request))
    if error_of is None:
        return None
    error = error_of(request, settings)
    if error is None:
        return None
    if isinstance(request, JoinGroupRequest):
        return join_refused(error, request.member_id, request.version)
    return refusal(request, error)


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


_ERRORS: Final[MappingProxyType[type, Callable[[Any, BrokerSettings], ErrorCode | None]]] = (
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
