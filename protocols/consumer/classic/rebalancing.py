"""How far one rebalance has come, as the application thread goes through it.

First the preparation (``ConsumerCoordinator.onJoinPrepare``), then the join whose end lies in
``joinFuture`` until the application thread looks (``AbstractCoordinator.joinGroupIfNeeded``).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from assignors.types import TopicPartition
from protocols.messages import JoinGroupResponse
from protocols.messages.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PrepareNeeded:
    """onJoinPrepare has not run since the last finished join or state reset."""


@dataclass(frozen=True, slots=True)
class PrepareCommitting:
    """onJoinPrepare waits for its automatic commit, at most until ``deadline_us``."""

    deadline_us: int
    commit: int | None
    """Correlation id; None: failed retriably, to be sent again."""


@dataclass(frozen=True, slots=True)
class PrepareCommitted:
    """That commit is settled, for better or worse; the listener calls come next."""


@dataclass(frozen=True, slots=True)
class PrepareDone:
    """Listener calls are over; JoinGroup may be sent."""


UNPREPARED = PrepareNeeded()

Prepare = PrepareNeeded | PrepareCommitting | PrepareCommitted | PrepareDone


@dataclass(frozen=True, slots=True)
class Joining:
    """JoinGroup or SyncGroup in flight (``joinFuture``)."""


@dataclass(frozen=True, slots=True)
class AwaitingMetadata:
    """The leader needs metadata of topics that only others subscribe to."""

    response: JoinGroupResponse


@dataclass(frozen=True, slots=True)
class Synced:
    """SyncGroup succeeded; the application thread has to apply the assignment."""

    assignment: tuple[TopicPartition, ...]
    generation: int
    protocol: str | None


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The join ended in an error that the application thread reacts to."""

    exception: str
    """Name of the Java exception; part of the next JoinGroup's reason."""

    reaction: Reaction
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


class Reaction(enum.Enum):
    """What the application thread does about a failed join (``joinGroupIfNeeded``)."""

    AT_ONCE = "join again at once"
    LATER = "join again at the next turn"
    THROW = "throw from poll"


JoinFuture = Joining | AwaitingMetadata | Synced | JoinFailed | None
