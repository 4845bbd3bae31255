"""The group, as its coordinator sees it."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """``replaced``: the member id a static member took over from, else empty."""

    group: str
    consumer: str
    member_id: str
    replaced: str = ""


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
    """Who owns what in this generation, by consumer."""

    group: str
    generation: int
    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...]


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
