"""Whether the sticky assignors look at racks, and what they see.

Source: ``AbstractStickyAssignor.RackInfo`` (spec assignors 1.5 B).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from assignors.leader_input import LeaderInput
from assignors.racks import member_racks, partition_racks, racks_matter
from assignors.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of members and partitions; no members in it means racks do not matter."""

    of_member: Mapping[str, str] = field(default_factory=dict)
    of_partition: Mapping[TopicPartition, frozenset[str]] = field(default_factory=dict)
    members_near: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partition to how many members sit on its racks, counted once a rack."""

    def __bool__(self) -> bool:
        return bool(self.of_member)

    def mismatch(self, member: str, partition: TopicPartition) -> bool:
        """Say whether *member* has a rack that has no replica of *partition*."""
        rack = self.of_member.get(member)
        return rack is not None and rack not in self.of_partition.get(partition, ())

    def is_near(self, member: str, partition: TopicPartition) -> bool:
        """Say whether *member* has a rack, and that one a replica of *partition*."""
        rack = self.of_member.get(member)
        return rack is not None and rack in self.of_partition.get(partition, ())

    def first_near(
        self, members: Sequence[str], partition: TopicPartition, start: int = 0
    ) -> int | None:
        """Return the index of the first member near *partition*, cyclically from *start*."""
        indices = chain(range(start, len(members)), range(start))
        return next((i for i in indices if self.is_near(members[i], partition)), None)


def read_racks(group: LeaderInput) -> Racks:
    """Return what a sticky assignor knows of racks, empty if they make no difference."""
    of_member = member_racks(group.subscriptions)
    if not of_member:
        return Racks()
    of_partition = {
        TopicPartition(topic, number): racks
        for topic in group.partition_counts
        for number, racks in enumerate(partition_racks(group, topic))
    }
    if not racks_matter(of_member.values(), of_partition.values()):
        return Racks()
    on_rack = Counter(of_member.values())
    members_near = {
        partition: sum(on_rack[rack] for rack in racks) for partition, racks in of_partition.items()
    }
    return Racks(of_member, of_partition, members_near)
