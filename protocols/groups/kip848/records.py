"""Create the records of a consumer group.

Handlers collect them in a :class:`Draft`: each new record is replayed at once into the draft's
group, which the rest of the handler reads, by the same code that replays it at load.

Source: ``GroupCoordinatorRecordHelpers``, ``ConsumerGroup.createGroupTombstoneRecords`` of Kafka
4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from assignors.values import dataclass
from protocols.groups.kip848.group import AssignedEpochs, CurrentAssignment, Group, TargetPartitions
from protocols.groups.kip848.replay import replayed
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A group after pending records, and these records."""

    group: Group
    records: tuple[Record, ...] = ()

    def with_records(self, records: Sequence[Record]) -> Draft:
        """Return the draft with more records at its end."""
        if not records:
            return self
        return Draft(replayed(self.group, records), (*self.records, *records))

    def with_record(self, record: Record) -> Draft:
        """Return the draft with one more record at its end."""
        return self.with_records((record,))


def member_record(
    group_id: str, member_id: str, metadata: ConsumerGroupMemberMetadataValue | None
) -> Record:
    """Return record 5: a member's metadata; None: a tombstone."""
    return Record(ConsumerGroupMemberMetadataKey(group_id, member_id), metadata)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """Return record 3: the group epoch."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Record(ConsumerGroupMetadataKey(group_id), value)


def target_epoch_record(group_id: str, epoch: int, assigned_ms: int) -> Record:
    """Return record 6: the group epoch for which the target was computed, and the time."""
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=assigned_ms
    )
    return Record(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def target_record(group_id: str, member_id: str, wanted: TargetPartitions | None) -> Record:
    """Return record 7: a member's target; None: a tombstone."""
    value = None
    if wanted is not None:
        value = ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=tuple(
                TopicPartitions(topic_id=topic, partitions=numbers)
                for topic, numbers in wanted.items()
            )
        )
    return Record(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def current_record(group_id: str, member_id: str, current: CurrentAssignment | None) -> Record:
    """Return record 8: a member's current assignment; None: a tombstone."""
    value = None
    if current is not None:
        value = ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=current.epoch,
            previous_member_epoch=current.previous_epoch,
            state=int(current.state),
            assigned_partitions=_assigned_partitions(current.assigned),
            partitions_pending_revocation=_assigned_partitions(current.revoking),
        )
    return Record(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), value)


def member_tombstones(group_id: str, member_id: str) -> tuple[Record, ...]:
    """Return the records that remove a member."""
    return (
        current_record(group_id, member_id, None),
        target_record(group_id, member_id, None),
        member_record(group_id, member_id, None),
    )


def pattern_tombstone(group_id: str, pattern: str) -> Record:
    """Return the record that removes the matches of a pattern."""
    return Record(ConsumerGroupRegularExpressionKey(group_id, pattern), None)


def topic_metadata_tombstone(group_id: str) -> Record:
    """Return the record that removes the topic metadata of Kafka 4.0."""
    return Record(ConsumerGroupPartitionMetadataKey(group_id), None)


def group_tombstones(group: Group, *, old: str = "", new: str = "") -> tuple[Record, ...]:
    """Return the records that delete a group, in Kafka's order: 8, 7, 6, 5, 16, 4, 3.

    *old*: the id of a member that the preceding records replaced by *new*.
    """
    group_id = group.group_id
    members = [new if member.member_id == old else member.member_id for member in group]
    return (
        *(current_record(group_id, member_id, None) for member_id in members),
        *(target_record(group_id, member_id, None) for member_id in members),
        Record(ConsumerGroupTargetAssignmentMetadataKey(group_id), None),
        *(member_record(group_id, member_id, None) for member_id in members),
        *(pattern_tombstone(group_id, pattern) for pattern in sorted(group.patterns)),
        topic_metadata_tombstone(group_id),
        Record(ConsumerGroupMetadataKey(group_id), None),
    )


def _assigned_partitions(grants: AssignedEpochs) -> tuple[AssignedPartitions, ...]:
    return tuple(
        AssignedPartitions(
            topic_id=topic,
            partitions=tuple(numbers),
            assignment_epochs=tuple(numbers.values()),
        )
        for topic, numbers in grants.items()
    )
