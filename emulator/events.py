"""The one vocabulary of what happened: written by the world, read by everything that counts.

An :class:`Event` is a time, the event that caused it, and what happened. A real Kafka's
history written in these words gives a real ledger by the same code. Times are microseconds
since the run began; offsets are record offsets of the topic; ranges are half open.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from assignors.types import TopicPartition

Offsets = tuple[tuple[TopicPartition, int], ...]


# -- the run, its topics, what is done to it -------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The first event."""

    scenario: str
    seed: int
    kafka: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The last event; ``log_ends``: the end of each partition's log, deleted ones left out."""

    log_ends: Offsets

    positions: tuple[tuple[str, TopicPartition, int], ...] = ()
    """For each epoch still open: its consumer, its partition, the end of what poll handed out.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreated:
    """``log_starts``: the first offset of each partition (0 unless retention has moved it)."""

    topic: str
    topic_id: str
    log_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsAdded:
    topic: str
    topic_id: str
    partitions: int
    """How many there are from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDeleted:
    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultBegan:
    """A fault or act of the scenario took effect; the root of what follows."""

    fault: str
    """Its id in the scenario."""

    verb: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEnded:
    fault: str
    verb: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDown:
    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUp:
    broker: int


# -- consumers: processes, owners, work ------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStarted:
    """A process began; ``incarnation`` counts its starts from 1."""

    consumer: str
    group: str
    incarnation: int
    instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStopped:
    """A process ended; ``how``: ``crashed``, ``killed``, ``closed`` or ``failed``."""

    consumer: str
    group: str
    how: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPaused:
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerResumed:
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerCalled:
    """The rebalance listener ran; ``call``: ``revoked``, ``assigned`` or ``lost``."""

    consumer: str
    group: str
    generation: int
    call: str
    partitions: tuple[TopicPartition, ...]
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOpened:
    """A consumer (re)initialised its position: an ownership epoch begins.

    ``source``: ``committed``, ``earliest``, ``latest``, ``by_duration`` or ``seek``.
    ``why``: for a reset ``no offset``, ``expired``, ``deleted`` or ``out of range``.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    offset: int
    source: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """The handler returned for the records ``first`` up to ``next_offset``.

    One event may stand for many polls; it is written before anything that reads progress.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    first: int
    next_offset: int
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartlyProcessed:
    """One record was under work when its process died."""

    consumer: str
    group: str
    partition: TopicPartition
    offset: int
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProcessed:
    """Records were handed out and let go; ``why``: ``skipped`` or ``discarded``."""

    consumer: str
    group: str
    partition: TopicPartition
    first: int
    next_offset: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochClosed:
    """A consumer stopped processing a partition for good.

    ``processed`` is the end of what it finished, ``position`` the end of what poll handed
    out. ``why``: ``revoked``, ``lost``, ``crashed``, ``closed``, ``failed`` or ``reopened``.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    processed: int
    position: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What one poll handed out; written only when asked for, not part of the digest."""

    consumer: str
    group: str
    generation: int
    ranges: tuple[tuple[TopicPartition, int, int], ...]


# -- commits ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSent:
    """A consumer asked for offsets to be stored.

    ``kind``: ``auto``, ``prepare``, ``close``, ``sync`` or ``async``. ``processed`` is, in the
    order of ``offsets``, how far the handler was then. A commit refused by the client itself
    was never sent: it has a :class:`CommitSent` and at once a :class:`CommitRefused`.
    """

    consumer: str
    group: str
    generation: int
    commit: str
    """Names the commit in the events that follow it."""

    kind: str
    offsets: Offsets
    processed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAccepted:
    """The coordinator appended it at ``log_offset`` of its offsets partition."""

    consumer: str
    group: str
    generation: int
    commit: str
    offsets: Offsets
    log_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """``by``: ``coordinator`` or ``client``; ``error`` in Kafka's spelling."""

    consumer: str
    group: str
    generation: int
    commit: str
    error: str
    by: str
    offsets: Offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAnswered:
    """The consumer learned the fate of its commit; ``error`` is ``NONE`` for success."""

    consumer: str
    group: str
    commit: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsDropped:
    """Committed offsets vanished; ``why``: ``expired``, ``deleted`` or ``topic deleted``."""

    group: str
    partitions: tuple[TopicPartition, ...]
    why: str


# -- the group, as its coordinator sees it ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """``replaced``: the member id a static member took over from, else empty."""

    group: str
    consumer: str
    member_id: str
    replaced: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    """``why``: left, session expired, did not rejoin in time, did not sync in time, …"""

    group: str
    consumer: str
    member_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceStarted:
    """The join phase began; ``generation`` is the one that ends."""

    group: str
    generation: int
    reason: str
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPhaseEnded:
    """A new generation has its members; the leader now computes the assignment."""

    group: str
    generation: int
    protocol: str
    leader: str
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStabilised:
    """Who owns what in this generation, by consumer."""

    group: str
    generation: int
    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEmptied:
    group: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentWarning:
    """An assignor gave a partition twice without declaring ``exclusive = False``."""

    group: str
    generation: int
    assignor: str
    partition: TopicPartition
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorFailed:
    """A built-in assignor failed as Kafka's own class does."""

    group: str
    consumer: str
    assignor: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMoved:
    """A group's coordinator changed; ``loaded_us`` is how long the load took."""

    group: str
    broker: int
    generation: int
    loaded_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDropped:
    """A consumer let go of the group by itself or was told to."""

    consumer: str
    group: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLost:
    """A request or response never arrived; ``commit``: of which commit, if it was one."""

    kind: str
    sender: str
    receiver: str
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """One batch was appended to an offsets partition; ``records`` by type name."""

    log_partition: int
    group: str
    log_offset: int
    records: tuple[tuple[str, int], ...]
    size: int
    """Bytes of keys and values."""


# -- samples ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSampled:
    """At a sampling instant, for each partition of a group's topics, in one fixed order."""

    group: str
    partitions: tuple[TopicPartition, ...]
    log_ends: tuple[int, ...]
    committed: tuple[int, ...]
    """-1 where nothing is committed."""

    processed: tuple[int, ...]
    """How far its present or last owner has come; -1 where nobody ever owned it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsCounted:
    """How many requests of each kind the brokers received since the last such event."""

    since_us: int
    counts: tuple[tuple[str, int], ...]


What = (
    RunStarted
    | RunEnded
    | TopicCreated
    | PartitionsAdded
    | TopicDeleted
    | FaultBegan
    | FaultEnded
    | BrokerDown
    | BrokerUp
    | ConsumerStarted
    | ConsumerStopped
    | ConsumerPaused
    | ConsumerResumed
    | ListenerCalled
    | EpochOpened
    | Processed
    | PartlyProcessed
    | NotProcessed
    | EpochClosed
    | Polled
    | CommitSent
    | CommitAccepted
    | CommitRefused
    | CommitAnswered
    | OffsetsDropped
    | MemberAdded
    | MemberRemoved
    | RebalanceStarted
    | JoinPhaseEnded
    | GroupStabilised
    | GroupEmptied
    | AssignmentWarning
    | AssignorFailed
    | CoordinatorMoved
    | ClientDropped
    | MessageLost
    | Appended
    | LagSampled
    | RequestsCounted
)


class Event(NamedTuple):
    """One thing that happened."""

    id: int
    """Counts from 0 in order of writing; times never fall along it."""

    at_us: int
    cause: int | None
    """Id of the event that made this one happen, if one did."""

    what: What


_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in get_args(What)
}


def values_of(what: What) -> dict[str, Any]:
    """Return the fields of what happened, in order of definition."""
    return {name: getattr(what, name) for name in _FIELDS[type(what)]}
