"""How times spread: a histogram that stays small however many it is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

KEPT_BITS: Final = 8
"""Of a number, from its highest: numbers that agree in them count as one, less than 1 % apart."""


@dataclass(slots=True)
class Spread:
    """Counts whole numbers, none of them negative, by their highest bits.

    The same numbers in any order, or merged from any parts, are an equal spread.
    """

    counts: dict[int, int] = field(default_factory=dict)
    """By the smallest number that counts as the same."""

    def add(self, number: int, times: int = 1) -> None:
        """Count a number."""
        low = _floor(number)
        self.counts[low] = self.counts.get(low, 0) + times

    def add_all(self, numbers: npt.NDArray[np.int64]) -> None:
        """Count many numbers at once, each below 2**53."""
        _, bits = np.frexp(numbers.astype(np.float64))
        shifts = np.maximum(bits.astype(np.int64) - KEPT_BITS, 0)
        lows, counts = np.unique(numbers >> shifts << shifts, return_counts=True)
        for low, times in zip(lows.tolist(), counts.tolist(), strict=True):
            self.counts[low] = self.counts.get(low, 0) + times

    def merge(self, other: Spread) -> None:
        """Count all that another one has counted."""
        for low, times in other.counts.items():
            self.counts[low] = self.counts.get(low, 0) + times

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> int | None:
        """Return a number that at least such a share is not above; None if there are none.

        *share*: above 0, at most 1. Less than 1 % too small.

        >>> spread = Spread()
        >>> for number in (10, 20, 30, 40): spread.add(number)
        >>> spread.quantile(0.5), spread.quantile(0.95)
        (20, 40)
        """
        wanted, seen = share * self.total, 0
        for low in sorted(self.counts):
            seen += self.counts[low]
            if seen >= wanted:
                return low
        return None

    def rows(self) -> list[tuple[int, int]]:
        """Return what was counted, and how often, from the smallest on."""
        return sorted(self.counts.items())


def merged(spreads: Iterable[Spread]) -> Spread:
    """Return one spread of all numbers."""
    whole = Spread()
    for each in spreads:
        whole.merge(each)
    return whole


def _floor(number: int) -> int:
    shift = max(number.bit_length() - KEPT_BITS, 0)
    return number >> shift << shift
