"""The offsets log of an emulated run, in the words in which a dumped one is compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.conformance.captured.epoch_records import TYPES, EpochRecord
from emulator.conformance.captured.log_outline import Commit, Group, LogEntry
from protocols.offsets_topic.records import (
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    decode_assignment,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
)
from protocols.offsets_topic.records.consumer_assignments import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


class Appended:
    """Collects what is appended to the offsets topic (:attr:`Replay.appended`)."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    def take(self, records: tuple[Record, ...]) -> None:
        """Take in one batch."""
        self.entries += entries_of(records)


def entries_of(batch: Iterable[Record]) -> Iterator[LogEntry]:
    """Yield a batch's records as they are compared: types and keys, of a group who owns what."""
    for number, record in enumerate(batch):
        yield _entry(record, begins=number == 0)


def _entry(record: Record, *, begins: bool) -> LogEntry:
    key, value = record
    if isinstance(key, OffsetCommitKey):
        topic_id = value.topic_id if isinstance(value, OffsetCommitValue) else ""
        return Commit(f"{key.topic}-{key.partition}", value is None, topic_id, begins)
    kind = TYPES.get(str(key.record_type))
    if kind is not None:
        return _of_epochs(kind, record)
    if not isinstance(value, GroupMetadataValue):
        return Group(-1, {})
    owners = {
        str(partition): member.client_id
        for member in value.members
        for partition in (decode_assignment(member.assignment) if member.assignment else ())
    }
    return Group(value.generation, owners)


def _of_epochs(kind: str, record: Record) -> EpochRecord:
    key, value = record
    return EpochRecord(
        kind=kind,
        member_id=_named(key),
        client_id=value.client_id if isinstance(value, ConsumerGroupMemberMetadataValue) else "",
        epoch=_epoch(value),
        owned=_owned(value),
        gone=value is None,
    )


def _named(key: object) -> str:
    match key:
        case (
            ConsumerGroupMemberMetadataKey(member_id=name)
            | ConsumerGroupTargetAssignmentMemberKey(member_id=name)
            | ConsumerGroupCurrentMemberAssignmentKey(member_id=name)
            | ConsumerGroupRegularExpressionKey(regular_expression=name)
        ):
            return name
        case _:
            return ""


def _epoch(value: object) -> int | None:
    match value:
        case (
            ConsumerGroupMetadataValue(epoch=epoch)
            | ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
            | ConsumerGroupCurrentMemberAssignmentValue(member_epoch=epoch)
        ):
            return epoch
        case _:
            return None


def _owned(value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        return ()
    parts = (*value.assigned_partitions, *value.partitions_pending_revocation)
    return tuple((part.topic_id, number) for part in parts for number in part.partitions)
