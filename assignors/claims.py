"""Who had what: the members' claims, and who is believed when they contradict each other.

Source: ``AbstractStickyAssignor.allSubscriptionsEqual`` (spec assignors 1.5 A).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.leader_input import LeaderInput
from assignors.types import NO_GENERATION, Subscription, TopicPartition
from assignors.user_data import Claim

Claims = Mapping[str, Claim]
"""Member to what it says it had, in member order."""


@dataclass(frozen=True, slots=True)
class Owned:
    """What each member is believed to have had."""

    partitions: dict[str, list[TopicPartition]]
    """Member to its partitions of known topics, in the order of its claim."""

    doubly_claimed: set[TopicPartition] = field(default_factory=set)
    """Claimed by two members of one generation; nobody keeps them."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a sticky assignor wants the group to go."""

    partitions: dict[str, list[TopicPartition]]

    transferring: set[TopicPartition]
    """New to their member, and still claimed by another one."""


def subscriptions_equal(group: LeaderInput) -> bool:
    """Say whether Kafka takes all subscriptions for equal.

    Members without topics that come before the first one with topics go unnoticed, and are then
    treated as full members (spec assignors 2.3).
    """
    reference: tuple[str, ...] = ()
    for topics in group.topics_of.values():
        if not reference:
            reference = topics
        elif topics != reference:
            return False
    return True


def highest_generation(claims: Claims, before: int) -> int:
    """Return the highest generation claimed now or known *before*."""
    return max(before, max(map(generation_of, claims.values()), default=before))


def generation_of(claim: Claim) -> int:
    """Return the generation of *claim*, :data:`NO_GENERATION` if it names none."""
    return NO_GENERATION if claim.generation is None else claim.generation


def settle_claims(group: LeaderInput, claims: Claims) -> Owned:
    """Decide for each claimed partition who had it.

    A rival's claim is compared with the generation in the *subscription field* of the last
    claimer, whatever that one's user data says; Kafka does so too (spec assignors 2.4).
    """
    known = group.partition_counts
    claimed = {
        member: [partition for partition in claim.partitions if partition[0] in known]
        for member, claim in claims.items()
    }
    everything: set[TopicPartition] = set()
    for partitions in claimed.values():
        everything.update(partitions)
    if len(everything) == sum(map(len, claimed.values())):
        return Owned(claimed)  # no rivals: the usual case, and the one that has to be fast
    return _settle_rivals(group.subscriptions, claims, claimed)


def _settle_rivals(
    subscriptions: Mapping[str, Subscription],
    claims: Claims,
    claimed: Mapping[str, list[TopicPartition]],
) -> Owned:
    owned = Owned({member: [] for member in claimed})
    last_claimer: dict[TopicPartition, str] = {}
    for member, partitions in claimed.items():
        generation = generation_of(claims[member])
        for partition in partitions:
            rival = last_claimer.get(partition)
            if rival is None:
                owned.partitions[member].append(partition)
                last_claimer[partition] = member
                continue
            rival_generation = subscriptions[rival].generation_id
            if generation < rival_generation:
                continue
            if partition in owned.partitions[rival]:
                owned.partitions[rival].remove(partition)
            if generation == rival_generation:
                owned.doubly_claimed.add(partition)
            else:
                owned.partitions[member].append(partition)
            last_claimer[partition] = member
    return owned
