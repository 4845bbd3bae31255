"""The state of a log, and its change by one more record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from immutables import Map

from protocols.java_maps import NOTHING
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    UnknownValue,
    Value,
    as_replayed,
)
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.offsets_topic.replay.groups import ClassicGroup, Group
from protocols.offsets_topic.replay.members import member_group_replayed
from protocols.offsets_topic.replay.offsets import NO_PRODUCER_ID, Offsets
from protocols.values import replace

_NO_OFFSETS = Offsets()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Groups and offsets after the records up to some point of the log."""

    groups: Map[str, Group] = NOTHING
    offsets: Offsets = _NO_OFFSETS


class Ended(NamedTuple):
    """The state after the end of a transaction."""

    loaded: Loaded
    group_ids: tuple[str, ...]
    """Groups with offsets in the transaction, in order of their names."""


def replayed(
    loaded: Loaded, record: Record, log_offset: int, producer_id: int = NO_PRODUCER_ID
) -> Loaded:
    """Apply one record, written by that producer; an unknown type is skipped.

    Raise BrokenLogError if a load fails: for a version of a value that 4.4 does not know, and
    for a record that contradicts those before it.
    """
    key, value = as_replayed(record)
    if isinstance(key, UnknownKey):
        return loaded
    if isinstance(value, UnknownValue):
        version = value.value_version
        raise BrokenLogError(f"version {version} of a value of type {key.record_type} is not known")
    match key:
        case OffsetCommitKey():
            return _offset_replayed(loaded, key, value, log_offset, producer_id)
        case GroupMetadataKey():
            return replace(loaded, groups=_classic_replayed(loaded.groups, key.group, value))
    groups = member_group_replayed(loaded.groups, key[0], key, value)
    return loaded if groups is loaded.groups else replace(loaded, groups=groups)


def transaction_ended(loaded: Loaded, producer_id: int, *, is_committed: bool) -> Ended:
    """Apply the marker that ends a producer's transaction; return its groups, too."""
    group_ids = tuple(sorted(loaded.offsets.pending.get(producer_id, NOTHING)))
    offsets = loaded.offsets.ended(producer_id, is_committed=is_committed)
    return Ended(replace(loaded, offsets=offsets), group_ids)


def _offset_replayed(
    loaded: Loaded, key: OffsetCommitKey, value: Value | None, log_offset: int, producer_id: int
) -> Loaded:
    """Apply an offset record; a commit, not a tombstone, creates an absent group as simple."""
    if value is None:
        return replace(loaded, offsets=loaded.offsets.without(key))
    assert isinstance(value, OffsetCommitValue), "the value of another key"
    offsets = loaded.offsets.put(key, value, log_offset, producer_id)
    if key.group in loaded.groups:
        return Loaded(loaded.groups, offsets)
    return Loaded(loaded.groups.set(key.group, ClassicGroup()), offsets)


def _classic_replayed(
    groups: Map[str, Group], group_id: str, value: Value | None
) -> Map[str, Group]:
    """Apply a classic group's record, which replaces any group; a tombstone removes the group."""
    if value is not None:
        assert isinstance(value, GroupMetadataValue), "the value of another key"
        return groups.set(group_id, ClassicGroup(value))
    return groups.delete(group_id) if group_id in groups else groups
