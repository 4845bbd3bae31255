"""The consumer protocol inside other bytes: what members tell their leader, and it tells them.

It is in the ``subscription`` and ``assignment`` of a classic group's record, in the metadata of
classic members of a consumer group, and in JoinGroup and SyncGroup. A version above 3 is read
as 3; bytes after the last field known are ignored.

Source: ``ConsumerProtocol``, ``ConsumerProtocolSubscription/Assignment.json`` (KIP-429,
KIP-792, KIP-881).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from assignors.types import NO_GENERATION, Subscription, TopicPartition
from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError
from protocols.offsets_topic.records.layout import (
    BYTES,
    INT32,
    STRING,
    Array,
    Field,
    Layout,
    Struct,
)
from protocols.offsets_topic.records.reading import struct_reader
from protocols.offsets_topic.records.writing import struct_writer

CONSUMER_PROTOCOL_VERSION: Final = 3
"""What Java clients write, of both."""

Partitions = tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsOfTopic:
    """Some partitions of one topic, by its name."""

    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolSubscription:
    """A subscription as the bytes have it."""

    topics: tuple[str, ...]
    user_data: bytes | None
    owned_partitions: tuple[PartitionsOfTopic, ...] = ()
    generation_id: int = NO_GENERATION
    rack_id: str | None = None
    value_version: int = CONSUMER_PROTOCOL_VERSION
    trailing: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolAssignment:
    """An assignment as the bytes have it; all versions look the same."""

    assigned_partitions: tuple[PartitionsOfTopic, ...]
    user_data: bytes | None
    value_version: int = CONSUMER_PROTOCOL_VERSION
    trailing: bytes = b""


_PARTITIONS_OF_TOPIC = Struct(
    PartitionsOfTopic, (Field("topic", STRING), Field("partitions", Array(INT32)))
)
SUBSCRIPTION: Final = Struct(
    ConsumerProtocolSubscription,
    (
        Field("topics", Array(STRING)),
        Field("userData", BYTES, nullable=True),
        Field("ownedPartitions", Array(_PARTITIONS_OF_TOPIC), since=1, default=()),
        Field("generationId", INT32, since=2, default=NO_GENERATION),
        Field("rackId", STRING, nullable=True, since=3, default=None),
    ),
)
ASSIGNMENT: Final = Struct(
    ConsumerProtocolAssignment,
    (
        Field("assignedPartitions", Array(_PARTITIONS_OF_TOPIC)),
        Field("userData", BYTES, nullable=True),
    ),
)


# -- in the assignors' words -----------------------------------------------------------------


def encode_subscription(
    subscription: Subscription, version: int = CONSUMER_PROTOCOL_VERSION
) -> bytes:
    """Return a subscription's bytes as the Java client writes them: everything in order.

    What an older *version* does not have is left out. Raise UnwritableRecordError for what no
    bytes can be.
    """
    newer: dict[str, Any] = {
        "owned_partitions": _grouped(sorted(subscription.owned_partitions)),
        "generation_id": subscription.generation_id,
        "rack_id": subscription.rack_id,
    }
    there = {field.attribute for field in SUBSCRIPTION.of_version(version)}
    return write_embedded(
        SUBSCRIPTION,
        ConsumerProtocolSubscription(
            topics=tuple(sorted(subscription.topics)),
            user_data=subscription.user_data,
            value_version=version,
            **{name: value for name, value in newer.items() if name in there},
        ),
    )


def decode_subscription(data: bytes) -> Subscription:
    """Return what a member told its leader; an empty rack counts as none.

    Raise MalformedRecordError for bytes that are cut off or of a negative version.
    """
    read = read_subscription(data)
    return Subscription(
        topics=read.topics,
        user_data=read.user_data,
        owned_partitions=_flat(read.owned_partitions),
        generation_id=read.generation_id,
        rack_id=read.rack_id or None,
    )


def subscribed_topics(data: bytes) -> tuple[str, ...]:
    """Return the topics of a subscription, whatever follows them: all a coordinator reads.

    Raise MalformedRecordError for bytes that are cut off before.
    """
    return _read(SUBSCRIPTION, data, "subscription", newest=0).topics  # type: ignore[no-any-return]


def encode_assignment(
    partitions: Iterable[TopicPartition],
    user_data: bytes | None = None,
    version: int = CONSUMER_PROTOCOL_VERSION,
) -> bytes:
    """Return an assignment's bytes: by topic, in the order in which each is first named.

    Raise UnwritableRecordError for what no bytes can be.
    """
    return write_embedded(
        ASSIGNMENT,
        ConsumerProtocolAssignment(
            assigned_partitions=_grouped(partitions), user_data=user_data, value_version=version
        ),
    )


def decode_assignment(data: bytes) -> Partitions:
    """Return what a member was given.

    Raise MalformedRecordError for bytes that are cut off or of a negative version.
    """
    return _flat(read_assignment(data).assigned_partitions)


def _grouped(partitions: Iterable[TopicPartition]) -> tuple[PartitionsOfTopic, ...]:
    topics = dict[str, list[int]]()
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return tuple(
        PartitionsOfTopic(topic=topic, partitions=tuple(numbers))
        for topic, numbers in topics.items()
    )


def _flat(topics: tuple[PartitionsOfTopic, ...]) -> Partitions:
    return tuple(
        TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions
    )


# -- field by field --------------------------------------------------------------------------


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Return a subscription field by field; errors as :func:`decode_subscription`."""
    read: ConsumerProtocolSubscription = _read(SUBSCRIPTION, data, "subscription")
    return read


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Return an assignment field by field; errors as :func:`decode_assignment`."""
    read: ConsumerProtocolAssignment = _read(ASSIGNMENT, data, "assignment")
    return read


def write_embedded(
    table: Struct, value: ConsumerProtocolSubscription | ConsumerProtocolAssignment
) -> bytes:
    """Return the bytes of either, in its own version."""
    version = value.value_version
    if not 0 <= version <= CONSUMER_PROTOCOL_VERSION:
        raise UnwritableRecordError(
            f"{table.cls.__name__}.value_version", f"no such version: {version}; there are 0 to 3"
        )
    try:
        layout = Layout(version, flexible=False)
        return struct_writer(table, layout, version.to_bytes(2))(value)
    except UnwritableRecordError as error:
        raise error.within(table.cls.__name__) from None


def _read(table: Struct, data: bytes, part: str, newest: int = CONSUMER_PROTOCOL_VERSION) -> Any:
    """Read bytes of any version, as *newest* if they are of a newer one."""
    name = table.cls.__name__
    if len(data) < 2:
        problem = f"2 bytes wanted, {len(data)} left"
        raise MalformedRecordError(0, f"{name}.version", problem, part)
    version = int.from_bytes(data[:2], signed=True)
    if version < 0:
        raise MalformedRecordError(0, f"{name}.version", f"{version} is no version", part)
    try:
        layout = Layout(min(version, newest), flexible=False)
        return struct_reader(table, layout)(data, 2)[0]
    except MalformedRecordError as error:
        raise error.of(part, name) from None
