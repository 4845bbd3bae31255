"""A group of the consumer protocol and its members, exactly as recorded in the offsets log.

Only ``replay.py`` creates these values, live and at load; the state that is lost when the
coordinator moves is in ``soft.py``. In addition to the records, a group keeps indexes (the owner
of each partition, the subscribers of each topic), so that a heartbeat never visits all members.

Epochs: the *group epoch* counts changes of the input of an assignment; the *target epoch*
is the group epoch for which the target was computed; a *member epoch* is the target epoch that
the member has reached. They never decrease.

Source: ``ConsumerGroup``, ``ConsumerGroupMember``, ``Assignment``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from immutables import Map

from assignors.java import HashTable, java_hash, length_of_map_copy
from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.groups.topics import TopicsImage
from protocols.java_maps import NOTHING, TimelineMap
from protocols.messages import TopicPartitions
from protocols.offsets_topic.group_rules import (
    NEW_GROUP_EPOCH,
    GroupState,
    GroupType,
    PartitionEpochs,
    consumer_group_state,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
)

AWAY_EPOCH: Final = -2
"""Member epoch of a static member that left temporarily."""

AssignedEpochs = Mapping[str, Mapping[int, int]]
"""Topic id to partition to assignment epoch: the target epoch at which it was assigned.

Never changed in place; topics and partitions are in the order of Kafka's hash maps.
"""

TargetPartitions = Mapping[str, tuple[int, ...]]
"""The target of a member: topic id to partitions, in the order of Kafka's hash maps."""


class MemberState(enum.IntEnum):
    """A member's progress towards its target; the number is the one in the record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """The member must revoke partitions and has not acknowledged it."""

    UNRELEASED_PARTITIONS = 2
    """Other members still own a part of the member's target."""

    UNKNOWN = 127
    """A state written by a later Kafka version."""


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The current assignment of one member: the content of record 8."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: AssignedEpochs = field(default_factory=dict)
    """The partitions it may own, without those it must revoke (``assignedPartitions``)."""

    revoking: AssignedEpochs = field(default_factory=dict)
    """The partitions it must revoke and may still own (``partitionsPendingRevocation``)."""


NOTHING_ASSIGNED: Final = CurrentAssignment(previous_epoch=-1)
"""The assignment of a member without a record 8."""

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
"""The metadata of a member before its first record 5."""


@dataclass(frozen=True, slots=True)
class Member:
    """The coordinator's record of one consumer."""

    member_id: str
    metadata: ConsumerGroupMemberMetadataValue = NO_METADATA
    current: CurrentAssignment = NOTHING_ASSIGNED
    session_timer: str = ""

    @property
    def uses_classic(self) -> bool:
        """Return whether the member still uses the classic protocol, in a migrated group."""
        return self.metadata.classic_member_metadata is not None


NO_MEMBERS: Final[TimelineMap[str, Member]] = TimelineMap()


class Counts(NamedTuple):
    """The subscriptions of a group, counted."""

    members: int = 0
    name_readers: Map[str, int] = NOTHING
    pattern_topics: Map[str, int] = NOTHING
    pattern_users: Map[str, int] = NOTHING

    def is_homogeneous(self) -> bool:
        """Return whether all members count as subscribers of the same topics.

        Without patterns: every member subscribes by name to each topic, also to those of a pattern that
        no member uses any longer. With patterns: all members use the same one, there is no subscription by
        name, and no other pattern matches the same topics.

        Source: ``ConsumerGroup.subscriptionType``.
        """
        if self.pattern_users:
            alone = self.members in self.pattern_users.values() and not self.name_readers
            return alone and all(patterns == 1 for patterns in self.pattern_topics.values())
        readers = self.name_readers
        return all(readers.get(topic) == self.members for topic in {*readers, *self.pattern_topics})


@dataclass(frozen=True, slots=True)
class Group:
    """One group of the consumer protocol, in full."""

    group_id: str
    epoch: int = NEW_GROUP_EPOCH
    metadata_hash: int = 0
    """Hash of the subscribed topics at the last epoch bump; 0: none of them exists."""

    holds_topic_metadata: bool = False
    """Whether the log still has a record 4, which only Kafka 4.0 wrote."""

    target_epoch: int = NEW_GROUP_EPOCH
    assigned_ms: int = 0
    """When the target was computed, epoch ms; 0: unknown, the next may be computed at once."""

    members: TimelineMap[str, Member] = NO_MEMBERS
    targets: Map[str, TargetPartitions] = NOTHING
    """By member id (``targetAssignment``)."""

    patterns: Map[str, ConsumerGroupRegularExpressionValue] = NOTHING
    """The last resolved matches of each pattern (``resolvedRegularExpressions``)."""

    # -- indexes -----------------------------------------------------------------------------

    held: PartitionEpochs = NOTHING
    """Topic id to partition to the epoch of the member that owns it or has yet to revoke it.

    Kafka's ``currentPartitionEpoch``, which returns -1 where there is no entry here.
    """

    static_members: Map[str, str] = NOTHING
    """Instance id to member id."""

    name_readers: Map[str, int] = NOTHING
    """Topic name to the number of members that subscribe to it by name."""

    pattern_topics: Map[str, int] = NOTHING
    """Topic name to the number of resolved patterns that match it."""

    pattern_users: Map[str, int] = NOTHING
    """Pattern to the number of members that use it (``subscribedRegularExpressions``)."""

    votes: Map[str, int] = NOTHING
    """Assignor to the number of members that request it (``serverAssignors``)."""

    classic_members: int = 0
    """Number of members that use the classic protocol."""

    counted: Counts = Counts()
    """The subscriptions as of the last record of a member; records of patterns do not change it.

    So Kafka's ``subscriptionType`` of a group is behind after a pattern was looked up or forgotten.
    """

    def counts(self) -> Counts:
        """Return the subscriptions as they are."""
        everyone = len(self.members)
        return Counts(everyone, self.name_readers, self.pattern_topics, self.pattern_users)

    @property
    def type(self) -> GroupType:
        """The type of the group."""
        return GroupType.CONSUMER

    def member(self, member_id: str) -> Member | None:
        """Return the member with that id, or None."""
        return self.members.entries.get(member_id)

    def epoch_of(self, member_id: str) -> int | None:
        """Return the epoch of a member; None if there is no such member."""
        member = self.member(member_id)
        return None if member is None else member.current.epoch

    def __iter__(self) -> Iterator[Member]:
        """Iterate over the members in the order of Kafka's hash table."""
        return (member for _, member in self.members.items())


# -- derived values ----------------------------------------------------------------------------


def state_of(group: Group) -> GroupState:
    """Return the state of a group, checked in Kafka's order; O(members)."""
    arrived = (has_arrived(group, member) for member in group.members.entries.values())
    return consumer_group_state(group.members, group.epoch, group.target_epoch, arrived)


def has_arrived(group: Group, member: Member) -> bool:
    """Return whether a member has all of the last target and nothing else."""
    current = member.current
    return current.state is MemberState.STABLE and current.epoch == group.target_epoch


def subscribed_topics(group: Group) -> list[str]:
    """Return the names of all subscribed topics, sorted; some may not exist."""
    return sorted({*group.name_readers, *group.pattern_topics})


def is_subscribed(group: Group, topic: str) -> bool:
    """Return whether any member subscribes to a topic."""
    return topic in group.name_readers or topic in group.pattern_topics


def topics_of(group: Group, member: Member) -> tuple[str, ...]:
    """Return the names of a member's topics: those subscribed by name and by pattern, sorted.

    A pattern that has not been resolved yet matches nothing.
    """
    names, pattern = member.metadata.subscribed_topic_names, member.metadata.subscribed_topic_regex
    found = group.patterns.get(pattern) if pattern else None
    if found is None:
        return names
    return tuple(sorted({*names, *found.topics})) if names else found.topics


def preferred_assignor(votes: Mapping[str, int], default: str) -> str:
    """Return the assignor that most members request, or *default* if none does.

    Of a tie the first in hash order wins: ``uniform`` for a tie of ``uniform`` and ``range``.
    """
    return max(in_vote_order(votes), key=votes.__getitem__) if votes else default


def assignor_after(votes: Mapping[str, int], old: str | None, new: str | None, default: str) -> str:
    """Return the preferred assignor after a request by which a member's vote changes from *old* to *new*.

    Kafka counts the votes anew in a copy. An assignor whose only vote is that of the member leaves the
    copy and returns to the head of its slot, even if the vote stays the same. So of a tie of one
    vote each for ``uniform`` and ``range``, the assignor of the member that sends the request wins.

    Source: ``ConsumerGroup.computePreferredServerAssignor``.
    """
    counts = dict(votes)
    names: HashTable[str] = HashTable(java_hash, length_of_map_copy(len(votes)))
    for name in in_vote_order(votes):
        names.put(name)
    if old is not None:
        counts[old] -= 1
        if not counts[old]:
            names.remove(old)
    if new is not None:
        counts[new] = counts.get(new, 0) + 1
        names.compute_if_absent(new)
    return max(names, key=counts.__getitem__, default=default)


def are_votes_settled(votes: Mapping[str, int]) -> bool:
    """Return whether the preferred assignor stays the same with a request of any member.

    It does not for a tie of assignors with one vote each (:func:`assignor_after`).
    """
    preferred = preferred_assignor(votes, "")
    return all(assignor_after(votes, name, name, "") == preferred for name in votes)


def in_vote_order(votes: Mapping[str, int]) -> list[str]:
    """Return the names in the order of the coordinator's hash table of votes."""
    known: TimelineMap[str, int] = TimelineMap()
    return list(known.put_all(sorted(votes.items())))


# -- partitions --------------------------------------------------------------------------------


def as_message(partitions: AssignedEpochs | TargetPartitions) -> tuple[TopicPartitions, ...]:
    """Return partitions as a response lists them."""
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in partitions.items())


def named(
    partitions: AssignedEpochs | TargetPartitions, image: TopicsImage
) -> tuple[TopicPartition, ...]:
    """Return partitions by topic name, sorted; a deleted topic is named by its id."""
    return tuple(
        sorted(
            TopicPartition(image.name_of.get(topic, topic), number)
            for topic, numbers in partitions.items()
            for number in numbers
        )
    )


def by_topic(listed: Iterable[TopicPartitions]) -> dict[str, frozenset[int]]:
    """Return the partitions of a request by topic id."""
    together: dict[str, frozenset[int]] = {}
    for topic, numbers in listed:
        together[topic] = together.get(topic, frozenset()) | frozenset(numbers)
    return together
