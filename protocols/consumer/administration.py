"""Rules of the admin client: retries after a response, and the offsets of a reset.

The world sends the requests and waits. Source: ``CoordinatorStrategy``,
``AlterConsumerGroupOffsetsHandler``, ``DeleteConsumerGroupOffsetsHandler``,
``DeleteConsumerGroupsHandler``, and ``ConsumerGroupCommand`` of the command line tool.
"""

from __future__ import annotations

import enum
from typing import Final

from protocols.messages import (
    DeleteGroupsResponse,
    DescribeGroupResponse,
    Message,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode

RETRY_BACKOFF_US: Final = 100_000
RETRY_BACKOFF_MAX_US: Final = 1_000_000
"""The admin client's ``retry.backoff.ms`` and ``retry.backoff.max.ms``, without their jitter."""


class Next(enum.Enum):
    """The next step of an admin client after a response of the coordinator."""

    FINAL = "final"
    """The response is final, a success or an error."""

    AGAIN = "again"
    """Retry the request at the same broker."""

    LOOK_UP = "look up"
    """Look the coordinator up again, then repeat the request."""


_AGAIN: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
_ELSEWHERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


def next_step(response: Message | None) -> Next:
    """Return the next step after *response*; None: the connection broke."""
    if response is None:
        return Next.LOOK_UP
    errors = errors_of(response)
    if any(error in _ELSEWHERE for error in errors):
        return Next.LOOK_UP
    waits = ErrorCode.REBALANCE_IN_PROGRESS if isinstance(response, OffsetCommitResponse) else None
    again = any(error in _AGAIN or error is waits for error in errors)
    return Next.AGAIN if again else Next.FINAL


def errors_of(response: Message) -> tuple[ErrorCode, ...]:
    """Return the errors in a response; raise TypeError if no admin client receives its type."""
    match response:
        case DescribeGroupResponse(error=error) | OffsetFetchResponse(error=error):
            found = [error]
        case OffsetDeleteResponse(error=error, errors=errors):
            found = [error, *(code for _, code in errors)]
        case OffsetCommitResponse(errors=errors):
            found = [code for _, code in errors]
        case DeleteGroupsResponse(results=results):
            found = [code for _, code in results]
        case _:
            raise TypeError(f"not a response to an admin client: {type(response).__name__}")
    return tuple(dict.fromkeys(error for error in found if error is not ErrorCode.NONE))


def backoff_us(failures: int) -> int:
    """Return the back-off in microseconds after this number of consecutive failures (KIP-580)."""
    longer = RETRY_BACKOFF_US << min(failures - 1, 10)
    return int(min(longer, RETRY_BACKOFF_MAX_US))


def may_reset(description: DescribeGroupResponse) -> bool:
    """Return whether the tool resets the offsets of a group in this state."""
    missing = description.error is ErrorCode.GROUP_ID_NOT_FOUND
    return missing or description.state in _INACTIVE


_INACTIVE: Final = frozenset({"Empty", "Dead"})


def clamp_offset(wanted: int, earliest: int, latest: int) -> int:
    """Return *wanted*, limited to the range of offsets in the log."""
    return max(earliest, min(wanted, latest))
