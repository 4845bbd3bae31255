"""The state of a log, and its change by one more record."""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from assignors.values import dataclass
from protocols.java_maps import NOTHING
from protocols.offsets_topic.group_rules import (
    ClassicGroup,
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
from protocols.offsets_topic.replay.groups import CHANGES, Group
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

    Raise BrokenLogError if a load fails: for a version of a value that 4.4 does not know, for a
    value that belongs to another key, and for a record that contradicts those before it.
    """
    key, value = as_replayed(record)
    if isinstance(key, UnknownKey):
        return loaded
    require_known_version(key, value)
    if isinstance(key, OffsetCommitKey):
        return _offset_replayed(loaded, key, value, log_offset, producer_id)
    groups, group_id = loaded.groups, key[0]
    after: Group | None
    if isinstance(key, GroupMetadataKey):
        after = classic_replayed(key, value)
    else:
        after = group_replayed(CHANGES, groups.get(group_id), key, value)
    if after is not None:
        return replace(loaded, groups=groups.set(group_id, after))
    return replace(loaded, groups=groups.delete(group_id)) if group_id in groups else loaded


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
    if not isinstance(value, OffsetCommitValue):
        raise wrong_value(key, value)
    offsets = loaded.offsets.put(key, value, log_offset, producer_id)
    if key.group in loaded.groups:
        return Loaded(loaded.groups, offsets)
    return Loaded(loaded.groups.set(key.group, ClassicGroup()), offsets)
