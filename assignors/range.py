"""The ``range`` assignor: each subscriber of a topic gets one contiguous range of its partitions.

Topics with the same subscribers and the same number of partitions are split in the same way, so
that records with one key arrive at one member. If racks matter (KIP-881), subscribers first get
partitions with a replica on their rack: the same numbers of all co-partitioned topics, else as many
as they have room for. The rest is dealt out without racks.
Source: ``RangeAssignor``, ``RangeAssignor.assignWithRackMatching``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import islice

from assignors.leader_input import (
    LeaderInput,
    member_racks,
    partition_racks,
    partitions_of,
    racks_matter,
    read_leader_input,
    static_order,
)
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics
from assignors.values import dataclass

Readers = Mapping[str, tuple[str, ...]]
"""Known topic, in map order, to its subscribers, in static order."""


def assign_range(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Split every topic among its readers, topic by topic; static members come first.

    >>> from assignors.types import Subscription
    >>> both = Subscription(topics=("t0", "t1"))
    >>> for member, given in assign_range(
    ...     Topics(partition_counts={"t0": 3, "t1": 3}), {"C0": both, "C1": both}
    ... ).items():
    ...     print(member, *given)
    C0 t0-0 t0-1 t1-0 t1-1
    C1 t0-2 t1-2
    """
    group = read_leader_input(topics, subscriptions)
    readers = _readers(group)
    near = near_topics(group, readers)
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    if near:
        for member, run in assign_near(group, readers, near):
            assigned[member] += run
        for partitions in assigned.values():
            partitions.sort()
    else:
        for topic, members in readers.items():
            _assign_runs(topic, group.partition_counts[topic], members, assigned)
    return {member: tuple(partitions) for member, partitions in assigned.items()}


def _readers(group: LeaderInput) -> Readers:
    members = tuple(static_order(group.subscriptions))
    if group.uniform:
        return dict.fromkeys(group.partition_counts, members)
    asked = {member: frozenset(group.topics_of[member]) for member in members}
    return {
        topic: tuple(member for member in members if topic in asked[member])
        for topic in group.partition_counts
    }


def _assign_runs(
    topic: str, count: int, readers: tuple[str, ...], assigned: dict[str, list[TopicPartition]]
) -> None:
    """Give each subscriber its range of *topic*; the first ones get one more if it is uneven."""
    partitions = partitions_of(topic, range(count))
    share, extra = divmod(count, len(readers))
    start = 0
    for place, member in enumerate(readers):
        end = start + share + (place < extra)
        assigned[member] += partitions[start:end]
        start = end


@dataclass(slots=True)
class _Split:
    """One topic while it is split among its readers."""

    topic: str
    readers: tuple[str, ...]
    racks_of: list[frozenset[str]]
    """The racks of each partition."""

    share: int
    extra: int
    """The number of subscribers that may still have one partition more than the share."""

    unassigned: dict[int, None]
    """The numbers that are not assigned yet, ascending."""

    given: Counter[str] = field(default_factory=Counter)

    def room(self, member: str) -> int:
        """Return how many more partitions *member* may get."""
        return max(0, self.share + (self.extra > 0) - self.given[member])

    def give(self, member: str, numbers: list[int]) -> tuple[str, list[TopicPartition]]:
        """Assign *numbers* to *member* and return them as partitions."""
        self.given[member] += len(numbers)
        if self.given[member] > self.share:
            self.extra -= 1
        for number in numbers:
            del self.unassigned[number]
        return member, partitions_of(self.topic, numbers)

    def is_near(self, rack: str | None, number: int) -> bool:
        """Return whether partition *number* has a replica on *rack*; None is near every partition."""
        return rack is None or rack in self.racks_of[number]


def near_topics(group: LeaderInput, readers: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the topics for which racks make a difference."""
    racks = member_racks(group.subscriptions)
    if not racks:
        return set()
    return {
        topic
        for topic, members in readers.items()
        if racks_matter(
            {racks[member] for member in members if member in racks},
            partition_racks(group, topic),
        )
    }


def assign_near(
    group: LeaderInput, readers: Mapping[str, tuple[str, ...]], near: set[str]
) -> Iterator[tuple[str, list[TopicPartition]]]:
    """Yield the partitions that each subscriber gets of each topic, in any order."""
    racks = member_racks(group.subscriptions)
    splits = [_split(group, topic, members) for topic, members in readers.items()]
    for alike in _alike(splits, racks):
        if len(alike) > 1:
            yield from _give_alike(alike, racks)
        elif alike[0].topic in near:
            yield from _give_runs(alike[0], racks)
    for split in splits:
        yield from _give_runs(split, {})


def _split(group: LeaderInput, topic: str, readers: tuple[str, ...]) -> _Split:
    count = group.partition_counts[topic]
    share, extra = divmod(count, len(readers))
    racks = partition_racks(group, topic)
    return _Split(topic, readers, racks, share, extra, dict.fromkeys(range(count)))


def _alike(splits: Iterable[_Split], racks: Mapping[str, str]) -> list[list[_Split]]:
    """Group the topics with the same subscribers, some with a rack, and equal partition counts."""
    groups: dict[tuple[tuple[str, ...], int], list[_Split]] = {}
    for split in splits:
        if not racks.keys().isdisjoint(split.readers):
            groups.setdefault((split.readers, len(split.racks_of)), []).append(split)
    return list(groups.values())


def _give_alike(
    splits: list[_Split], racks: Mapping[str, str]
) -> Iterator[tuple[str, list[TopicPartition]]]:
    """Give the same numbers of all *splits* to one subscriber that is near all of them."""
    candidates = list(splits[0].readers)
    for number in range(len(splits[0].racks_of)):
        member = next((one for one in candidates if _takes(one, number, splits, racks)), None)
        if member is None:
            continue
        for split in splits:
            yield split.give(member, [number])
        if not any(split.room(member) for split in splits):
            candidates.remove(member)


def _takes(member: str, number: int, splits: list[_Split], racks: Mapping[str, str]) -> bool:
    rack = racks.get(member)
    return all(split.is_near(rack, number) and split.room(member) for split in splits)


def _give_runs(
    split: _Split, racks: Mapping[str, str]
) -> Iterator[tuple[str, list[TopicPartition]]]:
    """Give each subscriber, in order, the first partitions near it that it has room for."""
    for member in split.readers:
        rack = racks.get(member)
        near = (number for number in split.unassigned if split.is_near(rack, number))
        if numbers := list(islice(near, split.room(member))):
            yield split.give(member, numbers)
