"""Record type 2: a classic group, whole.

Source: ``GroupMetadataKey/Value.json`` (KIP-345 for static members).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    BYTES,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)


class GroupMetadataKey(NamedTuple):
    """Record type 2."""

    group: str
    record_type: Literal[2] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """One member inside a :class:`GroupMetadataValue`.

    The coordinator takes ``subscription`` and ``assignment`` as they come from the clients; of
    the consumer protocol they are what ``embedded`` reads and writes.
    """

    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    """Milliseconds; -1: the session timeout is used."""

    session_timeout: int
    """Milliseconds."""

    subscription: bytes
    """For the selected protocol only."""

    assignment: bytes = b""
    """Empty: the leader gave nothing, not even an empty assignment."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    """What of a classic group survives its coordinator."""

    protocol_type: str
    """Empty: none."""

    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int = -1
    """Epoch ms; -1: unknown."""

    members: tuple[MemberMetadata, ...] = ()
    """In the order of the coordinator's member map (spec classic-coordinator 10.3)."""

    value_version: int = 3
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


MEMBER: Final = Struct(
    MemberMetadata,
    (
        Field("memberId", STRING),
        Field("groupInstanceId", STRING, nullable=True, since=3, default=None),
        Field("clientId", STRING),
        Field("clientHost", STRING),
        Field("rebalanceTimeout", INT32, since=1, default=-1),
        Field("sessionTimeout", INT32),
        Field("subscription", BYTES),
        Field("assignment", BYTES),
    ),
)

GROUP_METADATA: Final = RecordType(
    number=2,
    key=Struct(GroupMetadataKey, (Field("group", STRING),)),
    value=Struct(
        GroupMetadataValue,
        (
            Field("protocolType", STRING),
            Field("generation", INT32),
            Field("protocol", STRING, nullable=True),
            Field("leader", STRING, nullable=True),
            Field("currentStateTimestamp", INT64, since=2, default=-1),
            Field("members", Array(MEMBER)),
        ),
    ),
    last_version=4,
    flexible_since=4,
    written_version=3,
)
