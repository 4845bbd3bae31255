"""A group as its coordinator would describe it at some event of a run, or at its end.

Put together from what the coordinator told step by step, by the rules by which it describes
itself (``ConsumerGroupDescribe``, ``DescribeGroups``): who is how far, has what, gives up what,
and waits for what.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from assignors.types import TopicPartition

Partitions = tuple[TopicPartition, ...]

ARRIVED = "STABLE"
"""Kafka's name of the state of a member that has all of its target."""

CLASSIC, CONSUMER = "classic", "consumer"

EMPTY, STABLE = "Empty", "Stable"
ASSIGNING, RECONCILING = "Assigning", "Reconciling"
PREPARING_REBALANCE, COMPLETING_REBALANCE = "PreparingRebalance", "CompletingRebalance"
"""Kafka's names of the states of groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """One member: its epoch and state, what it may own, and what its target is.

    In a classic group the epoch is the generation, and nobody has a target.
    """

    consumer: str
    protocol: str = CONSUMER
    """Which it speaks: a group of the consumer protocol may have classic members, too."""

    epoch: int = 0
    state: str = ARRIVED
    assigned: Partitions = ()
    revoking: Partitions = ()
    target: Partitions = ()

    @property
    def missing(self) -> Partitions:
        """What it shall have and does not have yet."""
        return tuple(sorted(set(self.target) - set(self.assigned)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """One group with its members, by name."""

    group: str
    protocol: str
    phase: str
    """The state of a classic group."""

    epoch: int
    """Of a classic group: its generation."""

    target_epoch: int
    assignor: str
    reason: str
    """What raised its epoch last."""

    members: tuple[DescribedMember, ...]
    unowned: Partitions
    """What the last target gave out and nobody has now."""

    since_us: int
    """Since when it is in its state."""

    unserved_us: int
    """How long at most it waited for a new target, in one go, while all its members were classic:
    their heartbeats let nobody compute one."""

    @property
    def state(self) -> str:
        """The state of the group in Kafka's words."""
        if self.protocol == CLASSIC:
            return self.phase
        return state_of(self.epoch, self.target_epoch, self.members)

    @property
    def late(self) -> tuple[DescribedMember, ...]:
        """Members that are not where the last target wants them; of a classic group: none."""
        if self.protocol == CLASSIC:
            return ()
        return tuple(one for one in self.members if not arrived(one, self.target_epoch))


def state_of(epoch: int, target_epoch: int, members: Collection[DescribedMember]) -> str:
    """Return the state of a group of the consumer protocol in Kafka's words."""
    if not members:
        return EMPTY
    if epoch > target_epoch:
        return ASSIGNING
    return STABLE if all(arrived(one, target_epoch) for one in members) else RECONCILING


def arrived(member: DescribedMember, target_epoch: int) -> bool:
    """Say whether a member is where the target wants it."""
    return member.state == ARRIVED and member.epoch == target_epoch
