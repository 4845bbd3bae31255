"""An exact model of the iteration order of Java's hash maps and sets.

That order is a pure function of the keys and of how the map was filled. In Kafka it decides the
assignment of partitions, the leader of a group, and the order in which offsets are written:

* hashes of the keys that Kafka uses: strings, partitions, topic ids;
* :func:`hash_map_order`, the order of a map that was filled by ``put``, in one step;
* :class:`HashTable`, a table that is filled, read and emptied key by key.

Kafka's coordinator uses another hash table, see :func:`timeline_map_length`.
Sources: ``java.util.HashMap`` (OpenJDK 17), ``org.apache.kafka.timeline.BaseHashTable``.

Not modelled: nine keys in one slot of a table of 64 slots or more become a tree in Java, whose
order may differ; here they stay a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache, reduce
from operator import mul
from typing import Generic, TypeVar

from assignors.types import TopicPartition

K = TypeVar("K")

DEFAULT_LENGTH = 16
"""Slots of a map made without a capacity."""

TIMELINE_LENGTH = 2
"""Slots of a timeline map made for no keys."""

_CHAIN_LIMIT = 8
_TREE_LENGTH = 64
_MASK_32 = 0xFFFF_FFFF
_POWERS = [pow(31, exponent, 1 << 32) for exponent in range(256)]
"""The weight of each unit of a string, the last one first."""


@lru_cache(maxsize=1 << 16)  # a Java string caches its hash, too
def java_hash(text: str) -> int:
    """Return ``String.hashCode()``, a signed 32-bit number.

    >>> java_hash("orders"), java_hash("\N{GRINNING FACE}")
    (-1008770331, 1772899)
    """
    units = text.encode() if text.isascii() else _utf16_units(text)
    if len(units) <= len(_POWERS):  # names are short; a dot product beats a loop over units
        return _signed_32(sum(map(mul, reversed(units), _POWERS)))
    return _signed_32(reduce(lambda value, unit: 31 * value + unit & _MASK_32, units, 0))


def string_order(text: str) -> bytes:
    """Return a sort key that orders texts as ``String.compareTo`` does: by UTF-16 unit.

    >>> sorted(["\uffff", "\N{GRINNING FACE}", "a"], key=string_order)
    ['a', '😀', '\uffff']
    """
    return text.encode("utf-16-be", "surrogatepass")


def topic_partition_hash(partition: TopicPartition) -> int:
    """Return ``TopicPartition.hashCode()``, a signed 32-bit number."""
    return _signed_32(31 * (31 + partition.partition) + java_hash(partition.topic))


def uuid_hash(topic_id: bytes) -> int:
    """Return ``Uuid.hashCode()`` of a 16-byte id, a signed 32-bit number."""
    mixed = int.from_bytes(topic_id[:8], "big") ^ int.from_bytes(topic_id[8:], "big")
    return _signed_32(mixed >> 32 ^ mixed)


def spread_hash(value: int) -> int:
    """Return the hash as a HashMap spreads it: its high half mixed into its low half.

    The slot in a table of ``length`` slots is ``spread_hash(value) & length - 1``.
    """
    value &= _MASK_32
    return value ^ value >> 16


def hash_map_length(count: int, length: int = DEFAULT_LENGTH) -> int:
    """Return the number of slots of a map after *count* puts, if it had *length* before.

    >>> hash_map_length(12), hash_map_length(13)
    (16, 32)
    """
    while 4 * count > 3 * length:
        length *= 2
    return length


def length_for_capacity(capacity: int) -> int:
    """Return the first length of ``new HashMap(capacity)``: the next power of two.

    >>> length_for_capacity(0), length_for_capacity(17)
    (1, 32)
    """
    return 1 << (capacity - 1).bit_length() if capacity > 1 else 1


def length_of_map_copy(count: int) -> int:
    """Return the number of slots of ``new HashMap(map)`` for a map of *count* keys.

    >>> [length_of_map_copy(count) for count in (2, 3, 5, 6, 11, 12)]
    [4, 8, 8, 16, 16, 32]
    """
    return length_for_capacity(4 * count // 3 + 1)


def length_of_set_copy(reported_size: int) -> int:
    """Return the first length of ``new HashSet(collection)`` of that size."""
    return length_for_capacity(max(4 * reported_size // 3 + 1, DEFAULT_LENGTH))


def hash_map_order(
    keys: Iterable[K], hash_of: Callable[[K], int], length: int = DEFAULT_LENGTH
) -> list[K]:
    """Return *keys* as a HashMap or HashSet iterates them.

    *keys*: in the order in which they were put in; a repeated key keeps its first place.
    *length*: slots of the table before the first of them; a table never shrinks, so for a map
    that once was larger give the length it had then (:func:`hash_map_length`).

    >>> hash_map_order(["range", "roundrobin", "sticky", "cooperative-sticky"], java_hash)
    ['sticky', 'range', 'roundrobin', 'cooperative-sticky']
    """
    distinct = dict.fromkeys(keys)
    if _may_chain(distinct, hash_of, length):
        table = HashTable(hash_of, length)
        for key in distinct:
            table.put(key)
        return list(table)
    length = hash_map_length(len(distinct), length)
    return sorted(distinct, key=lambda key: _slot(hash_of(key), length))


def timeline_map_length(count: int, length: int = TIMELINE_LENGTH) -> int:
    """Return the number of slots of a timeline map after its *count*-th key was put in.

    Java resizes before it looks for the key: for putting a present key again into a map of *count*
    keys, pass *count* + 1.
    """
    while 3 * count > 4 * length:
        length *= 2
    return length


class HashTable(Generic[K]):
    """The keys of one HashMap or HashSet, in Java's order.

    Inside a slot a chain keeps its order when the table doubles and when keys leave, so each key
    gets a rank on arrival: the next one at the tail, or the one before the head.
    """

    __slots__ = ("_hash_of", "_head", "_ranks", "_tail", "length")

    def __init__(self, hash_of: Callable[[K], int], length: int = DEFAULT_LENGTH) -> None:
        self.length = length
        self._hash_of = hash_of
        self._ranks: dict[K, int] = {}
        self._head = 0
        self._tail = 0

    def put(self, key: K) -> None:
        """Add *key* at the end of its chain, as ``put`` and ``HashSet.add`` do."""
        if key in self._ranks:
            return
        self._ranks[key] = self._tail
        self._tail += 1
        self._grow_if_chained(key, _CHAIN_LIMIT + 1)
        if self._is_full():
            self.length *= 2

    def compute_if_absent(self, key: K) -> None:
        """Add *key* at the head of its chain, as ``computeIfAbsent`` and ``merge`` do."""
        if self._is_full():
            self.length *= 2
        if key in self._ranks:
            return
        self._head -= 1
        self._ranks[key] = self._head
        self._grow_if_chained(key, _CHAIN_LIMIT)

    def remove(self, key: K) -> None:
        """Remove *key*; the table keeps its length. Raises KeyError if it is absent."""
        del self._ranks[key]

    def __contains__(self, key: K) -> bool:
        return key in self._ranks

    def __iter__(self) -> Iterator[K]:
        return iter(sorted(self._ranks, key=lambda key: (self._slot(key), self._ranks[key])))

    def __len__(self) -> int:
        return len(self._ranks)

    def _slot(self, key: K) -> int:
        return _slot(self._hash_of(key), self.length)

    def _is_full(self) -> bool:
        return len(self._ranks) > 3 * self.length // 4

    def _grow_if_chained(self, key: K, limit: int) -> None:
        """Double a small table if *limit* keys share the slot of *key*."""
        if limit <= len(self._ranks) and self.length < _TREE_LENGTH:
            slot = self._slot(key)
            if sum(self._slot(other) == slot for other in self._ranks) >= limit:
                self.length *= 2


def _slot(hash_value: int, length: int) -> int:
    return spread_hash(hash_value) & length - 1


def _may_chain(keys: Collection[K], hash_of: Callable[[K], int], length: int) -> bool:
    """Return whether nine keys could have shared a slot while the table had fewer than 64."""
    if len(keys) <= _CHAIN_LIMIT or hash_map_length(len(keys), length) >= _TREE_LENGTH:
        return False
    shortest = min(length, DEFAULT_LENGTH)
    slots = {_slot(hash_of(key), shortest) for key in keys}
    return len(keys) - len(slots) >= _CHAIN_LIMIT


def _utf16_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be", "surrogatepass")
    return [high << 8 | low for high, low in zip(encoded[::2], encoded[1::2], strict=True)]


def _signed_32(value: int) -> int:
    return (value + 0x8000_0000 & _MASK_32) - 0x8000_0000
