"""The ``sticky`` and ``cooperative-sticky`` assignors: balanced, with as few moves as possible.

``sticky`` is eager: members revoke all partitions before they join, so their previous assignment is
in their user data. With ``cooperative-sticky`` members keep their partitions while they rejoin and
list them in their subscription; a partition that is still owned is withheld from its new owner
until a second rebalance.
Source: ``StickyAssignor``, ``CooperativeStickyAssignor``, ``AbstractStickyAssignor`` (KIP-54,
KIP-341, KIP-429).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from assignors.claims import (
    Claim,
    Claims,
    Target,
    decode_cooperative,
    decode_sticky,
    encode_cooperative,
    encode_sticky,
    highest_generation,
    settle_claims,
    subscriptions_equal,
)
from assignors.leader_input import LeaderInput, read_leader_input, read_racks
from assignors.sticky_constrained import assign_constrained
from assignors.types import (
    NO_GENERATION,
    Assignment,
    RebalanceProtocol,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)
from assignors.values import dataclass


@dataclass(slots=True)
class StickyAssignor:
    """One consumer's ``sticky`` assignor; with the state of Kafka's object."""

    name: str = field(default="sticky", init=False)
    rebalance_protocols: tuple[RebalanceProtocol, ...] = field(
        default=(RebalanceProtocol.EAGER,), init=False
    )
    max_generation: int = NO_GENERATION
    """The highest generation in any claim in any assignment of this object."""

    _partitions: tuple[TopicPartition, ...] | None = None
    _generation: int = NO_GENERATION

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:  # noqa: ARG002 -- the interface passes it
        """Return this member's last assignment and its generation; None before the first."""
        if self._partitions is None:
            return None
        return encode_sticky(self._partitions, self._generation)

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return the assignment that Kafka's class makes, order of the lists included.

        Raises :class:`AssignorDefectError` where Kafka's class raises or never ends.
        """
        with collector_paused():
            group = read_leader_input(topics, subscriptions)
            claims = user_data_claims(group)
            self.max_generation = highest_generation(claims, self.max_generation)
            result = target(group, claims, self.max_generation)
            return in_given_order(subscriptions, result.partitions)

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        """Store the partitions and the generation of this member, for its next user data."""
        self._partitions = partitions
        self._generation = generation


def assign_sticky(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Return the assignment of a new ``sticky`` assignor.

    >>> counts = {"t0": 1, "t1": 2, "t2": 3}
    >>> from assignors.types import Subscription
    >>> members = {"C0": ("t0",), "C1": ("t0", "t1"), "C2": ("t0", "t1", "t2")}
    >>> given = assign_sticky(
    ...     Topics(partition_counts=counts),
    ...     {member: Subscription(topics=topics) for member, topics in members.items()},
    ... )
    >>> for member, partitions in given.items():
    ...     print(member, *partitions)
    C0 t0-0
    C1 t1-0 t1-1
    C2 t2-0 t2-1 t2-2
    """
    return StickyAssignor().assign(topics, subscriptions)


def user_data_claims(group: LeaderInput) -> Claims:
    """Return the claim in the user data of each member."""
    names: dict[bytes, str] = {}
    return {
        member: decode_sticky(subscription.user_data, names)
        for member, subscription in group.subscriptions.items()
    }


def target(group: LeaderInput, claims: Claims, max_generation: int) -> Target:
    """Return the target of the constrained path if all subscriptions are equal, else the general."""
    if not group.subscriptions:
        return Target({}, set())
    owned = settle_claims(group, claims)
    racks = read_racks(group)
    if subscriptions_equal(group):
        return assign_constrained(group, owned, racks)
    from assignors.sticky_general import (  # noqa: PLC0415  unequal subscriptions are rare
        assign_general,
        stale_owners,
    )

    return assign_general(group, owned, stale_owners(claims, max_generation), racks)


def in_given_order(
    subscriptions: Subscriptions, assigned: dict[str, list[TopicPartition]]
) -> Assignment:
    """Return *assigned* with the members as the caller listed them."""
    return {member: tuple(assigned[member]) for member in subscriptions}


@dataclass(slots=True)
class CooperativeStickyAssignor:
    """One consumer's ``cooperative-sticky`` assignor; with the state of Kafka's object."""

    name: str = field(default="cooperative-sticky", init=False)
    rebalance_protocols: tuple[RebalanceProtocol, ...] = field(
        default=(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER), init=False
    )
    max_generation: int = NO_GENERATION
    """The highest generation in any claim in any assignment of this object."""

    _generation: int = NO_GENERATION

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:  # noqa: ARG002 -- the interface passes it
        """Return the generation of this member's last assignment; -1 before the first."""
        return encode_cooperative(self._generation)

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return the assignment that Kafka's class makes, order of the lists included.

        Raises :class:`AssignorDefectError` where Kafka's class raises or never ends.
        """
        with collector_paused():
            group = read_leader_input(topics, subscriptions)
            claims = owned_claims(group)
            self.max_generation = highest_generation(claims, self.max_generation)
            result = target(group, claims, self.max_generation)
            return in_given_order(subscriptions, _without_transferring(result))

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:  # noqa: ARG002 -- the interface passes it
        """Store the generation, for the next user data."""
        self._generation = generation


def assign_cooperative_sticky(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Return the assignment of a new ``cooperative-sticky`` assignor.

    A joins B, which owns all four partitions: B revokes two of them, A does not get them yet.

    >>> had = tuple(TopicPartition("t", number) for number in range(4))
    >>> both = {
    ...     "A": Subscription(topics=("t",)),
    ...     "B": Subscription(topics=("t",), owned_partitions=had, generation_id=1),
    ... }
    >>> for member, given in assign_cooperative_sticky(
    ...     Topics(partition_counts={"t": 4}), both
    ... ).items():
    ...     print(member, *given)
    A
    B t-0 t-1
    """
    return CooperativeStickyAssignor().assign(topics, subscriptions)


def owned_claims(group: LeaderInput) -> Claims:
    """Return the owned partitions of each member, sorted by topic and number as they arrive."""
    return {
        member: Claim(sorted(subscription.owned_partitions), _claimed_generation(subscription))
        for member, subscription in group.subscriptions.items()
    }


def _claimed_generation(subscription: Subscription) -> int | None:
    if subscription.generation_id != NO_GENERATION:
        return subscription.generation_id
    return decode_cooperative(subscription.user_data)


def _without_transferring(target: Target) -> dict[str, list[TopicPartition]]:
    """Return the target without the partitions that another member has to revoke first."""
    if not target.transferring:
        return target.partitions
    return {
        member: [partition for partition in partitions if partition not in target.transferring]
        for member, partitions in target.partitions.items()
    }


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic collector while a large assignment is made.

    An assignment makes one tuple per partition and no cycle. Measured on 1,000,000 partitions, the
    collector takes a third of the time of a fresh assignment and finds nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
