"""Facts: what a machine reports, the content of Kafka's own log lines as values.

A fact changes no state. Facts about a group's members, its rebalances and its commits are also the
events of a run: the host adds what a machine does not know (``consumer``, ``consumers``, the name
of a ``commit``), and the fields that only a machine's caller needs are left out
(:func:`protocols.values.recorded`). The order of the other fields is the order in which events are
written.
"""

from __future__ import annotations

import enum

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.messages import OffsetToCommit
from protocols.values import NOT_REPLACED, recorded_if_set, unrecorded


class Departure(enum.StrEnum):
    """Why a member left its group."""

    LEFT = "left"
    EXPIRED = "session expired"
    DID_NOT_REJOIN = "did not rejoin in time"
    DID_NOT_SYNC = "did not sync in time"
    REPLACED = "replaced by the same instance"
    GROUP_FULL = "group is full"
    DID_NOT_REVOKE = "did not give partitions up in time"
    REMOVED = "removed by an administrator"


class CommitKind(enum.StrEnum):
    """Which commit it is.

    ``PREPARE`` and ``CLOSE``: by auto-commit, before a rebalance or a revocation, and in ``close()``.
    ``DUAL``: to ZooKeeper, of offsets that Kafka has accepted. ``ADMIN``: an administrator's reset.
    """

    AUTO = "auto"
    PREPARE = "prepare"
    CLOSE = "close"
    SYNC = "sync"
    ASYNC = "async"
    DUAL = "dual"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """A member entered its group."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    consumer: str = ""
    member_id: str
    replaced: str = ""
    """The member id that it took over from (a restart of a static member); empty: none."""

    protocol: str = "classic"
    """``classic`` or ``consumer``; a group of the consumer protocol may have members of both."""
    instance_id: str | None = unrecorded(None)
    client: str = unrecorded("")
    """The client id in the header of its request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    """A member left its group, or was removed."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    consumer: str = ""
    member_id: str
    why: str
    """A :class:`Departure`; in events its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceStarted:
    """A group entered PreparingRebalance."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    generation: int
    """The generation that ends."""

    reason: str
    """The text of the coordinator's log."""

    consumer: str = ""
    member_id: str = unrecorded("")
    """The member whose join, departure or change began it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPhaseEnded:
    """A generation began with the members that joined in time; its leader assigns next."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    generation: int
    protocol: str
    """The assignor's name."""

    leader: str
    """A member id; in events the name of a consumer."""

    consumers: tuple[str, ...] = ()
    members: tuple[str, ...] = unrecorded(())
    """Member ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStabilised:
    """The assignment of a generation, handed out and durable.

    Of a group of the consumer protocol: every member has reached the target of this group epoch.
    """

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    generation: int
    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...]
    """By member id; in events by consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEmptied:
    """The last member left."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConverted:
    """A group migrated to the other protocol, with its committed offsets (KIP-848)."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    protocol: str
    """``consumer`` or ``classic``: the protocol of the group from now on."""

    generation: int
    """The last generation or group epoch, from which the other count continues; without members
    the new count starts again."""

    consumer: str = ""
    """The consumer that joined or left."""

    members: tuple[str, ...] = ()
    """The consumers that stay members, all of the classic protocol."""
    member_id: str = unrecorded("")
    """The member that joined or left; empty: one that has no id yet."""

    client: str = unrecorded("")
    """The client id of the member that joined; empty: a member left."""

    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...] = unrecorded(())
    """The members that stay, by member id, each with its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEpochRaised:
    """A consumer group needs a new target assignment because its input changed (KIP-848)."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    epoch: int
    reason: str
    consumer: str = ""
    """The consumer whose heartbeat or departure raised it; empty: a refresh of regular expressions."""
    member_id: str = unrecorded("")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetComputed:
    """The coordinator computed the target assignment of a consumer group."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    epoch: int
    assignor: str
    changed: tuple[tuple[str, tuple[TopicPartition, ...]], ...]
    """The whole new targets by member id; in events by consumer, and their ids if one has several."""
    member_ids: tuple[str, ...] = recorded_if_set(())


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMoved:
    """A member of a consumer group took a step towards its target."""

    group: str
    replaced_broker: int = recorded_if_set(NOT_REPLACED)
    consumer: str = ""
    epoch: int
    state: str
    """A name of Kafka's ``MemberState`` of the coordinator."""

    assigned: tuple[TopicPartition, ...]
    revoking: tuple[TopicPartition, ...]
    """Partitions that it has to revoke."""
    member_id: str = unrecorded("")
    previous_epoch: int = unrecorded(-1)


Offsets = tuple[tuple[TopicPartition, int], ...]
"""Each partition with an offset in its log, in an order that the event says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSent:
    """A consumer sent a commit; ``processed``: the progress of its handler, in order of ``offsets``.

    ``commit`` names it in the events that follow. A commit that the client itself refuses has this
    fact, too, and at once a :class:`CommitRefused`.
    """

    consumer: str = ""
    group: str = ""
    generation: int
    commit: str = ""
    kind: str
    """A :class:`CommitKind`; in events its text."""

    offsets: Offsets
    processed: tuple[int, ...] = ()
    correlation_id: int = unrecorded(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAccepted:
    """The coordinator accepted a commit and appended it to its offsets partition.

    ``log_offset``, ``high_watermark``, ``leader_epoch``, ``broker`` and ``log_partition`` are those
    of the append; -1: not known.
    """

    consumer: str = ""
    group: str
    generation: int
    commit: str = ""
    offsets: Offsets
    log_offset: int = -1
    high_watermark: int = -1
    leader_epoch: int = -1
    broker: int = -1
    log_partition: int = -1
    member_id: str = unrecorded("")
    client: str = unrecorded("")
    correlation_id: int = unrecorded(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """A commit, or some of its partitions, was refused by the ``coordinator`` or the ``client``."""

    consumer: str = ""
    group: str = ""
    generation: int
    commit: str = ""
    error: str
    by: str = "coordinator"
    offsets: Offsets
    kind: str = unrecorded("")
    member_id: str = unrecorded("")
    client: str = unrecorded("")
    correlation_id: int = unrecorded(-1)
    requested: tuple[OffsetToCommit, ...] = unrecorded(())


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAnswered:
    """The consumer learned the outcome of its commit; ``error`` is ``NONE`` for success."""

    consumer: str = ""
    group: str = ""
    commit: str = ""
    error: str
    kind: str = unrecorded("")
    correlation_id: int = unrecorded(-1)
    requested: tuple[OffsetToCommit, ...] = unrecorded(())


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsDropped:
    """Committed offsets were removed; ``why``: ``expired``, ``deleted`` or ``topic deleted``."""

    group: str
    partitions: tuple[TopicPartition, ...]
    why: str
    members: int = -1
    """How many members the group had then; -1: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoaded:
    """A coordinator loaded a group from the log."""

    group: str
    generation: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOpened:
    """A client (re)initialised where it reads a partition: an ownership epoch begins.

    ``source``: ``committed``, ``earliest``, ``latest``, ``by_duration``, ``seek``, or
    ``truncated``: reset to the offset at which the leader's log diverged from the records read;
    ``why``: for a reset ``no offset``, ``out of range`` or ``truncated``, in events also
    ``expired`` or ``deleted``; else empty.
    """

    consumer: str = ""
    group: str = ""
    generation: int = -1
    partition: TopicPartition
    offset: int
    source: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorFailed:
    """The assignor of the leader, or of the coordinator, raised or would never have returned."""

    group: str = ""
    consumer: str = ""
    assignor: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentWarning:
    """The leader's assignor assigned a partition twice without ``exclusive = False``."""

    group: str = ""
    generation: int
    assignor: str
    partition: TopicPartition
    consumers: tuple[str, ...] = ()
    member_ids: tuple[str, ...] = unrecorded(())


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDropped:
    """A client left its group by itself: its poll interval expired, or an error removed it."""

    consumer: str = ""
    group: str = ""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorLost:
    """The client no longer knows its coordinator and looks it up."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStateChanged:
    """A client of the consumer protocol changed the state of its membership.

    ``before`` and ``after``: names of ``MemberState`` of the Java client, as its log has them.
    """

    member_id: str
    epoch: int
    before: str
    after: str


Fact = (
    MemberAdded
    | MemberRemoved
    | RebalanceStarted
    | JoinPhaseEnded
    | GroupStabilised
    | GroupEmptied
    | GroupConverted
    | GroupEpochRaised
    | TargetComputed
    | MemberMoved
    | CommitAccepted
    | CommitRefused
    | OffsetsDropped
    | GroupLoaded
    | EpochOpened
    | CommitSent
    | CommitAnswered
    | AssignorFailed
    | AssignmentWarning
    | ClientDropped
    | CoordinatorLost
    | ClientStateChanged
)
