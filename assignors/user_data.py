"""What the sticky assignors tell the leader about themselves, byte for byte as Kafka's do.

Sources: ``StickyAssignor`` (``STICKY_ASSIGNOR_USER_DATA_V0``, ``_V1``) and
``CooperativeStickyAssignor`` (``COOPERATIVE_STICKY_ASSIGNOR_USER_DATA_V0``); all numbers are
big-endian.

=========================  ==================================================================
sticky, version 0          array of {topic string, partitions array of int32}
sticky, version 1          the same, then generation int32
cooperative-sticky         generation int32
=========================  ==================================================================
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

from assignors.java import HashTable, java_hash
from assignors.types import NO_GENERATION, TopicPartition, partition_of_pair

_INT32 = struct.Struct(">i")
_two_int32 = struct.Struct(">ii").unpack_from
_STRING_MAXIMUM = 0x7FFF


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member says it had, and since when."""

    partitions: tuple[TopicPartition, ...] | list[TopicPartition] = ()
    """In the order in which it said so; they may not exist, or belong to others."""

    generation: int | None = None
    """None if the member named no generation at all; Kafka tells that from -1."""


NO_CLAIM = Claim()
UNREADABLE_CLAIM = Claim((), NO_GENERATION)


def encode_sticky(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Return version 1 of the user data: *partitions* by topic, then *generation*.

    Topics stand in the order of a HashMap that ``computeIfAbsent`` filled.

    >>> encode_sticky([TopicPartition("t", 0), TopicPartition("t", 1)], 7).hex(" ", -4)
    '00000001 00017400 00000200 00000000 00000100 000007'
    """
    table: HashTable[str] = HashTable(java_hash)
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        table.compute_if_absent(topic)
        numbers.setdefault(topic, []).append(number)
    parts = [_INT32.pack(len(table))]
    for topic in table:
        name = topic.encode()
        count = len(numbers[topic])
        parts += (struct.pack(">h", len(name)), name)
        parts.append(struct.pack(f">{count + 1}i", count, *numbers[topic]))
    parts.append(_INT32.pack(generation))
    return b"".join(parts)


def decode_sticky(data: bytes | None, names: dict[bytes, str] | None = None) -> Claim:
    """Return what the user data claims: version 1, else version 0, else nothing.

    *names*: topic names met so far, shared by the members of a group so that each name is
    decoded once; it is added to.
    """
    if not data:
        return NO_CLAIM
    names = {} if names is None else names
    try:
        partitions, end = _read_partitions(data, names)
        return Claim(partitions, _INT32.unpack_from(data, end)[0])
    except struct.error:
        pass
    try:
        # The reader looks one number ahead, which version 0 does not have behind its last topic.
        partitions, end = _read_partitions(data + bytes(4), names)
    except struct.error:
        return UNREADABLE_CLAIM
    return Claim(partitions) if end <= len(data) else UNREADABLE_CLAIM


def encode_cooperative(generation: int) -> bytes:
    """Return the user data of a cooperative-sticky member."""
    return _INT32.pack(generation)


def decode_cooperative(data: bytes | None) -> int | None:
    """Return the generation a cooperative-sticky member names; None without user data."""
    if data is None:
        return None
    try:
        generation: int = _INT32.unpack_from(data)[0]
    except struct.error:
        return NO_GENERATION
    return generation


def _read_partitions(data: bytes, names: dict[bytes, str]) -> tuple[list[TopicPartition], int]:
    """Return the partitions and the place behind them; raises ``struct.error`` on bad data.

    Most members of a large group have one partition of each of many topics, so this loop runs a
    million times; reading lengths by hand and a lone number together with its count halves it.
    """
    partitions: list[TopicPartition] = []
    place = 4
    topics: int = _INT32.unpack_from(data)[0]
    if topics < 0:
        raise struct.error("an array's length is negative")
    for _ in range(topics):
        end = place + 2 + int.from_bytes(data[place : place + 2])
        raw = data[place + 2 : end]
        topic = names.get(raw)
        if topic is None:
            topic = names[raw] = _topic_name(raw)
        count, number = _two_int32(data, end)
        if count == 1:
            partitions.append(partition_of_pair((topic, number)))
        else:
            numbers = struct.unpack_from(f">{count}i", data, end + 4)
            partitions.extend(map(partition_of_pair, zip(repeat(topic), numbers)))
        place = end + 4 + 4 * count
    return partitions, place


def _topic_name(raw: bytes) -> str:
    if len(raw) > _STRING_MAXIMUM:
        raise struct.error("a string's length is negative")
    return raw.decode(errors="replace")
