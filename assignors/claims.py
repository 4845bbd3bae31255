"""The members' claims of owned partitions, and the resolution of conflicting claims.

The sticky assignors send their claims to the leader in their user data, byte for byte as Kafka's
do; all numbers are big-endian.

=========================  ==================================================================
sticky, version 0          array of {topic string, partitions array of int32}
sticky, version 1          the same, then generation int32
cooperative-sticky         generation int32
=========================  ==================================================================

Sources: ``StickyAssignor`` (``STICKY_ASSIGNOR_USER_DATA_V0``, ``_V1``),
``CooperativeStickyAssignor`` (``COOPERATIVE_STICKY_ASSIGNOR_USER_DATA_V0``) and
``AbstractStickyAssignor.allSubscriptionsEqual``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import repeat

from assignors.java import HashTable, java_hash
from assignors.leader_input import LeaderInput
from assignors.types import NO_GENERATION, Subscription, TopicPartition, partition_of_pair
from assignors.values import dataclass

_INT32 = struct.Struct(">i")
_two_int32 = struct.Struct(">ii").unpack_from
_STRING_MAXIMUM = 0x7FFF


@dataclass(frozen=True, slots=True)
class Claim:
    """The partitions that a member claims to have owned, and the generation."""

    partitions: tuple[TopicPartition, ...] | list[TopicPartition] = ()
    """In the order of the claim; they may not exist, or belong to other members."""

    generation: int | None = None
    """None if the claim has no generation, which Kafka distinguishes from -1."""


Claims = Mapping[str, Claim]
"""Member to its claim, in member order."""

NO_CLAIM = Claim()
UNREADABLE_CLAIM = Claim((), NO_GENERATION)


def encode_sticky(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Return version 1 of the user data: *partitions* by topic, then *generation*.

    Topics are in the order of a HashMap filled by ``computeIfAbsent``.

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
    """Return the claim in the user data, read as version 1, else as version 0, else empty.

    *names*: topic names decoded so far, shared by the members of a group so that each name is
    decoded once; new names are added.
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
        # The reader looks one number ahead, which version 0 does not have after its last topic.
        partitions, end = _read_partitions(data + bytes(4), names)
    except struct.error:
        return UNREADABLE_CLAIM
    return Claim(partitions) if end <= len(data) else UNREADABLE_CLAIM


def encode_cooperative(generation: int) -> bytes:
    """Return the user data of a cooperative-sticky member."""
    return _INT32.pack(generation)


def decode_cooperative(data: bytes | None) -> int | None:
    """Return the generation of a cooperative-sticky member; None without user data."""
    if data is None:
        return None
    try:
        generation: int = _INT32.unpack_from(data)[0]
    except struct.error:
        return NO_GENERATION
    return generation


def _read_partitions(data: bytes, names: dict[bytes, str]) -> tuple[list[TopicPartition], int]:
    """Return the partitions and the position after them; raises ``struct.error`` on bad data.

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


@dataclass(frozen=True, slots=True)
class Owned:
    """The partitions that each member owned, after conflicts are resolved."""

    partitions: dict[str, list[TopicPartition]]
    """Member to its partitions of known topics, in the order of its claim."""

    doubly_claimed: set[TopicPartition] = field(default_factory=set)
    """Claimed by two members of one generation; neither member keeps them."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target assignment of a sticky assignor."""

    partitions: dict[str, list[TopicPartition]]

    transferring: set[TopicPartition]
    """New to their member and still claimed by another member."""


def subscriptions_equal(group: LeaderInput) -> bool:
    """Return whether Kafka treats all subscriptions as equal.

    Kafka does not notice members without topics that come before the first member with topics,
    and then treats them as full members.
    """
    reference: tuple[str, ...] = ()
    for topics in group.topics_of.values():
        if not reference:
            reference = topics
        elif topics != reference:
            return False
    return True


def highest_generation(claims: Claims, before: int) -> int:
    """Return the highest generation claimed now or known *before*."""
    return max(before, max(map(generation_of, claims.values()), default=before))


def generation_of(claim: Claim) -> int:
    """Return the generation of *claim*, :data:`NO_GENERATION` if it has none."""
    return NO_GENERATION if claim.generation is None else claim.generation


def settle_claims(group: LeaderInput, claims: Claims) -> Owned:
    """Return the partitions that each member owned, with conflicting claims resolved.

    A rival's claim is compared with the generation in the *subscription field* of the last
    claimer, regardless of the generation in its user data, as in Kafka.
    """
    known = group.partition_counts
    claimed = {
        member: [partition for partition in claim.partitions if partition[0] in known]
        for member, claim in claims.items()
    }
    everything: set[TopicPartition] = set()
    for partitions in claimed.values():
        everything.update(partitions)
    if len(everything) == sum(map(len, claimed.values())):
        return Owned(claimed)  # no conflicts: the usual case, which must be fast
    return _settle_rivals(group.subscriptions, claims, claimed)


def _settle_rivals(
    subscriptions: Mapping[str, Subscription],
    claims: Claims,
    claimed: Mapping[str, list[TopicPartition]],
) -> Owned:
    owned = Owned({member: [] for member in claimed})
    last_claimer: dict[TopicPartition, str] = {}
    for member, partitions in claimed.items():
        generation = generation_of(claims[member])
        for partition in partitions:
            rival = last_claimer.get(partition)
            if rival is None:
                owned.partitions[member].append(partition)
                last_claimer[partition] = member
                continue
            rival_generation = subscriptions[rival].generation_id
            if generation < rival_generation:
                continue
            if partition in owned.partitions[rival]:
                owned.partitions[rival].remove(partition)
            if generation == rival_generation:
                owned.doubly_claimed.add(partition)
            else:
                owned.partitions[member].append(partition)
            last_claimer[partition] = member
    return owned
