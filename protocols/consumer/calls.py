"""What the calls of an application end in, under either group protocol."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode


class CloseOperation(enum.Enum):
    """What close() does about the membership (``CloseOptions.GroupMembershipOperation``, KIP-1092).

    Of static members, a classic one that does not leave says nothing, and one of the consumer
    protocol says that it will be back, unless it leaves for good.
    """

    DEFAULT = "dynamic members leave, static ones come back"
    LEAVE_GROUP = "leave for good"
    REMAIN_IN_GROUP = "stay until the session expires"


class IllegalCallError(RuntimeError):
    """The host called a client in a way that its state does not allow: an error of the host."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The consumer is closed; nothing may be called any more."""


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
        """Return the exception with what is known of its reason."""
        why = self.error.name if self.error else self.message
        return f"{self.exception} ({why})" if why else self.exception


def exception_name(error: ErrorCode) -> str:
    """Return the name of the Java exception of an error code."""
    if error is ErrorCode.UNKNOWN_SERVER_ERROR:
        return "UnknownServerException"
    words = error.name.removesuffix("_FAILED").split("_")
    return "".join(word.capitalize() for word in words) + "Exception"
