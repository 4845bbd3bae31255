"""The offsets that the next automatic commit covers, for clients that commit in the background.

librdkafka keeps one offset a partition, set when a record is handed out or by the application, and
commits it only if it is greater than the one committed last (``rd_kafka_offset_store0``,
``rd_kafka_topic_partition_list_set_offsets``). franz-go commits what the polls before the latest one
returned (``undirtyUncommitted``). Changed in place, like the positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.positions import Positions
from protocols.messages import OffsetToCommit
from protocols.messages.records import epoch_at


@dataclass(frozen=True, slots=True)
class Stores:
    """When an offset is stored: at hand-over, at the poll after it, or by the application."""

    at_hand_over: bool
    at_next_poll: bool
    only_forward: bool
    """Whether a stored offset that is not greater than the committed one is left out of commits."""


class OffsetStore:
    """Stored and committed offsets of the partitions of one consumer."""

    __slots__ = ("_committed", "_handed", "_rules", "_stored")

    def __init__(self, rules: Stores) -> None:
        self._rules = rules
        self._stored: dict[TopicPartition, int] = {}
        self._handed: dict[TopicPartition, int] = {}
        """The end of the latest poll's records, by partition."""

        self._committed: dict[TopicPartition, int] = {}

    def polling(self) -> None:
        """Note that the application polls: it has finished what it was handed before."""
        if self._rules.at_next_poll:
            self._stored.update(self._handed)
            self._handed.clear()

    def handed(self, records: Iterable[Handed]) -> None:
        """Note records that were handed out."""
        for tp, _, following in records:
            if self._rules.at_hand_over:
                self._stored[tp] = following
            else:
                self._handed[tp] = following

    def store(self, offsets: Iterable[OffsetToCommit], assigned: Positions) -> None:
        """Store offsets of the application; those of partitions not assigned are refused."""
        for entry in offsets:
            if entry.partition in assigned.readings:
                self._stored[entry.partition] = entry.offset

    def to_commit(self, positions: Positions) -> list[OffsetToCommit]:
        """Return the stored offsets of assigned partitions that are to be committed."""
        return self._stored_of(positions, self._is_news)

    def of_removed(
        self, removed: frozenset[TopicPartition], positions: Positions
    ) -> list[OffsetToCommit]:
        """Return the stored offsets of partitions to give away, also of those committed already.

        Source: librdkafka ``rd_kafka_assignment_serve_removals``.
        """
        return self._stored_of(positions, removed.__contains__)

    def _stored_of(
        self, positions: Positions, is_wanted: Callable[[TopicPartition], bool]
    ) -> list[OffsetToCommit]:
        stored = self._stored
        return [
            OffsetToCommit(tp, stored[tp], epoch_at(reading.epochs, stored[tp] - 1))
            for tp, reading in positions.readings.items()
            if tp in stored and is_wanted(tp)
        ]

    def _is_news(self, tp: TopicPartition) -> bool:
        known = self._committed.get(tp)
        return not self._rules.only_forward or known is None or self._stored[tp] > known

    def committed(self, offsets: Iterable[OffsetToCommit]) -> None:
        """Note a commit that succeeded."""
        for entry in offsets:
            self._committed[entry.partition] = entry.offset

    def relative(self, positions: Positions) -> tuple[object, ...]:
        """Return what it has, relative to the positions; that of a partition given away is not."""
        offsets = positions.offsets
        return tuple(
            [
                {tp: offset - offsets.get(tp, 0) for tp, offset in known.items()}
                for known in (self._stored, self._handed, self._committed)
            ]
        )

    def move(self, records: Mapping[TopicPartition, int]) -> None:
        """Move the offsets by so many records of each assigned partition."""
        for known in (self._stored, self._handed, self._committed):
            for tp in known:
                known[tp] += records.get(tp, 0)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget the partitions that are no longer assigned."""
        kept = frozenset(partitions)
        for offsets in (self._stored, self._handed, self._committed):
            for tp in [tp for tp in offsets if tp not in kept]:
                del offsets[tp]
