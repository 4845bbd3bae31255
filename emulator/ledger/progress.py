"""When an owner of a partition finished its records: the progress of one ownership epoch over time.

Each range that an owner finished is a :class:`Mark`. Equal ranges at equal intervals are one
:class:`Series`. The marks are numbered, and which of them are kept follows from their numbers alone:
the newest :data:`RECENT`, every second of as many before them, every fourth of twice as many before
those, and so on. So a time comes out the same whether ranges were given one by one or as a series.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

RECENT = 32
"""The number of newest marks that are all kept."""

Ends = tuple[tuple[int, int], ...]
"""For each range that was finished: its next offset, and when."""


def end_of_finished(cursor: int, out_of_order: dict[int, int]) -> int:
    """Return the end of what is finished without a gap from *cursor* on.

    *out_of_order*: first to next offset of ranges that were finished beyond it; those that it reaches
    are removed.
    """
    while cursor in out_of_order:
        cursor = out_of_order.pop(cursor)
    return cursor


class Mark(NamedTuple):
    """At ``at_us`` everything below ``processed`` was finished."""

    number: int
    processed: int
    at_us: int

    @property
    def last(self) -> int:
        """The number of its last mark: its own."""
        return self.number

    def mark(self, _number: int) -> Mark:
        """Return the mark with a number: itself."""
        return self

    def after(self, _offset: int) -> int:
        """Return the number of its first mark beyond an offset below its end: its own."""
        return self.number

    def without(self, _offset: int) -> Mark:
        """Return it without the marks up to an offset below its end: itself."""
        return self


class Series(NamedTuple):
    """The marks of ``times`` equal periods, each ``records`` and ``every_us`` after the one before."""

    number: int
    """Of its first mark."""

    ends: Ends
    """The marks of the first period."""

    records: int
    every_us: int
    times: int
    forgotten: int = 0
    """Its marks up to this offset are not needed any more."""

    @property
    def last(self) -> int:
        """The number of its last mark."""
        return self.number + self.times * len(self.ends) - 1

    @property
    def processed(self) -> int:
        """The end of what was finished after the last period."""
        return self.ends[-1][0] + (self.times - 1) * self.records

    def mark(self, number: int) -> Mark:
        """Return the mark with a number."""
        period, place = divmod(number - self.number, len(self.ends))
        processed, at_us = self.ends[place]
        return Mark(number, processed + period * self.records, at_us + period * self.every_us)

    def after(self, offset: int) -> int:
        """Return the number of the first mark beyond *offset*, which is below the end."""
        offset = max(offset, self.forgotten)
        period = max(0, (offset - self.ends[-1][0]) // self.records + 1)
        ends = [processed + period * self.records for processed, _ in self.ends]
        return self.number + period * len(ends) + bisect_right(ends, offset)

    def without(self, offset: int) -> Series:
        """Return it without the marks up to *offset*, which is below the end."""
        return self._replace(forgotten=max(offset, self.forgotten))


class Marks:
    """The progress of one epoch."""

    __slots__ = ("_count", "_kept", "_most")

    def __init__(self) -> None:
        self._count = 0
        self._kept: list[Mark | Series] = []
        """In order of number; also some that need not be kept."""

        self._most = 2 * RECENT

    def add(self, processed: int, at_us: int) -> None:
        """Add a mark: everything below *processed* was finished at *at_us*."""
        self._kept.append(Mark(self._count, processed, at_us))
        self._count += 1
        if len(self._kept) >= self._most:
            self._thin()

    def add_series(self, first: int, ends: Ends, every_us: int, times: int) -> None:
        """Add *times* periods: *ends* are the marks of the first one, which began at offset *first*."""
        self._kept.append(Series(self._count, ends, ends[-1][0] - first, every_us, times))
        self._count += times * len(ends)
        if len(self._kept) >= self._most:
            self._thin()

    def forget_below(self, offset: int) -> None:
        """Drop the marks up to *offset*: a successor began there."""
        self._kept = [each.without(offset) for each in self._kept if each.processed > offset]

    def finished_us(self, offset: int) -> int | None:
        """Return when the record at *offset* was finished, at the resolution of the kept marks.

        None: no mark is left that shows it.
        """
        wanted = -1
        for each in self._kept:
            if wanted < 0 and each.processed > offset:
                wanted = self._kept_from(each.after(offset))
            if 0 <= wanted <= each.last:
                return each.mark(max(wanted, each.number)).at_us
        return None

    @property
    def last_us(self) -> int | None:
        """When the last range was finished; None: no mark of it is left."""
        return self._kept[-1].mark(self._kept[-1].last).at_us if self._kept else None

    def _stride(self, number: int) -> int:
        """Return the distance of the kept marks at the age of mark *number*."""
        age = max(0, self._count - 1 - number)
        return 1 << (age // RECENT).bit_length()

    def _kept_from(self, number: int) -> int:
        """Return the number of the first kept mark from *number* on."""
        while number % (stride := self._stride(number)):
            following = number + stride - number % stride
            number = min(following, self._count - RECENT * stride // 2)
        return number

    def _thin(self) -> None:
        """Drop the marks that need not be kept."""
        kept: list[Mark | Series] = []
        newest = self._count - 1
        for each in self._kept:
            if type(each) is Mark:
                if not each.number % (1 << ((newest - each.number) // RECENT).bit_length()):
                    kept.append(each)
                continue
            number = self._kept_from(each.after(0))
            while number <= each.last:
                kept.append(each.mark(number))
                number = self._kept_from(number + 1)
        self._kept = kept
        self._most = max(2 * RECENT, len(kept) + RECENT)
