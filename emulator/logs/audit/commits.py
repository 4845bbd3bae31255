"""The history of one group for an audit: its commits by partition, and its generations.

An offsets log may contain more commits than fit in memory, and those of one partition are spread
over the whole log. So commits are written to temporary files by partition, and read back one
partition at a time.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from assignors.values import dataclass
from emulator.logs.audit.columns import Array
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError

GONE: Final = -1
"""The offset of a tombstone, and the offset if there is no commit."""


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits of one partition in the order of the log."""

    at_us: Array
    """Ascending: in the order of the log."""

    offsets: Array
    """``GONE`` for a tombstone."""

    highest: Array
    """The highest offset up to each."""

    @classmethod
    def of(cls, at_us: Array, offsets: Array) -> Commits:
        """Return commits with the times of their records, which need not be in order."""
        return cls(np.maximum.accumulate(at_us), offsets, np.maximum.accumulate(offsets))

    def count_by(self, at_us: int) -> int:
        """Return the number of commits up to a time."""
        return int(np.searchsorted(self.at_us, at_us, "right"))

    def newest(self, count: int) -> int:
        """Return the newest offset of the first *count* commits; GONE if there is none."""
        return int(self.offsets[count - 1]) if count else GONE

    def top(self, count: int) -> int:
        """Return the highest offset of the first *count* commits; GONE if there is none."""
        return int(self.highest[count - 1]) if count else GONE

    def first_beyond(self, offset: int, count: int) -> int | None:
        """Return the index of the first commit above an offset among the first *count*."""
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
        """Return the committed offset of a partition at the end of the log, or at the cut."""
        commits = self.commits.get(name, NO_COMMITS)
        count = len(commits.offsets) if end_us is None else commits.count_by(end_us)
        offset = commits.newest(count)
        return None if offset == GONE else offset


# -- collecting commits -------------------------------------------------------------------------

MAX_HELD: Final = 1 << 21
"""Commits in memory while a log is read; each takes 32 bytes."""

COLUMNS: Final = 3
"""Columns of a kept commit: position in the log, time in microseconds, offset."""

_SHORT: Final = 1 << 16


class KeptCommits(Mapping[PartitionName, Commits]):
    """Commits by partition: first call ``add``, then ``settle``, then read them."""

    def __init__(self, max_held: int = MAX_HELD) -> None:
        """Keep at most *max_held* in memory, the others in temporary files."""
        self._max_held = max_held
        self._numbers = dict[PartitionName, int]()
        self._held = list[tuple[Array, Array]]()
        self._count = 0
        self._in_memory = dict[int, Array]()
        self._folder: Path | None = None
        self._last: tuple[PartitionName, Commits] | None = None

    def number_of(self, name: PartitionName) -> int:
        """Return the number under which commits of a partition are added."""
        return self._numbers.setdefault(name, len(self._numbers))

    def add(self, numbers: Array, rows: Array) -> None:
        """Add commits; *rows*: three columns. Raise AuditError if there is no room on disk."""
        self._held.append((numbers, rows))
        self._count += len(rows)
        if self._count >= self._max_held:
            self._set_aside()

    def settle(self) -> None:
        """Finish adding; raise AuditError if there is no room on disk."""
        if self._folder is None:
            self._in_memory = dict(self._by_partition())
        else:
            self._set_aside()

    def __getitem__(self, name: PartitionName) -> Commits:
        """Return the commits of a partition in log order; the last result is cached."""
        number = self._numbers[name]
        if self._last is None or self._last[0] != name:
            self._last = (name, _in_order(self._read(number)))
        return self._last[1]

    def __iter__(self) -> Iterator[PartitionName]:
        return iter(sorted(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def _read(self, number: int) -> Array:
        if self._folder is None:
            return self._in_memory[number]
        return np.fromfile(self._folder / str(number), np.int64).reshape(-1, COLUMNS)

    def _by_partition(self) -> Iterator[tuple[int, Array]]:
        """Yield and clear the held commits by partition, each in the order of reading."""
        if not self._count:
            return
        numbers, rows = (np.concatenate(each) for each in zip(*self._held, strict=True))
        self._held, self._count = [], 0
        few = len(self._numbers) <= _SHORT  # those are sorted in time proportional to their number
        order = np.argsort(numbers.astype(np.uint16) if few else numbers, kind="stable")
        numbers, rows = numbers[order], rows[order]
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        for begin, own in zip(begins, np.split(rows, begins[1:]), strict=True):
            yield int(numbers[begin]), own

    def _set_aside(self) -> None:
        """Append the held commits to the temporary files."""
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="rebalance-audit-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            for number, rows in self._by_partition():
                with (self._folder / str(number)).open("ab") as file:
                    rows.tofile(file)
        except OSError as error:
            raise AuditError(
                f"`commits`: temporary files cannot be written in {tempfile.gettempdir()}: "
                f"{error.strerror or error}; set TMPDIR to a folder with room for 24 bytes per commit"
            ) from None


def _in_order(rows: Array) -> Commits:
    """Return commits in log order; those of transactions may come from other files."""
    places, times_us, offsets = rows.T
    if bool(np.all(places[1:] >= places[:-1])):
        return Commits.of(times_us, np.ascontiguousarray(offsets))
    order = np.argsort(places, kind="stable")
    return Commits.of(times_us[order], offsets[order])
