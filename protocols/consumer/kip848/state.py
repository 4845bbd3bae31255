"""The state of a client of the consumer protocol, and its configuration.

Two parties act inside one consumer. The *application thread* runs poll, commits and listener calls
(:data:`~protocols.consumer.kip848.threads.App`). The *background thread* owns the network and the
membership. They communicate through two queues: ``events`` to the background thread, ``needed`` to
the application. Source: ``AsyncKafkaConsumer``, ``AbstractMembershipManager``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Failed
from protocols.consumer.clients import JAVA, ClientProfile
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.member import NO_MEMBER, LocalAssignment, Membership
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
from protocols.messages import UNKNOWN_GENERATION
from protocols.settings import ConsumerSettings
from protocols.values import replace

if TYPE_CHECKING:
    from protocols.consumer.offset_store import OffsetStore


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

    reuses: bool = False
    """Whether an earlier poll event requested these."""

    lists: tuple[int, ...] = ()
    """The ListOffsets that it sent and waits for, by correlation id."""


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
