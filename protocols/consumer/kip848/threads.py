"""The two threads of a consumer: their states, their events, their delays.

The application thread and the background thread share positions and the buffer of records without
a lock. Fractions of a millisecond, drawn by the host, decide which positions an automatic commit
covers. Source: ``AsyncKafkaConsumer``, ``ConsumerNetworkThread``, ``ApplicationEvent``,
``BackgroundEvent``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from math import exp
from statistics import NormalDist
from typing import NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Closed, CloseOperation, CommitResult
from protocols.facts import CommitKind
from protocols.messages import OffsetToCommit


class Lag(enum.StrEnum):
    """The delays of the two threads."""

    EVENT = "background thread: from the queuing of an event to taking it"
    ROUND = "background thread: from a response to taking events that are queued"
    WAKE = "application thread: from the end of a wait to looking at the buffer"
    TAKE = "application thread: from queuing its event to taking records"
    NEXT = "application thread: from a listener call that outlasts poll to the next step"


Lags = Callable[[Lag, int], int]
"""The delay of a thread in microseconds, by its kind and the time (us) at which it begins."""

EACH_RECORD_US = 4
"""Microseconds that the application thread takes for one record."""

MEDIAN_US = 1_400
"""Median wake-up time of a thread, measured on a busy machine; about 500 on an idle one."""

SPREAD = 0.6
"""Standard deviation of the wake-up time's logarithm."""

_MIN = 1e-9
"""Minimum distance of draws from 0 and 1, where a lognormal time is unbounded."""

_TAKES_US = (150, 300)
_ROUNDS_US = (50, 300)


def at_once(lag: Lag, now: int) -> int:
    """Return 0: both threads run without delay."""
    del lag, now
    return 0


def measured(draw: Callable[[Lag, int], float], median_us: int = MEDIAN_US) -> Lags:
    """Return lags as measured: a wake-up is lognormal, the others are uniform.

    *draw*: a number in [0, 1) by kind and time (us); *median_us*: of a wake-up.

    >>> lags = measured(lambda _what, _when: 0.5, median_us=500)
    >>> [lags(lag, 0) for lag in Lag]
    [500, 175, 500, 225, 225]
    """
    quantile = NormalDist(0, SPREAD).inv_cdf
    uniform = {Lag.TAKE: _TAKES_US, Lag.NEXT: _TAKES_US, Lag.ROUND: _ROUNDS_US}

    def lag_us(lag: Lag, now: int) -> int:
        drawn = draw(lag, now)
        bounds = uniform.get(lag)
        if bounds is not None:
            return _uniform(bounds, drawn)
        if not _MIN < drawn < 1 - _MIN:
            drawn = min(max(drawn, _MIN), 1 - _MIN)
        return round(median_us * exp(quantile(drawn)))

    return lag_us


def _uniform(bounds: tuple[int, int], drawn: float) -> int:
    low, high = bounds
    return round(low + (high - low) * drawn)


class QueueTimes:
    """When queued events waited for the background thread, while that is watched (us)."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        self.times: list[int] | None = None
        """Begin and end of each wait, in turns; None: not watched."""

    def begin(self, now: int) -> None:
        """Note that an event is queued."""
        if self.times is not None and not len(self.times) % 2:
            self.times.append(now)

    def end(self, now: int) -> None:
        """Note that the thread takes all events."""
        if self.times is not None and len(self.times) % 2:
            self.times.append(now)


class Purpose(enum.Enum):
    """The background work that continues after a listener call."""

    REVOKE = "a reconciliation, before its revocation"
    ASSIGN = "a reconciliation, after its assignment"
    RELEASE = "a member that was fenced, or left because the application did not poll"
    LEAVE = "unsubscribe"


class CallbackNeeded(NamedTuple):
    """A listener call that the application has to make.

    Source: ``PartitionsRemovedEvent``, ``PartitionsAssignedEvent``.
    """

    listener: str
    partitions: tuple[TopicPartition, ...]
    purpose: Purpose
    assignment: tuple[TopicPartition, ...] = ()
    """Of a call of onPartitionsAssigned: all partitions that the application applies before it."""


# -- events to the background thread ---------------------------------------------------------------


class Polled(NamedTuple):
    """The application is in poll (``AsyncPollEvent``)."""

    at_us: int


@dataclass(frozen=True, slots=True)
class FetchesWanted:
    """Records were handed out (``CreateFetchRequestsEvent``)."""


class Commit(NamedTuple):
    """A commit that is queued, waits to be sent, or for its response (``OffsetCommitRequestState``)."""

    key: int
    """Identifies the commit at its end."""

    kind: CommitKind
    offsets: tuple[OffsetToCommit, ...]
    deadline_us: int | None
    attempt: int = 0
    retry_us: int = 0
    is_awaited: bool = False
    """Whether commitAsync waits until the background thread has taken it (``offsetsReady``)."""


class ApplyAssignment(NamedTuple):
    """The application waits in poll until the new assignment is applied (``ApplyAssignmentEvent``)."""

    needed: CallbackNeeded


class CallbackCompleted(NamedTuple):
    """A listener call has ended; *threw*: with an exception.

    Source: ``ConsumerRebalanceListenerCallbackCompletedEvent``.
    """

    needed: CallbackNeeded
    threw: bool
    ended_us: int = 0
    lasted_us: int = 0


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """The application has dropped its subscription (``UnsubscribeEvent``)."""


class LeaveWanted(NamedTuple):
    """close() wants the member to leave with this epoch; None: without a heartbeat.

    Source: ``LeaveGroupOnCloseEvent``.
    """

    epoch: int | None


Event = (
    Polled
    | FetchesWanted
    | Commit
    | ApplyAssignment
    | CallbackCompleted
    | Unsubscribed
    | LeaveWanted
)

# -- states of the application thread --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outside:
    """The application works."""


OUTSIDE = Outside()


class Polling(NamedTuple):
    """Inside poll, which returns empty at ``until_us``."""

    until_us: int


class AwaitingCheck(NamedTuple):
    """Inside poll: records are held back until the reconciliation check of its event is done."""

    until_us: int


class Unsubscribing(NamedTuple):
    """Inside unsubscribe, at most until ``deadline_us``."""

    deadline_us: int
    look_us: int
    """When it looks for listener calls again; it notices at once that the member has left."""


class CloseStage(enum.Enum):
    """The progress of close()."""

    COMMIT = "final commit"
    CALLBACKS = "the last listener call"
    REMOVED = "the commit of the partitions that this call gave away"
    LEAVE = "the heartbeat that leaves"
    COMMITS = "asynchronous commits that are still under way"
    REQUESTS = "all requests in flight, and the end of the fetch sessions"


class Closing(NamedTuple):
    """Inside close()."""

    stage: CloseStage
    deadline_us: int
    operation: CloseOperation


class Calling(NamedTuple):
    """In a listener call; ``rest`` follow, then ``outer`` continues or throws."""

    needed: CallbackNeeded
    rest: tuple[CallbackNeeded, ...]
    outer: Polling | Unsubscribing | Closing


class Applying(NamedTuple):
    """Inside poll: the background thread applies an assignment; the listener call comes next."""

    calling: Calling


class CommittingSync(NamedTuple):
    """Inside commitSync; ``outer`` is where it was called."""

    key: int
    offsets: tuple[OffsetToCommit, ...]
    deadline_us: int
    outer: Outside | Calling
    result: CommitResult | None = None
    """Its result, which waits for the end of earlier asynchronous commits."""


App = (
    Outside
    | Polling
    | AwaitingCheck
    | Applying
    | Unsubscribing
    | Closing
    | Calling
    | CommittingSync
    | Closed
)


def awaits_last_answers(app: App) -> bool:
    """Return whether close() only waits for answers: the background thread sends nothing more."""
    return isinstance(app, Closing) and app.stage is CloseStage.REQUESTS


def makes_last_calls(app: App) -> bool:
    """Return whether close() has finished its final commit, including its last listener call.

    From then on the coordinator is not looked up, and commits do not wait
    (``CoordinatorRequestManager.signalClose``, ``CommitRequestManager.signalClose``).
    """
    match app:
        case Closing(stage):
            return stage is not CloseStage.COMMIT
        case Calling(outer=outer) | CommittingSync(outer=outer):
            return makes_last_calls(outer)
        case _:
            return False
