"""What an offset store outside Kafka has written, for a backup of an earlier instant.

Offsets, and the results that a database wrote in the same transactions. Times are microseconds, ranges
of results half open. Changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.types import TopicPartition

Key = tuple[str, TopicPartition]
"""A group and a partition."""

Range = tuple[int, int]

NOTHING_STORED = -1


class StoreHistory:
    """Every write of a store since the beginning of a run, without what a backup has undone."""

    def __init__(self) -> None:
        self._offsets: list[tuple[int, Key, int]] = []
        self._results: list[tuple[int, Key, Range]] = []

    def note(self, at_us: int, offsets: Mapping[Key, int], results: Mapping[Key, Range]) -> None:
        """Add a write: new offsets, and the results that were written with them."""
        self._offsets += [(at_us, key, offset) for key, offset in offsets.items()]
        self._results += [(at_us, key, each) for key, each in results.items()]

    def offsets_at(self, when_us: int) -> dict[Key, int]:
        """Return the offsets that were stored at an instant."""
        return {key: offset for at_us, key, offset in self._offsets if at_us <= when_us}

    def results_since(self, when_us: int) -> dict[Key, tuple[Range, ...]]:
        """Return the results that are stored now and that a backup of an instant does not have."""
        kept: dict[Key, list[Range]] = {}
        newer: dict[Key, list[Range]] = {}
        for at_us, key, each in self._results:
            (kept if at_us <= when_us else newer).setdefault(key, []).append(each)
        missing = {key: tuple(without(newer[key], kept.get(key, ()))) for key in newer}
        return {key: ranges for key, ranges in missing.items() if ranges}

    def restore(self, when_us: int, *, results: bool) -> None:
        """Go back to what was stored at an instant: the offsets, and the *results* or not."""
        self._offsets = [write for write in self._offsets if write[0] <= when_us]
        if results:
            self._results = [write for write in self._results if write[0] <= when_us]


def without(ranges: Iterable[Range], others: Iterable[Range]) -> list[Range]:
    """Return what *ranges* cover and *others* do not, in order.

    >>> without([(0, 5), (3, 12)], [(4, 6), (8, 9)])
    [(0, 4), (6, 8), (9, 12)]
    """
    left, removed = merged(ranges), merged(others)
    for low, high in removed:
        pieces = [[(start, min(end, low)), (max(start, high), end)] for start, end in left]
        left = [each for piece in pieces for each in piece if each[0] < each[1]]
    return left


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Return the same records as disjoint ranges in order."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
