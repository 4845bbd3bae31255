"""The group, as its coordinator sees it."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """``replaced``: the member id a static member took over from, else empty.

    ``protocol``: what the member speaks, ``classic`` or ``consumer``.
    """

    group: str
    consumer: str
    member_id: str
    replaced: str = ""
    protocol: str = "classic"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    """The group dropped a member; ``why`` is one of ``protocols.facts.Departure``, in words."""

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
    """Who owns what in this generation, by consumer.

    Of a group of the consumer protocol: every member has reached the target of this group epoch.
    """

    group: str
    generation: int
    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEpochRaised:
    """What the assignment of a group of the consumer protocol depends on has changed.

    ``consumer``: whose heartbeat or departure raised it; empty: a look-up of patterns.
    """

    group: str
    epoch: int
    reason: str
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetComputed:
    """The coordinator decided who shall have what; only members whose target is new are told."""

    group: str
    epoch: int
    assignor: str
    changed: tuple[tuple[str, tuple[TopicPartition, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMoved:
    """A member of a group of the consumer protocol took a step towards its target.

    ``state``: Kafka's name of how far it is; ``revoking``: what it was told to give up.
    """

    group: str
    consumer: str
    epoch: int
    state: str
    assigned: tuple[TopicPartition, ...]
    revoking: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConverted:
    """A group went over to the other protocol, with its offsets; *consumer* came or went.

    ``protocol``: ``consumer`` or ``classic``, what the group is from now on. ``generation``: the
    last generation or epoch, from which the other count goes on; ``members``: who went along, all
    of the classic protocol. A group without members begins its count anew.
    """

    group: str
    protocol: str
    generation: int
    consumer: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEmptied:
    """The last member is gone."""

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
