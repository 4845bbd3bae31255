"""Count the partitions that a rebalance moved, and those that it had to move.

A move is *needed* when the old owner is gone, or when balance requires it: with ``P`` partitions
and ``M`` members each may own ``P // M``, and ``P % M`` of them one more, those that own most now.
Partitions that remaining members owned beyond that had to move; any other partition taken from a
remaining member is *unneeded*. Subscriptions are taken to be equal: where they differ, balance
cannot be reached and more moves count as needed or unneeded than strictly are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from assignors.types import TopicPartition

Owners = Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class Moves:
    """The number of partitions that changed their owner."""

    needed: int = 0
    unneeded: int = 0

    def __add__(self, other: Moves) -> Moves:
        return Moves(self.needed + other.needed, self.unneeded + other.unneeded)


def count_moves(before: Owners, after: Owners, members: tuple[str, ...]) -> Moves:
    """Compare the owners before and after; *members* are those of the new generation.

    Partitions without an owner before or now have not moved.

    >>> t = [TopicPartition("t", n) for n in range(6)]
    >>> before = dict(zip(t, "aaabbb"))
    >>> count_moves(before, dict(zip(t, "aacbbc")), ("a", "b", "c"))
    Moves(needed=2, unneeded=0)
    >>> count_moves(before, dict(zip(t, "aabbcc")), ("a", "b", "c"))
    Moves(needed=2, unneeded=1)
    >>> count_moves(before, dict(zip(t, "bbbbbb")), ("b",))
    Moves(needed=3, unneeded=0)
    """
    staying = set(members)
    orphaned = taken = 0
    for partition, owner in after.items():
        old = before.get(partition, owner)
        if old != owner and old in staying:
            taken += 1
        elif old != owner:
            orphaned += 1
    held = Counter(dict.fromkeys(members, 0))
    held.update(before[p] for p in after if before.get(p) in staying)
    forced = min(taken, _surplus(sorted(held.values(), reverse=True), len(after)))
    return Moves(orphaned + forced, taken - forced)


def _surplus(held: list[int], partitions: int) -> int:
    """Return the number of partitions beyond a balanced share, largest owners first."""
    if not held:
        return 0
    share, extra = divmod(partitions, len(held))
    shares = (share + (place < extra) for place in range(len(held)))
    return sum(max(0, count - due) for count, due in zip(held, shares, strict=True))
