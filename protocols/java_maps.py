"""Persistent maps that iterate in the order of Java's hash tables.

Kafka's coordinator keeps a group's members in a ``HashMap`` and everything it can roll back
(offsets, groups) in ``TimelineHashMap``; both orders are visible in responses and in the log.
A change here returns a new map and leaves the old one unchanged; the order is computed only when
the map is iterated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from immutables import Map

from assignors.java import TIMELINE_LENGTH, java_hash, spread_hash, timeline_map_length
from assignors.values import dataclass

K = TypeVar("K", str, int)
V = TypeVar("V")

NOTHING: Map[Any, Any] = Map()
"""The empty persistent map."""

_MASK_64 = 0xFFFF_FFFF_FFFF_FFFF
_GOLDEN_RATIO = 0x9E37_79B9_7F4A_7C15


def spread(text: str) -> int:
    """Return the hash by which a ``HashMap`` places *text* (:func:`assignors.java.spread_hash`)."""
    return spread_hash(java_hash(text))


def recounted(counts: Map[str, int], before: Iterable[str], after: Iterable[str]) -> Map[str, int]:
    """Return how many lists have each name, after one list changed from *before* to *after*."""
    if before == after:
        return counts
    old, new = set(before), set(after)
    for name in sorted(old - new):
        left = counts[name] - 1
        counts = counts.set(name, left) if left else counts.delete(name)
    for name in sorted(new - old):
        counts = counts.set(name, counts.get(name, 0) + 1)
    return counts


@dataclass(frozen=True, slots=True)
class TimelineMap(Generic[K, V]):
    """A persistent map with the order of Kafka's ``TimelineHashMap``: by slot, the newest key first.

    Putting, removing and finding cost O(log n); iterating costs O(n log n).

    >>> six = TimelineMap().put_all((number, "") for number in range(6))
    >>> [number for number, _ in six.items()]
    [5, 0, 2, 4, 1, 3]
    """

    entries: Map[K, V] = NOTHING
    ages: Map[K, int] = NOTHING
    """The order in which the keys were first put in; a replaced value keeps its key's age."""

    next_age: int = 0
    length: int = TIMELINE_LENGTH
    """Slots; the table never shrinks."""

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def get(self, key: K) -> V | None:
        """Return the value of *key*, or None."""
        return self.entries.get(key)

    def put(self, key: K, value: V) -> TimelineMap[K, V]:
        """Return the map with *key* set; Java resizes before it looks for the key."""
        count = len(self.entries)
        length = timeline_map_length(count + 1, self.length)
        entries = self.entries.set(key, value)
        if len(entries) == count:
            return TimelineMap(entries, self.ages, self.next_age, length)
        return TimelineMap(entries, self.ages.set(key, self.next_age), self.next_age + 1, length)

    def hold(self, key: K, value: V) -> TimelineMap[K, V]:
        """Return the map with *key* set; Java finds the key first and resizes only for a new one."""
        if key not in self.entries:
            return self.put(key, value)
        entries = self.entries.set(key, value)
        return TimelineMap(entries, self.ages, self.next_age, self.length)

    def put_all(self, pairs: Iterable[tuple[K, V]]) -> TimelineMap[K, V]:
        """Return the map with all pairs put in, in order."""
        known, next_age, length = self.entries, self.next_age, self.length
        entries, ages = known.mutate(), None
        for key, value in pairs:
            count = len(entries)
            if 3 * (count + 1) > 4 * length:
                length = timeline_map_length(count + 1, length)
            entries[key] = value
            if len(entries) > count:
                ages = self.ages.mutate() if ages is None else ages
                ages[key] = next_age
                next_age += 1
        aged = self.ages if ages is None else ages.finish()
        return TimelineMap(entries.finish(), aged, next_age, length)

    def without(self, key: K) -> TimelineMap[K, V]:
        """Return the map without *key*, which must be in it; the table keeps its length."""
        return TimelineMap(
            self.entries.delete(key), self.ages.delete(key), self.next_age, self.length
        )

    def items(self) -> list[tuple[K, V]]:
        """Return keys and values in Kafka's order."""
        shift = 65 - self.length.bit_length()
        ages, hash_of = self.ages, _hash_of

        def place(item: tuple[K, V]) -> tuple[int, int]:
            key = item[0]
            return (hash_of(key) * _GOLDEN_RATIO & _MASK_64) >> shift, -ages[key]

        return sorted(self.entries.items(), key=place)

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self.items())


def _hash_of(key: str | int) -> int:
    return java_hash(key) if isinstance(key, str) else key
