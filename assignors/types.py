"""The values of every assignor: partitions, subscriptions, topic metadata, assignments.

Names follow ``org.apache.kafka.clients.consumer.ConsumerPartitionAssignor``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from assignors.values import dataclass


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


partition_of_pair: Callable[[tuple[str, int]], TopicPartition] = partial(
    tuple.__new__, TopicPartition
)
"""Make a partition of (topic, number) without a Python call; meant for a million at a time."""


class RebalanceProtocol(enum.IntEnum):
    """How members hand partitions over (KIP-429); the higher value is the newer protocol."""

    EAGER = 0
    COOPERATIVE = 1


NO_GENERATION = -1
"""The generation of a claim without a generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The subscription of one member in its JoinGroup request (consumer protocol, version 3)."""

    topics: tuple[str, ...]
    """In the order the member listed them; a topic may not exist."""

    user_data: bytes | None = None
    """Bytes from the member's assignor for the leader."""

    owned_partitions: tuple[TopicPartition, ...] = ()
    """The partitions that a cooperative member still owns; empty for eager members."""

    generation_id: int = NO_GENERATION
    """The generation in which ``owned_partitions`` were given."""

    rack_id: str | None = None
    group_instance_id: str | None = None
    """Known to the leader from the JoinGroup response, not part of the bytes."""


Subscriptions = Mapping[str, Subscription]
"""Member id to subscription, in the order of the JoinGroup response."""

Assignment = dict[str, tuple[TopicPartition, ...]]
"""Member id to its partitions; every member of the group has an entry."""


class Assigned(NamedTuple):
    """What an assignor gives to one member, if it also sends bytes to that member's assignor.

    Source: ``ConsumerPartitionAssignor.Assignment``.
    """

    partitions: Sequence[tuple[str, int]]
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topic metadata that an assignor sees."""

    partition_counts: Mapping[str, int]
    """Topic to number of partitions; 0 or absent means no metadata."""

    racks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Topic to the racks of each partition's replicas; absent: no racks known."""

    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    """Topic to its 16-byte id; absent: the name-based (version 3) UUID of its name."""

    same_for_all: bool | None = None
    """Whether the coordinator counts all subscriptions as equal; None: derive it from them."""


@runtime_checkable
class Assignor(Protocol):
    """The plug-in interface; an object belongs to one consumer and may keep state.

    Source: ``ConsumerPartitionAssignor`` (KIP-429, KIP-792). A plug-in may also set
    ``exclusive = False`` to declare that it assigns a partition to several members on purpose.
    """

    @property
    def name(self) -> str:
        """The name members vote for."""

    @property
    def rebalance_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The protocols it can run under."""

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:
        """Return the bytes for the leader that each JoinGroup of this member carries."""

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return the partitions of each member; called on the leader, once per generation.

        A value may be an :class:`Assigned` instead: partitions, and bytes for the member's assignor.
        """

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        """Take note of the partitions that this member was assigned, and the generation.

        If the leader's assignor has sent bytes for this member, they are the third argument.
        """


AssignFunction = Callable[[Topics, Subscriptions], Assignment]


@dataclass(frozen=True, slots=True)
class FunctionAssignor:
    """An assignor without state or user data: a function of topics and subscriptions."""

    name: str
    function: AssignFunction
    rebalance_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)
    exclusive: bool = True
    """False declares that it assigns a partition to several members on purpose."""

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:  # noqa: ARG002 -- the interface passes it
        """Return None: the leader needs no user data."""
        return None

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return the result of the function."""
        return self.function(topics, subscriptions)

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        """Do nothing: there is no state."""
