"""Refusing whole requests, as hosts do for a broker that does not lead the partition."""

from __future__ import annotations

import pytest

from protocols.groups.responses import (
    append_failed_response,
    client_error_of_fetch,
    error_response,
)
from protocols.messages import (
    DeleteGroupsRequest,
    DescribeGroupRequest,
    DescribeGroupResponse,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode

from .wire import some

REQUESTS: list[GroupRequest] = [
    JoinGroupRequest(group_id="g", session_timeout_ms=1, rebalance_timeout_ms=1),
    SyncGroupRequest(group_id="g", generation_id=1, member_id="a-1"),
    HeartbeatRequest(group_id="g", generation_id=1, member_id="a-1"),
    LeaveGroupRequest(group_id="g", members=()),
    OffsetCommitRequest(group_id="g", offsets=(OffsetToCommit(some(0)[0], 1),)),
    OffsetFetchRequest(group_id="g"),
    OffsetDeleteRequest(group_id="g", partitions=()),
    DeleteGroupsRequest(group_ids=("g", "g")),
    DescribeGroupRequest(group_id="g"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_every_request_can_be_refused(request_: GroupRequest):
    """With one error, in the answer that belongs to the request."""
    answer = error_response(request_, ErrorCode.NOT_COORDINATOR)

    assert type(request_).__name__.replace("Request", "") == type(answer).__name__.replace(
        "Response", ""
    )
    rows = getattr(answer, "results", None) or getattr(answer, "errors", ())
    said = [row[-1] for row in rows] or [answer.error]  # type: ignore[union-attr]
    assert [ErrorCode.NOT_COORDINATOR] == said


def test_answers_that_never_wait_cannot_fail_later():
    """A description is given as of what is durable; to ask for this is our mistake."""
    with pytest.raises(TypeError, match="DescribeGroupResponse never waits"):
        append_failed_response(
            DescribeGroupResponse(group_id="g", state="Dead"), ErrorCode.REQUEST_TIMED_OUT
        )


@pytest.mark.parametrize(
    ("failed", "seen"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_fetch_that_waited_for_a_failed_append_looks_the_coordinator_up_again(failed, seen):
    """If the append may succeed later; a reason that clients see as it is stays."""
    assert seen is client_error_of_fetch(failed)
