"""Record types 0 to 2: committed offsets, and a classic group with its members.

Source: ``LegacyOffsetCommitKey/Value.json``, ``OffsetCommitKey/Value.json`` (KIP-211, KIP-320,
KIP-848 for the topic id), ``GroupMetadataKey/Value.json`` (KIP-345 for static members).
"""

from typing import Annotated, Final, Literal, NamedTuple

from assignors.values import dataclass
from protocols.offsets_topic.records.schema import (
    After,
    Int32,
    Int64,
    Part,
    RecordType,
    RecordValue,
    Since,
    Tag,
    UnknownTags,
    Until,
    Uuid,
)

ZERO_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of a commit without one."""

NO_EXPIRY: Final = -1
"""The expire timestamp of a commit that does not carry one."""

UNKNOWN_EPOCH: Final = -1
"""The leader epoch of a commit without one."""

_VERSION_WITH_EXPIRY = 1
_NEWEST_VERSION = 4

# -- type 1: a committed offset --------------------------------------------------------------


class OffsetCommitKey(NamedTuple):
    """The key of record type 1."""

    group: str
    topic: str
    partition: Int32
    record_type: Literal[1] = 1


class OffsetCommitValue(NamedTuple):
    """The committed offset of a group for one partition.

    The only value that is a tuple: there are millions, and a frozen dataclass takes ten times
    as long to make.
    """

    offset: Int64
    """The next offset to read."""

    commit_timestamp: Annotated[Int64, After("metadata")]
    """Epoch ms, the coordinator's clock."""

    leader_epoch: Annotated[Int32, Since(3)] = UNKNOWN_EPOCH
    """Of the last record read."""

    metadata: str = ""
    expire_timestamp: Annotated[Int64, Since(1), Until(1)] = NO_EXPIRY
    """Epoch ms; only version 1 has it (:func:`expiring`)."""

    topic_id: Annotated[Uuid, Since(4), Tag(0)] = ZERO_TOPIC_ID
    value_version: int = _NEWEST_VERSION
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


OFFSET_COMMIT: Final = RecordType(
    OffsetCommitKey, OffsetCommitValue, last_version=_NEWEST_VERSION, flexible_since=4
)


def expiring(value: OffsetCommitValue, expire_timestamp: int) -> OffsetCommitValue:
    """Return a commit with an expire timestamp (epoch ms), which Kafka 4.4 writes in version 1.

    That version has neither leader epoch nor topic id, so they are dropped.
    """
    return value._replace(
        expire_timestamp=expire_timestamp,
        leader_epoch=UNKNOWN_EPOCH,
        topic_id=ZERO_TOPIC_ID,
        value_version=_VERSION_WITH_EXPIRY,
    )


# -- type 0: its oldest form -----------------------------------------------------------------


class LegacyOffsetCommitKey(NamedTuple):
    """The key of record type 0, the oldest form: read like type 1, never written."""

    group: str
    topic: str
    partition: Int32
    record_type: Literal[0] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitValue:
    """The oldest form of :class:`OffsetCommitValue`; no version of it is flexible."""

    offset: Int64
    metadata: str = ""
    commit_timestamp: Int64
    value_version: int = 0
    trailing: bytes = b""


LEGACY_OFFSET_COMMIT: Final = RecordType(
    LegacyOffsetCommitKey, LegacyOffsetCommitValue, flexible_since=1, is_written=False
)

# -- type 2: a classic group -----------------------------------------------------------------


class GroupMetadataKey(NamedTuple):
    """The key of record type 2."""

    group: str
    record_type: Literal[2] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata(Part):
    """One member in a :class:`GroupMetadataValue`.

    The coordinator stores ``subscription`` and ``assignment`` as the clients send them; in the
    consumer protocol they are the bytes that ``embedded`` reads and writes.
    """

    member_id: str
    group_instance_id: Annotated[str | None, Since(3)] = None
    client_id: str
    client_host: str
    rebalance_timeout: Annotated[Int32, Since(1)] = -1
    """Milliseconds; -1: the session timeout is used."""

    session_timeout: Int32
    """Milliseconds."""

    subscription: bytes
    """For the selected protocol only."""

    assignment: bytes = b""
    """Empty: the leader sent no assignment, not even an empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue(RecordValue):
    """The durable state of a classic group."""

    protocol_type: str
    """Empty: none."""

    generation: Int32
    protocol: str | None
    leader: str | None
    current_state_timestamp: Annotated[Int64, Since(2)] = -1
    """Epoch ms; -1: unknown."""

    members: tuple[MemberMetadata, ...] = ()
    """In the order of the coordinator's member map, a Java HashMap of the member ids."""

    value_version: int = 3


GROUP_METADATA: Final = RecordType(
    GroupMetadataKey, GroupMetadataValue, last_version=4, flexible_since=4
)
