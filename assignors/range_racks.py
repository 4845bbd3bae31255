"""How the ``range`` assignor splits topics where racks matter (KIP-881).

Readers first get partitions with a replica on their rack: of co-partitioned topics the same
numbers of all, else as many as they have room for. What is left is dealt out as ever.
Source: ``RangeAssignor.assignWithRackMatching`` (spec assignors 1.3, rules 2 to 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from assignors.leader_input import LeaderInput, partitions_of
from assignors.racks import member_racks, partition_racks, racks_matter
from assignors.types import TopicPartition


@dataclass(slots=True)
class _Split:
    """One topic while it is split among its readers."""

    topic: str
    readers: tuple[str, ...]
    racks_of: list[frozenset[str]]
    """The racks of each partition."""

    share: int
    extra: int
    """How many readers may still have one partition more than the share."""

    unassigned: dict[int, None]
    """The numbers nobody has yet, ascending."""

    given: Counter[str] = field(default_factory=Counter)

    def room(self, member: str) -> int:
        """Return how many more partitions *member* may get."""
        return max(0, self.share + (self.extra > 0) - self.given[member])

    def give(self, member: str, numbers: list[int]) -> tuple[str, list[TopicPartition]]:
        """Book *numbers* for *member* and return them as partitions."""
        self.given[member] += len(numbers)
        if self.given[member] > self.share:
            self.extra -= 1
        for number in numbers:
            del self.unassigned[number]
        return member, partitions_of(self.topic, numbers)

    def is_near(self, rack: str | None, number: int) -> bool:
        """Say whether partition *number* has a replica on *rack*; no rack is near to all."""
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
    """Yield what each reader gets of each topic, in no order that matters."""
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
    """Group the topics that have the same readers, some with a rack, and equally many parts."""
    groups: dict[tuple[tuple[str, ...], int], list[_Split]] = {}
    for split in splits:
        if not racks.keys().isdisjoint(split.readers):
            groups.setdefault((split.readers, len(split.racks_of)), []).append(split)
    return list(groups.values())


def _give_alike(
    splits: list[_Split], racks: Mapping[str, str]
) -> Iterator[tuple[str, list[TopicPartition]]]:
    """Give the same numbers of all *splits* to one reader that is near to all of them."""
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
    """Give each reader, in order, the first partitions near it that it has room for."""
    for member in split.readers:
        rack = racks.get(member)
        near = (number for number in split.unassigned if split.is_near(rack, number))
        if numbers := list(islice(near, split.room(member))):
            yield split.give(member, numbers)
