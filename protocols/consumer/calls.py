"""Results of the application's calls, under both group protocols."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode


class CloseOperation(enum.Enum):
    """How close() treats the membership (``CloseOptions.GroupMembershipOperation``, KIP-1092).

    A static member that does not leave sends nothing under the classic protocol; under the
    consumer protocol it sends a temporary leave.
    """

    DEFAULT = "dynamic members leave, static members may return"
    LEAVE_GROUP = "leave permanently"
    REMAIN_IN_GROUP = "stay until the session expires"


class IllegalCallError(RuntimeError):
    """The host made a call that the client's state does not allow: an error of the host."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The consumer is closed; no call is allowed any more."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The end of a commitSync; ``exception`` is the Java exception's name, None for success."""

    offsets: tuple[OffsetToCommit, ...]
    exception: str | None = None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class Failed:
    """The call threw: ``exception`` is the Java exception's name."""

    exception: str
    error: ErrorCode = ErrorCode.NONE
    message: str = ""

    def __str__(self) -> str:
        """Return the exception with its error or message."""
        why = self.error.name if self.error else self.message
        return f"{self.exception} ({why})" if why else self.exception


def exception_name(error: ErrorCode) -> str:
    """Return the name of the Java exception of an error code."""
    if error is ErrorCode.UNKNOWN_SERVER_ERROR:
        return "UnknownServerException"
    words = error.name.removesuffix("_FAILED").split("_")
    return "".join(word.capitalize() for word in words) + "Exception"
