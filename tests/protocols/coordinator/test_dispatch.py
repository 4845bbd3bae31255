"""Requests that are invalid in any group are refused before the group is looked at.

Source: ``GroupCoordinatorService`` (joinGroup, syncGroup, heartbeat, leaveGroup, deleteOffsets) and
``KafkaApis.handleSyncGroupRequest`` of Kafka 4.4.0.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from protocols.coordinator.dispatch import reject_not_coordinator, validate
from protocols.messages import (
    Envelope,
    Header,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import BrokerSettings

SETTINGS = BrokerSettings(group_min_session_timeout_ms=6_000, group_max_session_timeout_ms=10_000)
P0 = TopicPartition("t", 0)


def error_of(request):
    answer = validate(request, SETTINGS)
    return None if answer is None else answer.error


def join(**more):
    given = {"group_id": "g", "session_timeout_ms": 6_000, "rebalance_timeout_ms": 1, **more}
    return JoinGroupRequest(member_id="", protocol_type="consumer", protocols=(), **given)


def sync(**more):
    given = {"group_id": "g", "protocol_type": "consumer", "protocol_name": "range", **more}
    return SyncGroupRequest(generation_id=1, member_id="m", **given)


@pytest.mark.parametrize(
    ("timeout_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, None),
        (10_000, None),
        (10_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_a_session_timeout_is_within_those_of_the_broker(timeout_ms, error):
    """Both ends are allowed (group.min.session.timeout.ms, group.max.session.timeout.ms)."""
    assert error is error_of(join(session_timeout_ms=timeout_ms))


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("type_", ["consumer", None])
@pytest.mark.parametrize("name", ["range", None])
def test_a_sync_says_protocol_type_and_name_from_version_5_on(version, type_, name):
    """``SyncGroupRequest.areMandatoryProtocolTypeAndNamePresent``: one of the two is not enough."""
    request = sync(version=version, protocol_type=type_, protocol_name=name)
    missing = version >= 5 and None in (type_, name)

    assert error_of(request) is (ErrorCode.INCONSISTENT_GROUP_PROTOCOL if missing else None)


@pytest.mark.parametrize(
    "request_",
    [
        join(),
        sync(),
        HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
        LeaveGroupRequest(group_id="g", members=()),
        OffsetDeleteRequest(group_id="g", partitions=(P0,)),
    ],
    ids=lambda request: type(request).__name__,
)
def test_a_group_with_members_has_a_name(request_):
    """The empty group id is no group; any other text is."""
    assert error_of(request_) is None
    assert ErrorCode.INVALID_GROUP_ID is error_of(replace(request_, group_id=""))


@pytest.mark.parametrize(
    ("group_id", "error"), [("g", ErrorCode.NOT_COORDINATOR), ("", ErrorCode.INVALID_GROUP_ID)]
)
def test_a_broker_that_is_no_coordinator_of_the_group_checks_the_request_first(group_id, error):
    """``GroupCoordinatorService`` looks for the partition of the group afterwards."""
    envelope = Envelope(Header("c", 1), join(group_id=group_id))
    (sent,) = reject_not_coordinator(envelope, SETTINGS, {})

    assert error is sent.message.error


def test_offsets_may_be_of_the_group_without_a_name():
    """Old clients commit to it (``isGroupIdNotEmpty`` is not asked of OffsetCommit)."""
    request = OffsetCommitRequest(group_id="", offsets=(OffsetToCommit(P0, 1),))

    assert validate(request, SETTINGS) is None
