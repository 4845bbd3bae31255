"""Choose what a report shows of many things, so that every kind of them is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

RECURRING: Final = frozenset({"poison", "scale_up", "scale_down"})
"""Faults and acts that recur by themselves: they make room for all others."""


def shares(
    counts: Mapping[str, int], room: int, recurring: Collection[str] = RECURRING
) -> dict[str, int]:
    """Return how many of each kind are shown: equally many, as far as there are so many.

    What a kind leaves goes to the more frequent ones; *recurring* kinds get what all others leave.

    >>> shares({"restart": 90, "crash": 1, "pause": 3, "poison": 500}, 8)
    {'restart': 4, 'crash': 1, 'pause': 3, 'poison': 0}
    """
    rarest_first = sorted(counts, key=lambda kind: (kind in recurring, counts[kind]))
    several = sum(kind not in recurring for kind in counts)
    given = dict.fromkeys(counts, 0)
    for place, kind in enumerate(rarest_first):
        rivals = (several if place < several else len(counts)) - place
        given[kind] = min(counts[kind], -(-room // rivals))
        room -= given[kind]
    return given


def counted_kinds(kinds: Iterable[str]) -> str:
    """Return how often each kind occurs, the most frequent first.

    >>> counted_kinds(["crash", "restart", "restart"])
    'restart (2), crash (1)'
    """
    return ", ".join(f"{kind} ({number:,})" for kind, number in Counter(kinds).most_common())
