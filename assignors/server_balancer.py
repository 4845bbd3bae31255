"""Which reader of a topic has least and which most, while partitions go from one to the other.

Source: ``UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`` (spec assignors 1.9.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Balancer:
    """Picks readers from both ends of a list that was sorted by size once, at the start.

    At either end stands a band of readers with one size, from which they are picked in turn. The
    low band rises with each full turn and takes in those that already are at its new size; the
    high band sinks likewise. The list is never sorted again: inside a band all sizes are equal.
    """

    def __init__(self, sizes: Sequence[int], readers: Iterable[int]) -> None:
        """Sort *readers* by size and index; *sizes* changes while the balancer is used."""
        self._sizes = sizes
        self._readers = sorted(readers, key=lambda reader: (sizes[reader], reader))
        smallest, largest = sizes[self._readers[0]], sizes[self._readers[-1]]
        self.difference = largest - smallest
        """Between the largest and the smallest size at the start."""

        self._low_end = 0
        self._low_level = smallest - 1
        self._next_low = 0
        self._high_start = self._high_end = len(self._readers)
        self._high_level = largest + 1
        self._next_high = len(self._readers) - 1

    @property
    def level(self) -> bool:
        """Whether the two bands have met, but for one partition."""
        return self._high_level - self._low_level <= 1

    def least(self) -> int:
        """Return the next reader of the low band; it is expected to get a partition."""
        if self._next_low >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._readers) and self._at(self._low_end, self._low_level):
                self._low_end += 1
            self._next_low = 0
        self._next_low += 1
        return self._readers[self._next_low - 1]

    def most(self) -> int | None:
        """Return the next reader of the high band, None if all have been excluded."""
        if self._next_high < self._high_start:
            self._sink()
        if self._next_high < 0:
            return None
        self._next_high -= 1
        return self._readers[self._next_high + 1]

    def exclude(self) -> None:
        """Take the reader that :meth:`most` returned last out of the high band for good."""
        place, last = self._next_high + 1, self._high_end - 1
        readers = self._readers
        readers[place], readers[last] = readers[last], readers[place]
        self._high_end -= 1

    def _sink(self) -> None:
        if self._high_end <= self._high_start and self._high_start > 0:
            self._high_level = self._sizes[self._readers[self._high_start - 1]]
        else:
            self._high_level -= 1
        while self._high_start > 0 and self._at(self._high_start - 1, self._high_level):
            self._high_start -= 1
        self._next_high = self._high_end - 1

    def _at(self, place: int, level: int) -> bool:
        return self._sizes[self._readers[place]] == level
