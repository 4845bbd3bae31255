"""A record of the log: a key and a value, of the types that 4.4 knows and of those it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from protocols.offsets_topic.records import commits

if TYPE_CHECKING:
    from protocols.offsets_topic.records.unions import Key, Value


class UnknownKey(NamedTuple):
    """The key of a type that 4.4 does not know: a load warns and skips the record."""

    record_type: int
    content: bytes
    """What follows the type."""


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that 4.4 cannot read: of an unknown type, or of an unknown version of a known one.

    Under a known key it makes a load fail; under an :class:`UnknownKey` it is skipped with it.
    """

    raw: bytes
    """All of it, the version included if there is one."""

    @property
    def value_version(self) -> int | None:
        """The version it begins with; None if it is too short to have one."""
        return int.from_bytes(self.raw[:2], signed=True) if len(self.raw) > 1 else None


class Record(NamedTuple):
    """One record of the log; ``value`` None is a tombstone."""

    key: Key
    value: Value | None


def group_of(key: Key) -> str | None:
    """Return the id of the group that a key is about; None if its type is not known."""
    return None if isinstance(key, UnknownKey) else key[0]


def as_replayed(record: Record) -> Record:
    """Return the record that a load applies: a commit of the oldest form counts as type 1."""
    key, value = record
    if not isinstance(key, commits.LegacyOffsetCommitKey):
        return record
    newer = commits.OffsetCommitKey(key.group, key.topic, key.partition)
    if not isinstance(value, commits.LegacyOffsetCommitValue):
        return Record(newer, value)
    stored = commits.OffsetCommitValue(
        offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
    )
    return Record(newer, stored)
