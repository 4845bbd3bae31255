"""Replay of records: the only way to create a new durable state.

Records are replayed when they are proposed and when the log is loaded. The rules of groups are those
of ``protocols/offsets_topic/group_rules.py``, which every reader of the log shares.

Source: ``GroupCoordinatorShard.replay``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protocols.groups import kip848
from protocols.groups.offsets import Stored, with_offsets, without_offset
from protocols.groups.shard import Durable, is_classic
from protocols.offsets_topic.group_rules import (
    RULES,
    ClassicGroup,
    GroupType,
    as_replayed,
    classic_replayed,
    group_replayed,
    require_known_version,
    wrong_value,
)
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    Value,
)
from protocols.values import replace


def replayed(durable: Durable, records: Iterable[Record]) -> Durable:
    """Apply records in order.

    Consecutive offset commits, without a tombstone or a group record between them, are put into
    the map of each topic together: only the first occurrence of each topic affects the order of
    topics. Records of a type that 4.4 does not know are skipped. Raises BrokenLogError for a
    record that contradicts the log, whose value has a version that 4.4 does not know, or whose
    value belongs to another key.
    """
    stored: Stored = {}
    for record in records:
        key, value = record
        if type(value) is not OffsetCommitValue:
            key, value = as_replayed(record)
        if type(value) is OffsetCommitValue:
            if type(key) is not OffsetCommitKey:
                raise wrong_value(key, value)
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
    require_known_version(key, value)
    if isinstance(key, OffsetCommitKey):
        if value is not None:
            raise wrong_value(key, value)
        return without_offset(durable, key)
    if isinstance(key, GroupMetadataKey):
        group = classic_replayed(key, value)
        return _with_group(durable, key.group, group and group.metadata)
    if RULES[key.record_type].group_type is not GroupType.CONSUMER:
        return durable  # share and streams groups: nothing here serves them
    group_id = key.group_id
    before = durable.groups.get(group_id)
    if group_id in durable.groups and is_classic(before):
        before = ClassicGroup(before)
    after = group_replayed(kip848.replay.CHANGES, before, key, value)
    return _with_group(durable, group_id, after)


def _with_group(durable: Durable, group_id: str, group: Any) -> Durable:
    """Return the durable state with a group, or without it if *group* is None."""
    if group is not None:
        return replace(durable, groups=durable.groups.hold(group_id, group))
    if group_id not in durable.groups:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))
