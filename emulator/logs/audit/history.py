"""The history of a group as an audit asks for it: what was committed by some time, and rebalances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from emulator.logs.audit.columns import Array
from emulator.logs.audit.ranges import PartitionName

GONE: Final = -1
"""Stands for the offset of a tombstone, and for that of no commit at all."""


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits of one partition in the order of the log."""

    at_us: Array
    """Ascending: no commit came before the one that stands before it."""

    offsets: Array
    """``GONE`` for a tombstone."""

    highest: Array
    """The highest offset up to each."""

    @classmethod
    def of(cls, at_us: Array, offsets: Array) -> Commits:
        """Return commits by the times of their records, which need not be in order."""
        return cls(np.maximum.accumulate(at_us), offsets, np.maximum.accumulate(offsets))

    def count_by(self, at_us: int) -> int:
        """Return how many there were by some time."""
        return int(np.searchsorted(self.at_us, at_us, "right"))

    def newest(self, count: int) -> int:
        """Return the newest offset of the first *count* commits; GONE if there is none."""
        return int(self.offsets[count - 1]) if count else GONE

    def top(self, count: int) -> int:
        """Return the highest offset of the first *count* commits; GONE if there is none."""
        return int(self.highest[count - 1]) if count else GONE

    def first_beyond(self, offset: int, count: int) -> int | None:
        """Return which of the first *count* commits is the first one above an offset."""
        place = int(np.searchsorted(self.highest[:count], offset, "right"))
        return place if place < count else None


NO_COMMITS: Final = Commits.of(np.array([], np.int64), np.array([], np.int64))


class Generation(NamedTuple):
    """The group was given a new assignment."""

    at_us: int
    number: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The history of one group."""

    group: str
    commits: Mapping[PartitionName, Commits]
    generations: Sequence[Generation] = ()
    """In order of time."""

    def last(self, name: PartitionName, end_us: int | None) -> int | None:
        """Return what is committed for a partition at the end, or by the cut."""
        commits = self.commits.get(name, NO_COMMITS)
        count = len(commits.offsets) if end_us is None else commits.count_by(end_us)
        offset = commits.newest(count)
        return None if offset == GONE else offset
