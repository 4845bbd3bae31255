"""What an admin client makes of answers, and when the tool resets offsets at all."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.administration import (
    Next,
    backoff_us,
    clamp_offset,
    errors_of,
    may_reset,
    next_step,
)
from protocols.messages import (
    DeleteGroupsResponse,
    DescribeGroupResponse,
    HeartbeatResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def answers(error: ErrorCode):
    """Return every answer a coordinator gives an administrator, with one error."""
    return [
        DescribeGroupResponse(group_id="g", state="", error=error),
        OffsetFetchResponse(error=error),
        OffsetDeleteResponse(error=error),
        OffsetDeleteResponse(errors=((P0, ErrorCode.NONE), (P1, error))),
        DeleteGroupsResponse(results=(("g", error),)),
        OffsetCommitResponse(errors=((P0, error), (P1, error))),
    ]


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (ErrorCode.NONE, Next.FINAL),
        (ErrorCode.NON_EMPTY_GROUP, Next.FINAL),
        (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, Next.FINAL),
        (ErrorCode.UNKNOWN_MEMBER_ID, Next.FINAL),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Next.AGAIN),
        (ErrorCode.NOT_COORDINATOR, Next.LOOK_UP),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Next.LOOK_UP),
    ],
)
def test_an_error_says_whether_to_ask_again_and_whom(error, step):
    """The same for every request."""
    for answer in answers(error):
        assert step is next_step(answer)


def test_only_commits_wait_for_the_end_of_a_rebalance():
    """Elsewhere REBALANCE_IN_PROGRESS would be the end."""
    error = ErrorCode.REBALANCE_IN_PROGRESS
    *others, commit = (next_step(answer) for answer in answers(error))

    assert {Next.FINAL} == set(others)
    assert Next.AGAIN is commit


def test_a_broken_connection_sends_the_client_to_look_for_the_coordinator():
    """It may be another one by now."""
    assert Next.LOOK_UP is next_step(None)


def test_errors_are_reported_once():
    """However many partitions have the same one; NONE is not an error."""
    refused = OffsetCommitResponse(
        errors=((P0, ErrorCode.UNKNOWN_MEMBER_ID), (P1, ErrorCode.UNKNOWN_MEMBER_ID))
    )

    assert (ErrorCode.UNKNOWN_MEMBER_ID,) == errors_of(refused)
    assert () == errors_of(OffsetCommitResponse(errors=((P0, ErrorCode.NONE),)))


def test_what_no_administrator_asks_for_is_a_bug():
    """Other answers are refused."""
    with pytest.raises(TypeError, match="HeartbeatResponse"):
        errors_of(HeartbeatResponse())


def test_pauses_double_up_to_a_second():
    """100 ms, 200 ms, 400 ms, 800 ms, then 1 s for good."""
    assert [100, 200, 400, 800, 1_000, 1_000] == [backoff_us(n) // 1_000 for n in range(1, 7)]
    assert 1_000_000 == backoff_us(10_000)


@pytest.mark.parametrize(
    ("state", "error", "may"),
    [
        ("Empty", ErrorCode.NONE, True),
        ("Dead", ErrorCode.NONE, True),
        ("Dead", ErrorCode.GROUP_ID_NOT_FOUND, True),
        ("Stable", ErrorCode.NONE, False),
        ("PreparingRebalance", ErrorCode.NONE, False),
        ("CompletingRebalance", ErrorCode.NONE, False),
        ("", ErrorCode.INVALID_GROUP_ID, False),
    ],
)
def test_only_groups_at_rest_are_reset(state, error, may):
    """A group that does not exist is at rest."""
    assert may is may_reset(DescribeGroupResponse(group_id="g", state=state, error=error))


@pytest.mark.parametrize(("wanted", "taken"), [(5, 10), (10, 10), (15, 15), (20, 20), (99, 20)])
def test_an_offset_outside_the_log_becomes_its_end(wanted, taken):
    """The nearer one of both."""
    assert taken == clamp_offset(wanted, 10, 20)
