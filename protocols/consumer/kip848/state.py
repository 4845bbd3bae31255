"""The state of a client of the consumer protocol, its member states, and its configuration.

Two parties act inside one consumer. The *application thread* runs poll, commits and listener calls
(:data:`~protocols.consumer.kip848.threads.App`). The *background thread* owns the network and the
membership. They communicate through two queues: ``events`` to the background thread, ``needed`` to
the application. Source: ``MemberState``, ``AbstractMembershipManager``, ``AsyncKafkaConsumer``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Failed
from protocols.consumer.clients import JAVA, ClientProfile
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.threads import (
    OUTSIDE,
    App,
    CallbackNeeded,
    Commit,
    Event,
    Lags,
    QueueTimes,
    at_once,
)
from protocols.consumer.lookup import NEVER_LOOKED_UP, Known, Unknown
from protocols.consumer.positions import Positions
from protocols.consumer.reader import NOTHING_ASKED, Metadata, Reads
from protocols.messages import UNKNOWN_GENERATION, TopicPartitions
from protocols.settings import ConsumerSettings
from protocols.values import replace

if TYPE_CHECKING:
    from protocols.consumer.offset_store import OffsetStore


class MemberState(enum.Enum):
    """The member's state (``MemberState`` of the Java client)."""

    UNSUBSCRIBED = "in no group"
    JOINING = "sends epoch 0"
    RECONCILING = "has a new target assignment"
    ACKNOWLEDGING = "sends the assignment it owns"
    STABLE = "owns its target assignment"
    FENCED = "removed; releases its partitions, then joins again"
    PREPARE_LEAVING = "releases its partitions, then leaves"
    LEAVING = "sends its leaving heartbeat"
    STALE = "left because the application did not poll; joins at the next poll"
    FATAL = "ended by a fatal error"

    @property
    def in_group(self) -> bool:
        """Whether the member uses the responses to its heartbeats."""
        return self not in _OUTSIDE

    @property
    def leaving(self) -> bool:
        """Whether the member is leaving."""
        return self in {MemberState.PREPARE_LEAVING, MemberState.LEAVING}

    @property
    def takes_assignments(self) -> bool:
        """Whether it accepts a new target assignment."""
        return MemberState.RECONCILING in TRANSITIONS[self]


_OUTSIDE = frozenset(
    {MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.STALE, MemberState.FATAL}
)
_S = MemberState

TRANSITIONS: Final[dict[MemberState, frozenset[MemberState]]] = {
    _S.UNSUBSCRIBED: frozenset({_S.JOINING, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.JOINING: frozenset({_S.RECONCILING, _S.STABLE, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.RECONCILING: frozenset(
        {_S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}
    ),
    _S.ACKNOWLEDGING: frozenset(
        {_S.STABLE, _S.RECONCILING, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}
    ),
    _S.STABLE: frozenset({_S.RECONCILING, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.FENCED: frozenset({_S.JOINING, _S.UNSUBSCRIBED}),
    _S.PREPARE_LEAVING: frozenset({_S.LEAVING, _S.FATAL}),
    _S.LEAVING: frozenset({_S.UNSUBSCRIBED, _S.STALE, _S.FATAL}),
    _S.STALE: frozenset({_S.JOINING}),
    _S.FATAL: frozenset(),
}
"""The allowed next states of each state."""

Ids = tuple[TopicPartitions, ...]
"""Partitions by topic id, sorted, without topics that have none."""


def by_id(partitions_of: Iterable[TopicPartitions]) -> Ids:
    """Return partitions by topic id in one canonical form."""
    found: dict[str, set[int]] = {}
    for topic_id, partitions in partitions_of:
        found.setdefault(topic_id, set()).update(partitions)
    return tuple(
        TopicPartitions(topic_id, tuple(sorted(numbers)))
        for topic_id, numbers in sorted(found.items())
        if numbers
    )


class LocalAssignment(NamedTuple):
    """Partitions with a counter of the client, which distinguishes equal assignments."""

    epoch: int
    partitions: Ids

    def with_target(self, partitions: Ids) -> LocalAssignment:
        """Return the assignment after the coordinator sent *partitions*."""
        if self != NO_ASSIGNMENT and partitions == self.partitions:
            return self
        return LocalAssignment(self.epoch + 1, partitions)


NO_ASSIGNMENT = LocalAssignment(-1, ())


class Stage(enum.Enum):
    """The steps of a reconciliation, by what it waits for."""

    COMMITTING = "the commit before it"
    REVOKING = "onPartitionsRevoked"
    ASSIGNING = "onPartitionsAssigned"


class Reconciling(NamedTuple):
    """A running reconciliation."""

    stage: Stage
    resolved: LocalAssignment
    assigned: tuple[TopicPartition, ...]
    revoked: tuple[TopicPartition, ...]
    added: tuple[TopicPartition, ...]


class AbortedReconciliation(NamedTuple):
    """A reconciliation of a member that was fenced or left while it ran.

    It ends with the step that it waits for. The application may still apply its assignment, which is
    not acknowledged.
    """

    stage: Stage


class ReleaseStage(enum.Enum):
    """The progress of releasing all partitions (onPartitionsLost)."""

    DONE = "nothing to release"
    RUNNING = "the listener has to be called"
    THEN_JOIN = "the listener has to be called; then the member joins again"


class Membership(NamedTuple):
    """The member as its client sees it (``ConsumerMembershipManager``)."""

    state: MemberState = MemberState.UNSUBSCRIBED
    epoch: int = 0
    target: LocalAssignment = NO_ASSIGNMENT
    current: LocalAssignment = NO_ASSIGNMENT
    reconciling: Reconciling | AbortedReconciliation | None = None
    release: ReleaseStage = ReleaseStage.DONE

    @property
    def reconciled(self) -> bool:
        """Whether it owns its target assignment."""
        return self.target == self.current

    def to(self, state: MemberState) -> Membership:
        """Return the member in another state."""
        assert state in TRANSITIONS[self.state], (
            f"no transition from {self.state.name} to {state.name}"
        )
        return self._replace(state=state)


NO_MEMBER = Membership()


# -- the poll event --------------------------------------------------------------------------------


class Progress(enum.Enum):
    """The progress of a poll event in the background thread."""

    QUEUED = "not taken yet"
    TAKEN = "waits for positions"
    COMPLETE = "done"


class Slot(NamedTuple):
    """The one poll event that the application has issued."""

    at_us: int
    deadline_us: int
    progress: Progress = Progress.QUEUED
    failed: Failed | None = None
    """The exception that the next poll throws for it."""

    awaits: tuple[TopicPartition, ...] = ()
    """The partitions for whose committed offsets it waits."""


# -- the heartbeat ---------------------------------------------------------------------------------


class SentFields(NamedTuple):
    """The fields of the last heartbeat (``HeartbeatState.SentFields``); after an error all are resent."""

    rebalance_timeout_ms: int = -1
    names: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    local: LocalAssignment | None = None


NOTHING_SENT = SentFields()


class Beat(NamedTuple):
    """The timers of the heartbeat (``HeartbeatRequestState``)."""

    interval_us: int = 0
    due_us: int = 0
    number: int | None = None
    """The heartbeat in flight."""

    attempt: int = 0
    retry_us: int = 0
    sent: SentFields = NOTHING_SENT
    armed_us: int | None = None
    """When its timer fires."""


NO_BEAT = Beat()

# -- requests --------------------------------------------------------------------------------------


class Api(enum.Enum):
    """Kinds of requests to the coordinator."""

    HEARTBEAT = "ConsumerGroupHeartbeat"
    LEAVE = "ConsumerGroupHeartbeat of a member that leaves"
    LEAVE_UNANSWERED = "the same after max.poll.interval.ms; its response is ignored"
    COMMIT = "OffsetCommit"
    OFFSETS = "OffsetFetch"


class InFlight(NamedTuple):
    """One unanswered request to the coordinator."""

    api: Api
    broker: int
    deadline_us: int
    commit: Commit | None = None


class PendingOffsetFetch(NamedTuple):
    """An OffsetFetch that waits to be sent, or for its response (``OffsetFetchRequestState``)."""

    partitions: tuple[TopicPartition, ...]
    deadline_us: int
    """Until when it is retried; after that a poll event has to request the offsets anew."""

    number: int | None = None
    attempt: int = 0
    retry_us: int = 0


class Generation(NamedTuple):
    """The member's epoch and id, named as in the classic client."""

    id: int
    member_id: str


# -- the client ------------------------------------------------------------------------------------


@dataclass(frozen=True)  # without slots: every step copies it, which takes a third of the time
class ClientState:
    """The whole state of a client of the consumer protocol, except its data plane."""

    member_id: str
    member: Membership = NO_MEMBER
    shown_generation: int = UNKNOWN_GENERATION
    """The epoch that ``groupMetadata()`` shows: the last one of a member, also of one that was removed."""

    coordinator: Known | Unknown = NEVER_LOOKED_UP
    lookup_again_us: int = 0  # the Java client backs off after a success, too
    subscribed: tuple[str, ...] | None = ()
    """Topics of the subscription, or those its pattern matches, sorted; None: unsubscribed."""

    assignment: tuple[TopicPartition, ...] = ()
    awaiting: tuple[TopicPartition, ...] = ()
    """Assigned, but not read before onPartitionsAssigned has ended."""

    pending: frozenset[TopicPartition] = frozenset()
    """About to be revoked: no longer read."""

    beat: Beat = NO_BEAT
    poll_due_us: int = 0
    """When ``max.poll.interval.ms`` after the last poll will have passed."""

    autocommit_us: int = 0
    """When the next automatic commit is due."""

    commits: tuple[Commit, ...] = ()
    """Commits that wait to be sent."""

    app: App = OUTSIDE
    slot: Slot | None = None
    events: tuple[Event, ...] = ()
    events_us: int | None = None
    """When the background thread takes them."""

    needed: tuple[CallbackNeeded, ...] = ()
    in_flight: dict[int, InFlight] = field(default_factory=dict)
    request_timer_us: int | None = None
    pending_offset_fetches: tuple[PendingOffsetFetch, ...] = ()
    """The unanswered OffsetFetches, in the order in which they were requested."""

    reads: Reads = NOTHING_ASKED
    fatal_error: Failed | None = None
    """The fatal error that every poll throws."""

    thrown: Failed | None = None
    """The exception that the next poll throws, once."""

    @property
    def metadata(self) -> Metadata:
        """The topics and leaders that the client knows."""
        return self.reads.metadata

    @property
    def generation(self) -> Generation:
        """The member's epoch and id; the epoch is -1 while it is not a member."""
        epoch = self.member.epoch
        return Generation(epoch if epoch > 0 else UNKNOWN_GENERATION, self.member_id)

    def becoming(self, member: Membership) -> ClientState:
        """Return the state with the member changed."""
        return replace(self, member=member)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """The configuration of a client; only its data plane changes."""

    name: str
    group_id: str
    member_id: str
    """Generated once for each consumer object (a UUID in Java), and kept for its lifetime."""

    settings: ConsumerSettings
    topics: tuple[str, ...] | None = None
    """The subscription, if it is by names."""

    matches: Callable[[str], bool] | None = None
    """Whether a topic name matches the pattern, if the client evaluates the pattern."""

    regex: str | None = None
    """The pattern that the coordinator evaluates (``SubscriptionPattern``), if there is one."""

    server_assignor: str | None = None
    """``group.remote.assignor``: the assignor that the coordinator is asked to use."""

    listener: bool = True
    """Whether the application has a rebalance listener, which only its thread can call."""

    jitter: Callable[[str, int], float]
    """A draw in [0, 1) by purpose and time (us)."""

    lags: Lags = at_once
    """The delays of its threads."""

    queue_times: QueueTimes = field(default_factory=QueueTimes, compare=False)
    epoch_ms: int  # the wall clock at time 0
    fetcher: Fetcher = field(default_factory=Fetcher)
    brokers: tuple[int, ...]  # the bootstrap list
    assigned: tuple[TopicPartition, ...] | None = None
    """The partitions that the application assigns; None: the group does."""

    profile: ClientProfile = JAVA
    store: OffsetStore | None = None  # what automatic commits cover; None: all positions

    @property
    def positions(self) -> Positions:
        """Where each assigned partition is read."""
        return self.fetcher.positions
