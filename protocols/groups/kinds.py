"""What the shared parts of a coordinator ask a group's type.

A coordinator serves groups of several types side by side. What concerns any group (storing
offsets, expiry, deletion, load) is written once and asks here; each type's package has one such
value, and ``machine.py`` picks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assignors.types import TopicPartition
from protocols.groups.shard import Durable, Shard
from protocols.groups.turn import Moment, Turn
from protocols.machine import Effect
from protocols.messages import OffsetCommitRequest, OffsetFetchRequest
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitValue

AnyShard = Shard[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind:
    """One type of group."""

    commit: Callable[[AnyShard, OffsetCommitRequest, Moment], ErrorCode | tuple[Effect, ...]]
    """Say why a commit is refused as a whole, or what it does beside storing offsets."""

    made_by_commit: Callable[[AnyShard, str, Moment], AnyShard]
    """Make the group that a first commit brings into being, where there is none."""

    fetch_error: Callable[[Durable, OffsetFetchRequest], ErrorCode | None]
    """Say why offsets are not shown."""

    delete_error: Callable[[AnyShard, str], ErrorCode | None]
    """Say why a group cannot be deleted."""

    deleted: Callable[..., Turn[AnyShard]]
    """Delete a group (a shard, its *group_id*) without members; its offsets are gone already."""

    offset_delete_error: Callable[[AnyShard, str], ErrorCode | None]
    """Say why no offset of a group can be deleted."""

    reads: Callable[[AnyShard, str, str], bool]
    """Say whether a subscription to a topic protects its offsets."""

    expires_from_ms: Callable[[AnyShard, str, TopicPartition, OffsetCommitValue], int | None]
    """Return from when the retention of an offset counts, or None while it is in use."""

    is_over: Callable[[AnyShard, str], bool]
    """Say whether a group may go once it has no offsets."""

    taken_over: Callable[..., Turn[AnyShard]]
    """Begin to coordinate a group (a shard, its *group_id*, *at*) that was loaded."""

    given_away: Callable[[AnyShard, str, Moment], Turn[AnyShard]]
    """Stop coordinating a group; whoever still waits is sent elsewhere."""
