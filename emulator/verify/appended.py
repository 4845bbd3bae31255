"""The offsets log of an emulated run, in the words in which a dumped one is compared."""

from __future__ import annotations

from emulator.verify.captured.offsets_dump import Commit, Group, LogEntry
from protocols.records import (
    GroupMetadataValue,
    OffsetCommitKey,
    Record,
    decode_assignment,
)


class Appended:
    """Collects what is appended to the offsets topic (:attr:`Replay.appended`)."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    def take(self, records: tuple[Record, ...]) -> None:
        """Take in one batch."""
        self.entries += map(entry_of, records)


def entry_of(record: Record) -> LogEntry:
    """Return a record as it is compared: its type and key, of a group who owns what."""
    key, value = record
    if isinstance(key, OffsetCommitKey):
        return Commit(f"{key.topic}-{key.partition}", gone=value is None)
    if not isinstance(value, GroupMetadataValue):
        return Group(-1, {})
    owners = {
        str(partition): member.client_id
        for member in value.members
        for partition in (decode_assignment(member.assignment) if member.assignment else ())
    }
    return Group(value.generation, owners)
