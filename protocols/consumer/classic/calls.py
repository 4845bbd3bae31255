"""Where the application thread is, and what a call of the application returns."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from protocols.consumer.calls import Closed, CloseOperation, Failed
from protocols.consumer.classic.rebalancing import Synced
from protocols.messages import OffsetToCommit


class Resume(enum.Enum):
    """Where the application thread goes on after a listener call."""

    JOIN = "after onJoinPrepare"
    REVOKED = "in onJoinComplete, before the assignment changes"
    ASSIGNED = "after onJoinComplete"
    CLOSE = "in close"
    UNSUBSCRIBE = "in unsubscribe"


@dataclass(frozen=True, slots=True)
class Outside:
    """The application works, or waits in poll for the network (the machine knows which)."""


OUTSIDE = Outside()


@dataclass(frozen=True, slots=True)
class Calling:
    """A listener call runs; ``poll_until_us`` None: not inside a poll."""

    resume: Resume
    poll_until_us: int | None
    synced: Synced | None = None
    closing: Closing | None = None
    """The close() that made the call."""

    thrown: Failed | None = None
    """What the call before it in the same poll threw."""


@dataclass(frozen=True, slots=True)
class CommittingSync:
    """Inside commitSync; ``outer`` is where it was called."""

    offsets: tuple[OffsetToCommit, ...]
    kind: str
    deadline_us: int
    outer: Outside | Calling | Closing
    attempt: int = 0
    correlation_id: int | None = None
    retry_us: int = 0


class CloseStage(enum.Enum):
    """How far close() has come."""

    COMMIT = "final commit"
    LOOKUP = "asynchronous commits that wait for a coordinator"
    LEAVE = "LeaveGroup and what is still in flight"


@dataclass(frozen=True, slots=True)
class Closing:
    """Inside close()."""

    stage: CloseStage
    deadline_us: int
    operation: CloseOperation


App = Outside | Calling | CommittingSync | Closing | Closed
