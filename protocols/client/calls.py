"""What the calls of an application end in, under either group protocol."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.errors import ErrorCode
from protocols.messages import OffsetToCommit


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
