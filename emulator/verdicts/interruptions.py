"""Rebalances that changes of topics cause, and the partitions that they stop for nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Final, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.metrics.rebalances import reason_kind

OF_TOPICS: Final = frozenset(
    {
        "cached metadata has changed",
        "subscription has changed",
        "subscribed topics changed",
        "a member reads other topics",
    }
)
"""The reasons of rebalances that follow from a change of topics, by :func:`reason_kind`."""


class Interrupted(NamedTuple):
    """How often changes of topics rebalanced a group, and what that stopped."""

    times: int
    partitions: int
    """The most partitions that one of these rebalances revoked and gave back to their owner."""

    topics: tuple[str, ...]
    """The topics of the group that were created, extended or deleted meanwhile."""


@dataclass(slots=True)
class Interruptions:
    """Follows the rebalances of one group."""

    times: int = 0
    most: int = 0
    """The most partitions that one of them stopped although they kept their owner."""

    _begun_by_topics: bool = False
    """Whether a change of topics is the reason of the last rebalance that began."""

    _of_topics: bool = False
    """The same of the last one whose join phase has ended."""

    _kept: int = 0
    _joins: int = 0
    """Join phases that ended: members give their partitions up before, and get them back after."""

    _revoked: dict[TopicPartition, tuple[str, int]] = field(default_factory=dict)
    """The consumer that a partition was revoked from, and how many join phases had ended then."""

    def begin(self, reason: str) -> None:
        """Begin a rebalance."""
        self._begun_by_topics = reason_kind(reason) in OF_TOPICS
        self.times += self._begun_by_topics

    def revoke(self, partition: TopicPartition, consumer: str) -> None:
        """Note that a consumer gave up a partition."""
        self._revoked[partition] = consumer, self._joins

    def join(self) -> None:
        """End a join phase."""
        self._joins += 1
        self._of_topics, self._kept = self._begun_by_topics, 0

    def open(self, partition: TopicPartition, consumer: str) -> None:
        """Note the next owner of a partition."""
        kept = self._revoked.pop(partition, None) == (consumer, self._joins - 1)
        if kept and self._of_topics:
            self._kept += 1
            self.most = max(self.most, self._kept)

    def interrupted(self, changed: Collection[str]) -> Interrupted | None:
        """Return what these rebalances did; None: there were none. *changed*: the group's topics."""
        return Interrupted(self.times, self.most, tuple(sorted(changed))) if self.times else None
