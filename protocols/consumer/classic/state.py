"""The state of a classic client, and its configuration.

Three parties act inside one consumer. The *application thread* runs poll, commits and listener calls,
one at a time (:data:`~protocols.consumer.classic.phases.App`). The *heartbeat thread* exists in a
completing or stable member (:class:`Beat`). *Responses* stay in ``inbox`` until one of the two pumps it. A rebalance is first prepared
(``onJoinPrepare``); ``future`` has the result of its join until the application thread takes it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from assignors.types import Assignor, RebalanceProtocol, TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Failed
from protocols.consumer.classic.phases import OUTSIDE, UNPREPARED, App, JoinFuture, Prepare
from protocols.consumer.clients import JAVA, ClientProfile
from protocols.consumer.fetching import Fetcher
from protocols.consumer.lookup import NEVER_LOOKED_UP, Known, Unknown
from protocols.consumer.positions import Positions
from protocols.consumer.reader import NOTHING_ASKED, Metadata, PollClock, Reads
from protocols.facts import CommitKind
from protocols.messages import (
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
    Envelope,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import ClientSettings, ConsumerSettings

if TYPE_CHECKING:
    from protocols.consumer.offset_store import OffsetStore


class Membership(enum.Enum):
    """The member's state (``AbstractCoordinator.MemberState``): which requests it may send."""

    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "preparing rebalance"
    COMPLETING_REBALANCE = "completing rebalance"
    STABLE = "stable"
    USER_ASSIGNED = "no member: the application has assigned partitions (assign())"


class Generation(NamedTuple):
    """Generation and member id from the coordinator (``AbstractCoordinator.Generation``)."""

    id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    protocol: str | None = None

    @property
    def lost(self) -> bool:
        """Whether the member has lost its membership: its partitions are lost, not revoked."""
        return self.id == UNKNOWN_GENERATION or self.member_id == UNKNOWN_MEMBER_ID


NO_GENERATION = Generation()


@dataclass(frozen=True, slots=True)
class Beat:
    """The enabled heartbeat thread; it runs at ``phase_us`` plus multiples of the back-off."""

    phase_us: int
    due_us: int
    session_us: int
    """When the client's copy of its session expires; then the coordinator counts as unknown."""

    assigned_us: int | None = None  # when the application got its partitions
    notices_us: int | None = None  # when a member that was removed checks its ownership


class Api(enum.Enum):
    """Kinds of requests to the coordinator."""

    JOIN = "JoinGroup"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"
    OFFSETS = "OffsetFetch"
    LEAVE = "LeaveGroup"


class InFlight(NamedTuple):
    """One unanswered request to the coordinator."""

    api: Api
    broker: int
    deadline_us: int
    generation: Generation
    commit: tuple[OffsetToCommit, ...] = ()
    kind: CommitKind = CommitKind.SYNC
    """The kind of a commit; unused for other requests."""


class PendingOffsetFetch(NamedTuple):
    """An OffsetFetch in flight, while no other partitions are needed (``PendingCommittedOffsetRequest``)."""

    number: int
    generation: Generation
    partitions: tuple[TopicPartition, ...]


class OffsetsFailure(NamedTuple):
    """Why these partitions got no position; poll throws it in this generation."""

    failed: Failed
    generation: Generation
    partitions: tuple[TopicPartition, ...]


Snapshot = tuple[tuple[str, int, tuple[frozenset[str], ...]], ...]
"""Topic, partition count and racks of each partition, as compared by the leader (``MetadataSnapshot``)."""


class Reconnect(NamedTuple):
    """The connection to a coordinator that broke last, and when it may be opened again."""

    broker: int
    ready_us: int
    failures: int
    """How often it broke without a response in between."""


NEVER_BROKEN = Reconnect(-1, 0, 0)


@dataclass(frozen=True)  # without slots: every step copies it, which takes a third of the time
class ClientState:
    """The whole state of a classic client, except its data plane."""

    membership: Membership = Membership.UNJOINED
    generation: Generation = NO_GENERATION
    coordinator: Known | Unknown = NEVER_LOOKED_UP
    reconnect: Reconnect = NEVER_BROKEN

    rejoin: str | None = ""
    """Why a rejoin is needed, None if it is not (``rejoinNeeded``, ``rejoinReason``)."""

    prepare: Prepare = UNPREPARED
    future: JoinFuture = None
    subscribed: tuple[str, ...] = ()
    """Topics of the subscription, or those its pattern matches; sorted."""

    joined_with: tuple[str, ...] | None = None
    """The topics last sent in a JoinGroup (``joinedSubscription``)."""

    snapshot: Snapshot = ()
    leader_snapshot: Snapshot | None = None
    """On the leader: the snapshot of its last assignment."""

    own_snapshot: Snapshot | None = None
    """Where every member watches: what it last compared (``rkcg_subscribed_topics``)."""

    group_topics: frozenset[str] = frozenset()
    """On the leader: the topics of all members, which it watches."""

    join_us: int = 0
    """When the next JoinGroup may be sent; NEVER: a back-off begins behind the listener call."""

    losses: int = 0
    """How often the membership was lost without a rebalance in between (some clients count it)."""

    assignment: tuple[TopicPartition, ...] = ()
    revoking: bool = False
    """The eager prepare has begun: no more records of assigned partitions are returned."""

    beat: Beat | None = None
    last_beat_us: int | None = None  # of a client whose clock of heartbeats runs on in joins
    failed_beats: int = 0  # in a row, across joins
    autocommit_us: int = 0
    """When the next automatic commit is due."""

    app: App = OUTSIDE
    inbox: tuple[Envelope, ...] = ()
    in_flight: dict[int, InFlight] = field(default_factory=dict)
    request_timer_us: int | None = None
    pending_commits: tuple[tuple[tuple[OffsetToCommit, ...] | None, CommitKind], ...] = ()
    """Commits that wait for a lookup, a join or the commits before them.

    An automatic one has no offsets yet: it covers what has been returned when it is sent.
    """

    callbacks: tuple[tuple[InFlight, int, ErrorCode], ...] = ()
    """Asynchronous commits that ended and whose callbacks have not run."""

    pending_offset_fetch: PendingOffsetFetch | None = None
    """The OffsetFetch in flight for new partitions."""

    offsets_failure: OffsetsFailure | None = None
    """The exception of the next poll, if it still needs the same positions."""

    offsets_retry_us: int = 0
    offsets_attempt: int = 0
    reads: Reads = NOTHING_ASKED
    heartbeat_failure: Failed | None = None
    """The error that ended the heartbeat thread (``failureCause``); the next poll throws it."""

    commit_fenced: Failed | None = None
    """The error that every later call throws (``asyncCommitFenced``)."""

    @property
    def metadata(self) -> Metadata:
        """The topics and leaders that the client knows."""
        return self.reads.metadata

    @property
    def shown_generation(self) -> int:
        """The generation that a listener call sees; -1 after the membership was lost."""
        return self.generation.id


def punctual(now: int) -> int:
    """Return 0, the lateness of a thread that runs as soon as it is woken."""
    del now
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """The configuration of a client; only its data plane (fetcher, clock) changes."""

    name: str
    group_id: str
    settings: ConsumerSettings
    assignors: tuple[Assignor, ...]
    protocol: RebalanceProtocol
    topics: tuple[str, ...] | None
    """The subscription; None with a pattern."""

    matches: Callable[[str], bool] | None
    """Whether a topic name matches the pattern; None with topics."""

    jitter: Callable[[str, int], float]
    """A draw in [0, 1) by purpose and time (us)."""

    epoch_ms: int  # the wall clock at time 0
    late: Callable[[int], int] = punctual
    """The minimum lateness of a heartbeat in microseconds, by the time when it is due."""

    fetcher: Fetcher = field(default_factory=Fetcher)
    clock: PollClock = field(default_factory=PollClock)
    brokers: tuple[int, ...]  # the bootstrap list
    assigned: tuple[TopicPartition, ...] | None = None
    """The partitions that the application assigns; None: the group does."""

    profile: ClientProfile = JAVA
    own: ClientSettings = field(default_factory=ClientSettings)
    store: OffsetStore | None = None  # what automatic commits cover; None: all positions

    def __post_init__(self) -> None:
        if self.topics is None and self.matches is None:
            raise ValueError("a consumer subscribes to topics or to a pattern, not to neither")

    def assignor(self, name: str | None) -> Assignor | None:
        """Return the configured assignor of this name, if there is one (``lookupAssignor``)."""
        return next((assignor for assignor in self.assignors if assignor.name == name), None)

    @property
    def commits_revoked(self) -> bool:
        """Whether partitions are committed automatically before they are given away, and in close().

        A callback of the application takes the place of that commit of franz-go (``defaultRevoke``).
        """
        return self.settings.enable_auto_commit and not self.own.on_partitions_revoked

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long (ms) the coordinator waits for the member in a rebalance."""
        own_ms = self.profile.rebalance_timeout_ms or self.own.rebalance_timeout_ms
        return own_ms or self.settings.max_poll_interval_ms

    @property
    def positions(self) -> Positions:
        """Where each assigned partition is read."""
        return self.fetcher.positions
