"""What the application thread of a classic client does: the phases of a rebalance, and its calls.

A rebalance is first prepared (``onJoinPrepare``, :data:`Prepare`), then joined (:data:`JoinFuture`).
The thread runs poll, commits and listener calls, one at a time (:data:`App`).
"""

from __future__ import annotations

import enum

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Closed, CloseOperation, ExceptionName, Failed
from protocols.facts import CommitKind
from protocols.messages import JoinGroupResponse, OffsetToCommit
from protocols.messages.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PrepareNeeded:
    """onJoinPrepare has not run since the last finished join or state reset."""


@dataclass(frozen=True, slots=True)
class PrepareCommitting:
    """onJoinPrepare waits for its automatic commit, at most until ``deadline_us``."""

    deadline_us: int
    commit: int | None
    """Correlation id; None: failed with a retriable error, to be sent again."""

    gone: frozenset[TopicPartition] = frozenset()  # of the listener call before the commit
    retry_us: int | None = None
    """When to send it again: at the latest for a client whose poll waits once in between (Java),
    not before for one that works in the background; None: it has not waited since it failed."""


@dataclass(frozen=True, slots=True)
class PrepareCommitted:
    """The automatic commit has ended, successfully or not; the listener calls are next, or past."""

    gone: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class PrepareDone:
    """The listener calls have returned; JoinGroup may be sent."""


UNPREPARED = PrepareNeeded()

Prepare = PrepareNeeded | PrepareCommitting | PrepareCommitted | PrepareDone


@dataclass(frozen=True, slots=True)
class Joining:
    """JoinGroup or SyncGroup in flight (``joinFuture``)."""

    offers: int | None = None
    """The number of assignors in the JoinGroup, if another one with one more follows it; None: all."""


@dataclass(frozen=True, slots=True)
class AwaitingMetadata:
    """The leader needs metadata of topics that only other members subscribe to."""

    response: JoinGroupResponse


@dataclass(frozen=True, slots=True)
class Synced:
    """SyncGroup succeeded; the application thread has to apply the assignment."""

    assignment: tuple[TopicPartition, ...]
    generation: int
    protocol: str | None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The join ended in an error that the application thread reacts to."""

    exception: ExceptionName
    """Name of the Java exception; part of the next JoinGroup's reason."""

    reaction: Reaction
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


class Reaction(enum.Enum):
    """Reactions of the application thread to a failed join (``joinGroupIfNeeded``)."""

    AT_ONCE = "join again at once"
    LATER = "join again at the next turn"
    THROW = "throw from poll"


JoinFuture = Joining | AwaitingMetadata | Synced | JoinFailed | None


class Resume(enum.Enum):
    """Where the application thread continues after a listener call."""

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
    """The exception of the call before it in the same poll."""


@dataclass(frozen=True, slots=True)
class CommittingSync:
    """Inside commitSync; ``outer`` is where it was called."""

    offsets: tuple[OffsetToCommit, ...]
    kind: CommitKind
    deadline_us: int
    outer: Outside | Calling | Closing
    attempt: int = 0
    correlation_id: int | None = None
    retry_us: int = 0


class CloseStage(enum.Enum):
    """The progress of close()."""

    COMMIT = "final commit"
    LOOKUP = "asynchronous commits that wait for a coordinator"
    REMOVED = "the commit of the partitions that the last listener call gave away"
    LEAVE = "LeaveGroup and what is still in flight"
    FETCHES = "fetches in flight, and the end of the fetch sessions"


@dataclass(frozen=True, slots=True)
class Closing:
    """Inside close()."""

    stage: CloseStage
    deadline_us: int
    """When it stops waiting for the group, or for fetches."""

    operation: CloseOperation
    ends_us: int
    """When the whole call has to end."""

    sessions: frozenset[int] = frozenset()
    """The brokers that have to answer that a fetch session has ended."""


App = Outside | Calling | CommittingSync | Closing | Closed


def is_in_close(app: App) -> bool:
    """Return whether close() runs, also while it commits or calls the listener."""
    match app:
        case Closing():
            return True
        case Calling(closing=closing):
            return closing is not None
        case CommittingSync(outer=outer):
            return is_in_close(outer)
        case _:
            return False
