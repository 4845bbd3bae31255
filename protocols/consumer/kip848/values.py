"""The values a client of the consumer protocol is made of, and what it was built with.

There are two parties inside one consumer (spec kip848 3.1). The *application thread* runs poll,
commits and listener calls; where it is, is told by :data:`~protocols.consumer.kip848.calls.App`.
The *background thread* owns the network and the membership. They talk through two queues:
``events`` to the background thread, ``needed`` to the application.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.calls import Failed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.calls import OUTSIDE, App, Event, Needed
from protocols.consumer.kip848.membership import NO_MEMBER, LocalAssignment, Membership
from protocols.consumer.kip848.threads import Lags, at_once
from protocols.consumer.lookup import NEVER_ASKED, Known, Unknown
from protocols.consumer.positions import Positions
from protocols.consumer.reader import NOTHING_ASKED, Metadata, Reads
from protocols.messages import UNKNOWN_GENERATION, OffsetToCommit
from protocols.settings.consumer import ConsumerSettings

# -- the poll event --------------------------------------------------------------------------------


class Progress(enum.Enum):
    """How far the background thread is with a poll event."""

    QUEUED = "not taken yet"
    TAKEN = "waits for positions"
    COMPLETE = "done"


class Slot(NamedTuple):
    """The one poll event that the application has issued."""

    at_us: int
    deadline_us: int
    progress: Progress = Progress.QUEUED
    failed: Failed | None = None
    """What the next poll throws of it."""


# -- the heartbeat ---------------------------------------------------------------------------------


class Said(NamedTuple):
    """What the coordinator was told last; nothing of it is known to have arrived after an error."""

    rebalance_timeout_ms: int = -1
    names: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    local: LocalAssignment | None = None


NOTHING_SAID = Said()


class Beat(NamedTuple):
    """The timers of the heartbeat (``HeartbeatRequestState``)."""

    interval_us: int = 0
    due_us: int = 0
    number: int | None = None
    """The heartbeat in flight."""

    attempt: int = 0
    retry_us: int = 0
    said: Said = NOTHING_SAID
    armed_us: int | None = None
    """When its timer will run out."""


NO_BEAT = Beat()

# -- requests --------------------------------------------------------------------------------------


class Asked(enum.Enum):
    """What a request in flight to the coordinator was for."""

    HEARTBEAT = "ConsumerGroupHeartbeat"
    LEAVE = "ConsumerGroupHeartbeat of a member that leaves"
    COMMIT = "OffsetCommit"
    OFFSETS = "OffsetFetch"


class Commit(NamedTuple):
    """A commit that waits to be sent, or for its answer (``OffsetCommitRequestState``)."""

    key: int
    kind: str
    """auto, prepare, close, sync or async."""

    offsets: tuple[OffsetToCommit, ...]
    deadline_us: int | None = None
    attempt: int = 0
    retry_us: int = 0


class InFlight(NamedTuple):
    """One unanswered request to the coordinator."""

    asked: Asked
    broker: int
    deadline_us: int
    commit: Commit | None = None


class OffsetsAsked(NamedTuple):
    """The committed offsets that somebody waits for."""

    partitions: tuple[TopicPartition, ...]
    number: int | None = None
    attempt: int = 0
    retry_us: int = 0


class Generation(NamedTuple):
    """What the coordinator calls this member, in the words of the classic client."""

    id: int
    member_id: str


# -- the client ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClientState:
    """Everything of a client of the consumer protocol but its data plane."""

    member_id: str
    member: Membership = NO_MEMBER
    coordinator: Known | Unknown = NEVER_ASKED
    subscribed: tuple[str, ...] | None = ()
    """Topics of the subscription, or those its pattern matches, sorted; None: unsubscribed."""

    assignment: tuple[TopicPartition, ...] = ()
    awaiting: tuple[TopicPartition, ...] = ()
    """Assigned, but onPartitionsAssigned has not ended: not read yet."""

    pending: frozenset[TopicPartition] = frozenset()
    """About to be given up: not read any more."""

    beat: Beat = NO_BEAT
    poll_due_us: int = 0
    """When the application will have been away from poll for too long."""

    autocommit_us: int = 0
    """When the next automatic commit is due."""

    commits: tuple[Commit, ...] = ()
    """Those that wait to be sent."""

    app: App = OUTSIDE
    slot: Slot | None = None
    events: tuple[Event, ...] = ()
    events_us: int | None = None
    """When the background thread takes them."""

    needed: tuple[Needed, ...] = ()
    in_flight: dict[int, InFlight] = field(default_factory=dict)
    request_timer_us: int | None = None
    offsets_asked: OffsetsAsked | None = None
    reads: Reads = NOTHING_ASKED
    died: Failed | None = None
    """The fatal error that every poll throws."""

    thrown: Failed | None = None
    """What the next poll throws, once."""

    @property
    def metadata(self) -> Metadata:
        """What the client knows of topics and leaders."""
        return self.reads.metadata

    @property
    def generation(self) -> Generation:
        """The member's epoch and id; epoch -1 while it is no member."""
        epoch = self.member.epoch
        return Generation(epoch if epoch > 0 else UNKNOWN_GENERATION, self.member_id)

    def becoming(self, member: Membership) -> ClientState:
        """Return the state with the member changed."""
        return replace(self, member=member)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """What a client is built with; only its data plane ever changes."""

    name: str
    group_id: str
    member_id: str
    """Made up once for each consumer object (a UUID in Java), and kept for its life."""

    settings: ConsumerSettings
    topics: tuple[str, ...] | None = None
    """The subscription, if it is by names."""

    matches: Callable[[str], bool] | None = None
    """Whether a topic name matches the client's own pattern, if it is by that."""

    regex: str | None = None
    """The pattern that the coordinator evaluates (``SubscriptionPattern``), if it is by that."""

    server_assignor: str | None = None
    """``group.remote.assignor``: the assignor it would have the coordinator use."""

    listener: bool = True
    """Whether the application has a rebalance listener, which only it can call."""

    jitter: Callable[[str, int], float]
    """A draw in [0, 1) for (what it is for, when)."""

    lags: Lags = at_once
    """How long its threads take to run."""

    epoch_ms: int
    """Wall clock, in epoch ms, at time 0."""

    fetcher: Fetcher = field(default_factory=Fetcher)
    brokers: tuple[int, ...]
    """The bootstrap list."""

    @property
    def positions(self) -> Positions:
        """Where each assigned partition is read."""
        return self.fetcher.positions
