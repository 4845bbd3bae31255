"""A summary of the commits of one partition, and a histogram of bounded size."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from assignors.values import dataclass
from emulator.logs.imports.generations import Place, Seen

KEPT_BITS: Final = 8
"""Significant bits: numbers that agree in them, less than 1 % apart, count as equal."""


@dataclass(slots=True)
class Spread:
    """Counts whole numbers from 0 on by their highest bits.

    The result does not depend on the order of the numbers, nor on how parts are merged.
    """

    counts: dict[int, int] = field(default_factory=dict)
    """The count by the smallest number of each class."""

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
        """Add the counts of another one."""
        for low, times in other.counts.items():
            self.counts[low] = self.counts.get(low, 0) + times

    @property
    def total(self) -> int:
        """Return how many numbers were counted."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> int | None:
        """Return the smallest number that at least a share of the numbers does not exceed.

        *share*: above 0, at most 1. The result may be up to 1 % too small; None if there are no numbers.

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
        """Return each number and its count, in ascending order."""
        return sorted(self.counts.items())


def merged(spreads: Iterable[Spread]) -> Spread:
    """Return the sum of several histograms."""
    whole = Spread()
    for each in spreads:
        whole.merge(each)
    return whole


def _floor(number: int) -> int:
    shift = max(number.bit_length() - KEPT_BITS, 0)
    return number >> shift << shift


MAX_REWINDS: Final = 200
"""Maximum number of rewinds of a partition that are listed; the others are counted."""

MAX_TENURES: Final = 100
"""Maximum number of tenures of a partition: the newest; only the sums of older ones are kept."""

MAX_POINTS: Final = 128
"""Maximum number of points of a partition's curve."""


class Commit(NamedTuple):
    """A committed offset, or the deletion of one."""

    place: Place
    offset: int | None
    """The next offset to read; None: deleted."""

    in_transaction: bool = False


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive commits of one partition, as columns."""

    log_partitions: Numbers
    log_offsets: Numbers
    times_ms: Numbers
    offsets: Numbers
    in_transaction: npt.NDArray[np.bool_]

    @property
    def count(self) -> int:
        """Return the number of commits."""
        return len(self.offsets)

    def commit(self, at: int) -> Commit:
        """Return the commit at an index."""
        columns = (self.log_partitions, self.log_offsets, self.times_ms)
        place = Place(*(int(column[at]) for column in columns))
        return Commit(place, int(self.offsets[at]), bool(self.in_transaction[at]))

    def behind(self, first: int) -> Run:
        """Return the commits from an index on."""
        return Run(
            self.log_partitions[first:],
            self.log_offsets[first:],
            self.times_ms[first:],
            self.offsets[first:],
            self.in_transaction[first:],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """A commit of a lower offset than the committed one."""

    place: Place
    from_offset: int
    to_offset: int
    member: Seen | None
    """The owner of the partition, if the log shows it."""

    member_before: Seen | None
    """The owner at the commit before."""

    before_ms: int
    """The time of the commit before."""


@dataclass(slots=True)
class Tenure:
    """The commits of one owner while it had the partition."""

    owner: Seen | None
    since_ms: int | None
    """Start of the ownership; None: before the log begins, or the partition had no owner."""

    counted_from_ms: int = 0
    """The time from which ``advanced`` is counted: the assignment, or the first commit."""

    commits: int = 0
    advanced: int = 0
    """Sum of the forward steps; steps back are not subtracted."""

    first_ms: int = 0
    last_ms: int = 0
    intervals_ms: Spread = field(default_factory=Spread)


@dataclass(slots=True)
class Progress:
    """A summary of one group's commits of one partition."""

    group: str
    topic: str
    partition: int
    commits: int = 0
    in_transactions: int = 0
    deletions: int = 0
    deleted_ms: int | None = None
    """Time of the last deletion."""

    offset: int | None = None
    """The committed offset at the end of the log; None: nothing was committed, or it was deleted."""

    first_ms: int = 0
    last_ms: int = 0
    """Times of the first and the last commit."""

    advanced: int = 0
    advanced_ms: int | None = None
    """Time of the last commit that was above the one before."""

    rewound: int = 0
    rewinds: list[Rewind] = field(default_factory=list)
    owner: Seen | None = None
    """In the end."""

    owned_since_ms: int | None = None
    tenures: deque[Tenure] = field(default_factory=lambda: deque(maxlen=MAX_TENURES))
    intervals_ms: Spread = field(default_factory=Spread)
    """Times between two commits of one owner."""

    points: list[tuple[int, int]] = field(default_factory=list)
    """Time and offset of every n-th commit."""

    _stride: int = 1
    _last_owner: Seen | None = None

    def owned(self, place: Place, member: Seen | None) -> None:
        """Apply a change of the partition's owner."""
        self.owner = member
        self.owned_since_ms = place.at_ms
        self.tenures.append(Tenure(member, place.at_ms))

    def see(self, commit: Commit) -> None:
        """Apply a commit, or a deletion."""
        at_ms = commit.place.at_ms
        if commit.offset is None:
            self.deletions += 1
            self.deleted_ms, self.offset = at_ms, None
            return
        self._compare(commit.place, commit.offset)
        self._count(at_ms, in_transaction=commit.in_transaction)
        self._draw(at_ms, commit.offset)
        self.offset, self.last_ms, self._last_owner = commit.offset, at_ms, self.owner

    def see_run(self, run: Run) -> None:
        """Apply consecutive commits without deletions; the result is as if applied one by one."""
        if self.offset is None:
            self.see(run.commit(0))
            run = run.behind(1)
        if not run.count:
            return
        assert self.offset is not None
        steps = np.diff(run.offsets, prepend=self.offset)
        forwards = np.flatnonzero(steps > 0)
        if forwards.size:
            gained = int(steps[forwards].sum())
            self.advanced += gained
            self.advanced_ms = int(run.times_ms[forwards[-1]])
            self._tenure().advanced += gained
        self._step_back(run, np.flatnonzero(steps < 0).tolist())
        self._count_run(run)
        self._draw_run(run)
        self.offset, self.last_ms = int(run.offsets[-1]), int(run.times_ms[-1])
        self._last_owner = self.owner

    def _step_back(self, run: Run, backwards: list[int]) -> None:
        self.rewound += len(backwards)
        for at in backwards[: max(MAX_REWINDS - len(self.rewinds), 0)]:
            commit = run.commit(at)
            assert commit.offset is not None
            before = None if at == 0 else run.commit(at - 1)
            self.rewinds.append(self._rewind(commit.place, commit.offset, before))

    def _count_run(self, run: Run) -> None:
        """Count a run of commits at once; only the first may be the first of a tenure."""
        tenure = self._tenure()
        if not tenure.commits:
            self._count(int(run.times_ms[0]), in_transaction=bool(run.in_transaction[0]))
            run = run.behind(1)
        if not run.count:
            return
        gaps_ms = np.maximum(np.diff(run.times_ms, prepend=tenure.last_ms), 0)
        tenure.intervals_ms.add_all(gaps_ms)
        self.intervals_ms.add_all(gaps_ms)
        self.commits += run.count
        self.in_transactions += int(run.in_transaction.sum())
        tenure.commits += run.count
        tenure.last_ms = int(run.times_ms[-1])

    def _draw_run(self, run: Run) -> None:
        """Add points of a counted run to the curve."""
        before = self.commits - run.count
        at = -before % self._stride
        while at < run.count:
            self._point(int(run.times_ms[at]), int(run.offsets[at]))
            at += self._stride - (before + at) % self._stride

    def _compare(self, place: Place, offset: int) -> None:
        """Compare a commit with the one before."""
        if self.offset is None:
            self.advanced_ms = place.at_ms
            return
        step = offset - self.offset
        if step > 0:
            self.advanced += step
            self.advanced_ms = place.at_ms
            self._tenure().advanced += step
        elif step < 0:
            self.rewound += 1
            if len(self.rewinds) < MAX_REWINDS:
                self.rewinds.append(self._rewind(place, offset, None))

    def _rewind(self, place: Place, offset: int, before: Commit | None) -> Rewind:
        """Return a rewind; *before*: the commit before it, None for the last one applied."""
        known = self.offset if before is None else before.offset
        assert known is not None
        return Rewind(
            place=place,
            from_offset=known,
            to_offset=offset,
            member=self.owner,
            member_before=self._last_owner if before is None else self.owner,
            before_ms=self.last_ms if before is None else before.place.at_ms,
        )

    def _count(self, at_ms: int, *, in_transaction: bool) -> None:
        self.first_ms = self.first_ms if self.commits else at_ms
        self.commits += 1
        self.in_transactions += in_transaction
        tenure = self._tenure()
        if tenure.commits:
            interval_ms = max(at_ms - tenure.last_ms, 0)
            tenure.intervals_ms.add(interval_ms)
            self.intervals_ms.add(interval_ms)
        else:
            tenure.first_ms = at_ms
            known = self.offset is not None and tenure.since_ms is not None
            tenure.counted_from_ms = tenure.since_ms if known and tenure.since_ms else at_ms
        tenure.commits += 1
        tenure.last_ms = at_ms

    def _draw(self, at_ms: int, offset: int) -> None:
        """Add a point to the curve; if it is full, keep every second point."""
        if (self.commits - 1) % self._stride == 0:
            self._point(at_ms, offset)

    def _point(self, at_ms: int, offset: int) -> None:
        self.points.append((at_ms, offset))
        if len(self.points) > MAX_POINTS:
            del self.points[1::2]
            self._stride *= 2

    def _tenure(self) -> Tenure:
        if not self.tenures:
            self.tenures.append(Tenure(None, None))
        return self.tenures[-1]
