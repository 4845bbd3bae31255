"""Where the application thread is, and what the two threads have to tell each other."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.calls import Closed, CloseOperation, CommitResult, Failed
from protocols.messages import OffsetToCommit


class Purpose(enum.Enum):
    """What goes on in the background once a listener call has ended."""

    REVOKE = "a reconciliation, before its revocation"
    ASSIGN = "a reconciliation, after its assignment"
    RELEASE = "a member that was put out, or has left by itself"
    LEAVE = "unsubscribe"


class Needed(NamedTuple):
    """A listener call that the application has to make."""

    listener: str
    partitions: tuple[TopicPartition, ...]
    purpose: Purpose


# -- events to the background thread -----------------------------------------------------------------


class Polled(NamedTuple):
    """The application is in poll (``AsyncPollEvent``)."""

    at_us: int


@dataclass(frozen=True, slots=True)
class FetchesWanted:
    """Records were handed out (``CreateFetchRequestsEvent``)."""


class CommitWanted(NamedTuple):
    """The application commits; *key*: by which it knows the end of it."""

    key: int
    kind: str
    offsets: tuple[OffsetToCommit, ...]
    deadline_us: int | None


class Called(NamedTuple):
    """A listener call has ended; *threw*: in an exception."""

    needed: Needed
    threw: bool


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """The application has dropped its subscription."""


class LeaveWanted(NamedTuple):
    """close() wants the member to leave with this epoch; None: without a word."""

    epoch: int | None


Event = Polled | FetchesWanted | CommitWanted | Called | Unsubscribed | LeaveWanted

# -- where the application thread is -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outside:
    """The application works."""


OUTSIDE = Outside()


class Polling(NamedTuple):
    """Inside poll, which returns empty at ``until_us``: it waits for records, or turns."""

    until_us: int


class AwaitingCheck(NamedTuple):
    """Inside poll: records are held back until the reconciliation check of its event is done."""

    until_us: int


class Unsubscribing(NamedTuple):
    """Inside unsubscribe, at most until ``deadline_us``."""

    deadline_us: int


class CloseStage(enum.Enum):
    """How far close() has come."""

    COMMIT = "final commit"
    CALLBACKS = "the last listener call"
    LEAVE = "the heartbeat that leaves"
    COMMITS = "asynchronous commits that are still under way"


class Closing(NamedTuple):
    """Inside close()."""

    stage: CloseStage
    deadline_us: int
    operation: CloseOperation


class Calling(NamedTuple):
    """In a listener call; ``rest`` come after it, then ``outer`` goes on or throws."""

    needed: Needed
    rest: tuple[Needed, ...]
    outer: Polling | Unsubscribing | Closing
    thrown: Failed | None = None


class CommittingSync(NamedTuple):
    """Inside commitSync; ``outer`` is where it was called."""

    key: int
    offsets: tuple[OffsetToCommit, ...]
    deadline_us: int
    outer: Outside | Calling
    result: CommitResult | None = None
    """Its end, which waits for that of asynchronous commits before it."""


App = (
    Outside | Polling | AwaitingCheck | Unsubscribing | Closing | Calling | CommittingSync | Closed
)


def makes_last_calls(app: App) -> bool:
    """Say whether close() has its final commit behind it, in a listener call that it makes too.

    From then on no coordinator is looked up, and commits wait for nothing
    (``CoordinatorRequestManager.signalClose``, ``CommitRequestManager.signalClose``).
    """
    match app:
        case Closing(stage):
            return stage is not CloseStage.COMMIT
        case Calling(outer=outer) | CommittingSync(outer=outer):
            return makes_last_calls(outer)
        case _:
            return False
