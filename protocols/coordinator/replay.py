"""Replay records into a coordinator's state: the only way to create a new durable state.

Each group type has its own rules for its records; this module selects the group type.

Source: ``GroupCoordinatorShard.replay``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from protocols.groups import kip848
from protocols.groups.offsets import Stored, with_offsets, without_offset
from protocols.groups.shard import Durable
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
from protocols.values import replace

CONSUMER_RECORDS: Final = frozenset({3, 4, 5, 6, 7, 8, 16})
"""The record types of consumer groups."""


def replayed(durable: Durable, records: Iterable[Record]) -> Durable:
    """Apply records in order.

    Consecutive offset commits, without a tombstone or a group record between them, are put into
    the map of each topic together: only the first occurrence of each topic affects the order of
    topics. Records of a type that 4.4 does not know are skipped. Raises BrokenLogError for a
    record that contradicts the log, or whose value has a version that 4.4 does not know.
    """
    stored: Stored = {}
    for record in records:
        key, value = record
        if not isinstance(value, OffsetCommitValue):
            key, value = as_replayed(record)
        if isinstance(value, OffsetCommitValue):
            assert isinstance(key, OffsetCommitKey), "the value of another key"
            group_id, topic, partition, _ = key
            stored.setdefault((group_id, topic), []).append((partition, value))
            continue
        if isinstance(key, UnknownKey):
            continue
        if stored:
            durable = with_offsets(durable, stored)
            stored.clear()
        durable = _replayed(durable, key, value)
    return with_offsets(durable, stored) if stored else durable


def _replayed(durable: Durable, key: Any, value: Value | None) -> Durable:
    if isinstance(value, UnknownValue):
        version = value.value_version
        raise BrokenLogError(f"version {version} of a value of type {key.record_type} is not known")
    if isinstance(key, GroupMetadataKey):
        return _classic_replayed(durable, key.group, value)
    if key.record_type in CONSUMER_RECORDS:
        return _consumer_replayed(durable, key, value)
    if not isinstance(key, OffsetCommitKey):
        return durable  # share and streams groups: nothing here serves them
    assert value is None, "the value of another key"
    return without_offset(durable, key)


def _classic_replayed(durable: Durable, group_id: str, value: Value | None) -> Durable:
    """Apply a classic group's record, which replaces any group; a tombstone removes the group."""
    if value is not None:
        assert isinstance(value, GroupMetadataValue), "the value of another key"
        return replace(durable, groups=durable.groups.hold(group_id, value))
    if group_id not in durable.groups:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))


def _consumer_replayed(durable: Durable, key: Any, value: Value | None) -> Durable:
    group_id = key.group_id
    before = durable.groups.get(group_id)
    if not isinstance(before, kip848.group.Group):
        if not is_simple(before):
            raise BrokenLogError(f"a record of a consumer group, but {group_id} is a classic one")
        before = kip848.group.Group(group_id) if group_id in durable.groups else None
    after = kip848.replay.group_replayed(before, group_id, key, value)
    if after is not None:
        return replace(durable, groups=durable.groups.hold(group_id, after))
    if before is None:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))


def is_simple(group: Any) -> bool:
    """Return whether a consumer group may replace a group: it has no members and no protocol type.

    Source: ``ClassicGroup.isSimpleGroup``, ``getOrMaybeCreatePersistedConsumerGroup``.
    """
    return group is None or (
        isinstance(group, GroupMetadataValue) and not (group.protocol_type or group.members)
    )
