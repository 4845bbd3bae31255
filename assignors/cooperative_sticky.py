"""The ``cooperative-sticky`` assignor: ``sticky``, but nothing changes hands in one step.

Members keep what they have while they rejoin and say so in their subscription. A partition that
somebody still has is withheld from its new owner; once it is given up, a second rebalance hands
it out. Source: ``CooperativeStickyAssignor`` (KIP-429; spec assignors 1.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assignors.claims import Claims, Target, highest_generation
from assignors.collector import collector_paused
from assignors.leader_input import LeaderInput, read_leader_input
from assignors.sticky import in_given_order, target
from assignors.types import (
    NO_GENERATION,
    Assignment,
    RebalanceProtocol,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)
from assignors.user_data import Claim, decode_cooperative, encode_cooperative


@dataclass(slots=True)
class CooperativeStickyAssignor:
    """One consumer's ``cooperative-sticky`` assignor; it remembers what Kafka's object does."""

    name: str = field(default="cooperative-sticky", init=False)
    rebalance_protocols: tuple[RebalanceProtocol, ...] = field(
        default=(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER), init=False
    )
    max_generation: int = NO_GENERATION
    """The highest generation any member has named in any assignment of this object."""

    _generation: int = NO_GENERATION

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:  # noqa: ARG002 -- the interface passes it
        """Return the generation of this member's last assignment; -1 before the first."""
        return encode_cooperative(self._generation)

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return who gets what now, as Kafka's class does, order of the lists included.

        Raises :class:`AssignorDefectError` where Kafka's class raises or never ends.
        """
        with collector_paused():
            group = read_leader_input(topics, subscriptions)
            claims = read_claims(group)
            self.max_generation = highest_generation(claims, self.max_generation)
            result = target(group, claims, self.max_generation)
            return in_given_order(subscriptions, _without_transferring(result))

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:  # noqa: ARG002 -- the interface passes it
        """Remember the generation, for the next user data."""
        self._generation = generation


def assign_cooperative_sticky(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Return what a new ``cooperative-sticky`` assignor would.

    A joins B, which has all four partitions: B gives two of them up, nobody gets them yet.

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


def read_claims(group: LeaderInput) -> Claims:
    """Return what each member says it has, sorted by topic and number, as the wire brings it."""
    return {
        member: Claim(sorted(subscription.owned_partitions), _generation(subscription))
        for member, subscription in group.subscriptions.items()
    }


def _generation(subscription: Subscription) -> int | None:
    if subscription.generation_id != NO_GENERATION:
        return subscription.generation_id
    return decode_cooperative(subscription.user_data)


def _without_transferring(target: Target) -> dict[str, list[TopicPartition]]:
    """Withhold from each member what another one has to give up first."""
    if not target.transferring:
        return target.partitions
    return {
        member: [partition for partition in partitions if partition not in target.transferring]
        for member, partitions in target.partitions.items()
    }
