"""The consumer protocol: the subscriptions and assignments of classic members, as bytes.

They are in the ``subscription`` and ``assignment`` of a classic group's record, in the metadata of
classic members of a consumer group, and in JoinGroup and SyncGroup. A version above 3 is read
as 3; bytes after the last known field are ignored.

Source: ``ConsumerProtocol``, ``ConsumerProtocolSubscription/Assignment.json`` (KIP-429,
KIP-792, KIP-881).
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from assignors.types import NO_GENERATION, Subscription, TopicPartition
from assignors.values import dataclass
from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError
from protocols.offsets_topic.records.reading import struct_reader
from protocols.offsets_topic.records.schema import Int32, Layout, Since, Struct, struct_of
from protocols.offsets_topic.records.writing import struct_writer

CONSUMER_PROTOCOL_VERSION: Final = 3
"""The version of both that Java clients write."""

Partitions = tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsOfTopic:
    """Partitions of one topic, by its name."""

    topic: str
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolSubscription:
    """A subscription, field by field."""

    topics: tuple[str, ...]
    user_data: bytes | None
    owned_partitions: Annotated[tuple[PartitionsOfTopic, ...], Since(1)] = ()
    generation_id: Annotated[Int32, Since(2)] = NO_GENERATION
    rack_id: Annotated[str | None, Since(3)] = None
    value_version: int = CONSUMER_PROTOCOL_VERSION
    trailing: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolAssignment:
    """An assignment, field by field; all versions have the same fields."""

    assigned_partitions: tuple[PartitionsOfTopic, ...]
    user_data: bytes | None
    value_version: int = CONSUMER_PROTOCOL_VERSION
    trailing: bytes = b""


SUBSCRIPTION: Final = struct_of(ConsumerProtocolSubscription)
ASSIGNMENT: Final = struct_of(ConsumerProtocolAssignment)


# -- as values of the assignors -----------------------------------------------------------------


def encode_subscription(
    subscription: Subscription, version: int = CONSUMER_PROTOCOL_VERSION
) -> bytes:
    """Return a subscription's bytes as the Java client writes them: topics and partitions sorted.

    Fields that an older *version* does not have are left out. Raise UnwritableRecordError for a
    value that cannot be encoded.
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
    """Return the subscription of a member; an empty rack counts as none.

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
    """Return the topics of a subscription, the only part that a coordinator reads.

    Raise MalformedRecordError if the bytes end before the topics do.
    """
    return _read(SUBSCRIPTION, data, "subscription", newest=0).topics  # type: ignore[no-any-return]


def encode_assignment(
    partitions: Iterable[TopicPartition],
    user_data: bytes | None = None,
    version: int = CONSUMER_PROTOCOL_VERSION,
) -> bytes:
    """Return an assignment's bytes: by topic, in order of first appearance.

    Raise UnwritableRecordError for a value that cannot be encoded.
    """
    return write_embedded(
        ASSIGNMENT,
        ConsumerProtocolAssignment(
            assigned_partitions=_grouped(partitions), user_data=user_data, value_version=version
        ),
    )


def decode_assignment(data: bytes) -> Partitions:
    """Return the partitions of an assignment.

    Raise MalformedRecordError for bytes that are cut off or of a negative version.
    """
    return assigned_partitions(read_assignment(data))


def assigned_partitions(read: ConsumerProtocolAssignment) -> Partitions:
    """Return the partitions of an assignment that was read field by field."""
    return _flat(read.assigned_partitions)


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
