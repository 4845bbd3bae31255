"""A group of the consumer protocol and its members: exactly what the offsets log says of them.

Every value here is made by ``replay.py`` alone, live and at load; what a coordinator forgets
when it moves is in ``soft.py``. Beside the records a group keeps indexes of them (who owns
which partition, who asks for which topic), so that a heartbeat never walks all members.

Epochs: the *group epoch* counts changes of what an assignment depends on; the *target epoch*
is the group epoch for which the target was computed; a *member epoch* is the target epoch that
the member has reached. They never fall.

Source: ``ConsumerGroup``, ``ConsumerGroupMember``, ``Assignment``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from immutables import Map

from assignors.types import TopicPartition
from protocols.groups.topics import TopicsImage
from protocols.java_maps import NOTHING, TimelineMap
from protocols.messages import TopicPartitions
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
)

NEW_GROUP_EPOCH: Final = 1
"""Group and target epoch of a group before its first record 3 (0 before 4.3)."""

LEFT_EPOCH: Final = -1
"""Member epoch of a member whose current assignment was deleted."""

AWAY_EPOCH: Final = -2
"""Member epoch of a static member that left and means to come back."""

NO_TARGET_EPOCH: Final = -1
"""Target epoch of a group that is being deleted."""

AssignedEpochs = Mapping[str, Mapping[int, int]]
"""Topic id to partition to assignment epoch: the target epoch at which it was given.

Never changed in place; topics and partitions stand in the order of Kafka's hash maps.
"""

TargetPartitions = Mapping[str, tuple[int, ...]]
"""Topic id to partitions: what a member shall have. In the order of the record."""


class MemberState(enum.IntEnum):
    """How far a member is on its way to its target; the number is that of its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It was told to give partitions up and has not confirmed it."""

    UNRELEASED_PARTITIONS = 2
    """Some of its target is still with other members."""

    UNKNOWN = 127
    """A later Kafka wrote a state that this one does not know."""


class GroupState(enum.StrEnum):
    """A group's state, as Kafka shows it to administrators."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"
    """There is no such group."""


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """What one member has: the content of record 8."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: AssignedEpochs = field(default_factory=dict)
    """What it may own now, without what it has to give up (``assignedPartitions``)."""

    revoking: AssignedEpochs = field(default_factory=dict)
    """What it was told to give up and may still own (``partitionsPendingRevocation``)."""


NOTHING_ASSIGNED: Final = CurrentAssignment()

NO_METADATA: Final = ConsumerGroupMemberMetadataValue(
    instance_id=None,
    rack_id=None,
    client_id="",
    client_host="",
    subscribed_topic_names=(),
    subscribed_topic_regex="",
    rebalance_timeout_ms=-1,
    server_assignor=None,
    classic_member_metadata=None,
)
"""What is known of a member before its first record 5."""


@dataclass(frozen=True, slots=True)
class Member:
    """The coordinator's record of one consumer."""

    member_id: str
    metadata: ConsumerGroupMemberMetadataValue = NO_METADATA
    current: CurrentAssignment = NOTHING_ASSIGNED
    session_timer: str = ""

    @property
    def speaks_classic(self) -> bool:
        """Whether it still uses the classic protocol, in a group that was migrated."""
        return self.metadata.classic_member_metadata is not None


NOBODY: Final[TimelineMap[str, Member]] = TimelineMap()


@dataclass(frozen=True, slots=True)
class Group:
    """One group of the consumer protocol, in full."""

    group_id: str
    epoch: int = NEW_GROUP_EPOCH
    metadata_hash: int = 0
    """Of the subscribed topics when the epoch was last raised; 0: none of them exists."""

    holds_topic_metadata: bool = False
    """Whether the log still has a record 4, which only 4.0 wrote."""

    target_epoch: int = NEW_GROUP_EPOCH
    assigned_ms: int = 0
    """When the target was computed, epoch ms; 0: unknown, so that the next may come at once."""

    members: TimelineMap[str, Member] = NOBODY
    targets: Map[str, TargetPartitions] = NOTHING
    """By member id (``targetAssignment``)."""

    patterns: Map[str, ConsumerGroupRegularExpressionValue] = NOTHING
    """What each pattern matched when last looked up (``resolvedRegularExpressions``)."""

    # -- indexes -----------------------------------------------------------------------------

    held: Map[str, Map[int, int]] = NOTHING
    """Topic id to partition to the member epoch of who has it, or has not given it up.

    Kafka's ``currentPartitionEpoch``; there -1 stands for what has no entry here.
    """

    static_members: Map[str, str] = NOTHING
    """Instance id to member id."""

    name_readers: Map[str, int] = NOTHING
    """Topic name to how many members name it."""

    pattern_topics: Map[str, int] = NOTHING
    """Topic name to how many of the looked up patterns match it."""

    pattern_users: Map[str, int] = NOTHING
    """Pattern to how many members subscribe by it (``subscribedRegularExpressions``)."""

    votes: Map[str, int] = NOTHING
    """Assignor to how many members ask for it (``serverAssignors``)."""

    classic_members: int = 0
    """How many members speak the classic protocol."""

    def member(self, member_id: str) -> Member | None:
        """Return the member of that id, or None."""
        return self.members.entries.get(member_id)

    def __iter__(self) -> Iterator[Member]:
        """Walk the members in the order of Kafka's table."""
        return (member for _, member in self.members.items())


# -- what follows from a group -----------------------------------------------------------------


def state_of(group: Group) -> GroupState:
    """Return the state of a group, judged in Kafka's order; O(members)."""
    if not group.members:
        return GroupState.EMPTY
    if group.epoch > group.target_epoch:
        return GroupState.ASSIGNING
    if all(has_arrived(group, member) for member in group.members.entries.values()):
        return GroupState.STABLE
    return GroupState.RECONCILING


def has_arrived(group: Group, member: Member) -> bool:
    """Say whether a member has all of the last target and nothing else."""
    current = member.current
    return current.state is MemberState.STABLE and current.epoch == group.target_epoch


def subscribed_topics(group: Group) -> list[str]:
    """Return the names of all topics that somebody reads, sorted; some may not exist."""
    return sorted({*group.name_readers, *group.pattern_topics})


def is_subscribed(group: Group, topic: str) -> bool:
    """Say whether somebody in the group reads a topic."""
    return topic in group.name_readers or topic in group.pattern_topics


def topics_of(group: Group, member: Member) -> tuple[str, ...]:
    """Return the names a member reads: those it names, and what its pattern matched, sorted.

    A pattern that was not looked up yet matches nothing.
    """
    names, pattern = member.metadata.subscribed_topic_names, member.metadata.subscribed_topic_regex
    found = group.patterns.get(pattern) if pattern else None
    if found is None:
        return names
    return tuple(sorted({*names, *found.topics})) if names else found.topics


def preferred_assignor(votes: Mapping[str, int], default: str) -> str:
    """Return the assignor that most members ask for, or *default* if nobody asks.

    Of equals the first in hash order wins, which for ``uniform`` and ``range`` is ``uniform``.
    """
    return max(in_vote_order(votes), key=votes.__getitem__) if votes else default


def in_vote_order(votes: Mapping[str, int]) -> list[str]:
    """Return the names in the order of the coordinator's table of votes."""
    known: TimelineMap[str, int] = TimelineMap()
    return list(known.put_all(sorted(votes.items())))


# -- partitions --------------------------------------------------------------------------------


def as_message(partitions: AssignedEpochs | TargetPartitions) -> tuple[TopicPartitions, ...]:
    """Return partitions as a response lists them."""
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in partitions.items())


def named(
    partitions: AssignedEpochs | TargetPartitions, image: TopicsImage
) -> tuple[TopicPartition, ...]:
    """Return partitions by topic name, sorted; a topic that is gone goes by its id."""
    return tuple(
        sorted(
            TopicPartition(image.name_of.get(topic, topic), number)
            for topic, numbers in partitions.items()
            for number in numbers
        )
    )


def by_topic(listed: Iterable[TopicPartitions]) -> dict[str, frozenset[int]]:
    """Return what a request lists, by topic id."""
    together: dict[str, frozenset[int]] = {}
    for topic, numbers in listed:
        together[topic] = together.get(topic, frozenset()) | frozenset(numbers)
    return together
