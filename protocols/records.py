"""What lands in ``__consumer_offsets``: typed keys and values (spec records, section 6).

A record is a key and a value; a value of None is a tombstone. Sources:
``GroupCoordinatorRecordHelpers``, ``OffsetCommitKey/Value.json``, ``GroupMetadataKey/Value.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import Subscription, TopicPartition

ZERO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of a commit that carries none."""


class OffsetCommitKey(NamedTuple):
    """Record type 1."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    """Version 4, or 1 when ``expire_timestamp`` is set."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int
    """Epoch ms, the coordinator's clock."""

    expire_timestamp: int = -1
    topic_id: str = ZERO_TOPIC_ID


class GroupMetadataKey(NamedTuple):
    """Record type 2."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """One member inside a :class:`GroupMetadataValue`."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    """Milliseconds; -1: the session timeout is used."""

    session_timeout: int
    subscription: Subscription
    """For the selected protocol only."""

    assignment: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    """Version 3: what of a classic group survives its coordinator."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int = -1
    """Epoch ms."""

    members: tuple[MemberMetadata, ...] = ()
    """In the order of the coordinator's member map (spec classic-coordinator 10.3)."""


class Record(NamedTuple):
    """One record of the log; ``value`` None is a tombstone."""

    key: OffsetCommitKey | GroupMetadataKey
    value: OffsetCommitValue | GroupMetadataValue | None
