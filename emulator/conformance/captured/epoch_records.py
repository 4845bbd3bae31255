"""The records of a group of the consumer protocol, as they are compared: type, key and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emulator.conformance.captured.reading import Fields

METADATA = "ConsumerGroupMetadata"
MEMBER = "ConsumerGroupMemberMetadata"
CURRENT = "ConsumerGroupCurrentMemberAssignment"

TYPES = {
    "3": METADATA,
    "4": "ConsumerGroupPartitionMetadata",
    "5": MEMBER,
    "6": "ConsumerGroupTargetAssignmentMetadata",
    "7": "ConsumerGroupTargetAssignmentMember",
    "8": CURRENT,
    "16": "ConsumerGroupRegularExpression",
}
"""Kafka's names of the types of these records."""

_EPOCHS = {
    METADATA: "epoch",
    "ConsumerGroupTargetAssignmentMetadata": "assignmentEpoch",
    CURRENT: "memberEpoch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRecord:
    """One of these records; one that is deleted has only its key."""

    kind: str
    member_id: str = ""
    """Of a member's records, or the pattern of a resolved one."""

    client_id: str = ""
    """Of a member's metadata."""

    epoch: int | None = None
    owned: tuple[tuple[str, int], ...] = ()
    """Of a current assignment: topic id and number, of what is to be given up too."""

    gone: bool = False


def epoch_record(kind: str, key: Fields, value: Fields | None) -> EpochRecord:
    """Return a dumped record as it is compared; raise CaptureError if it is not sound."""
    named = next((name for name in ("memberId", "regularExpression") if name in key), None)
    member_id = "" if named is None else key.text(named)
    if value is None:
        return EpochRecord(kind=kind, member_id=member_id, gone=True)
    return EpochRecord(
        kind=kind,
        member_id=member_id,
        client_id=value.text("clientId") if kind == MEMBER else "",
        epoch=value.whole(_EPOCHS[kind]) if kind in _EPOCHS else None,
        owned=tuple(_owned(value)) if kind == CURRENT else (),
    )


def _owned(value: Fields) -> Iterator[tuple[str, int]]:
    for part in ("assignedPartitions", "partitionsPendingRevocation"):
        for topic in value.tables(part):
            for number in topic.counts("partitions"):
                yield topic.text("topicId"), number
