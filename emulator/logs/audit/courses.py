"""Whether two consumers were at work on a partition at the same time, as far as a log can show it.

A *course* is what one consumer did from offset to offset without a break. Two courses are at once
if the older one goes on after the younger one began: while that works, or on records that it has
done. A consumer that goes on later behind all that another one did in between was given the
partition back.
"""

from __future__ import annotations

import numpy as np

from emulator.logs.audit.survey import Pieces, runs_of


class Courses:
    """The courses of one partition; pieces are named by their places."""

    __slots__ = ("_borders", "_course", "_ordered", "_pieces")

    def __init__(self, pieces: Pieces) -> None:
        order, new = runs_of(pieces)
        self._pieces = pieces
        self._ordered = pieces.at(order)
        self._borders = np.append(np.flatnonzero(new), len(order))
        self._course = np.empty(len(order), np.int64)
        self._course[order] = np.cumsum(new) - 1

    def at_once(self, one: int, other: int) -> bool:
        """Say whether the courses of two pieces were at once."""
        courses = (int(self._course[one]), int(self._course[other]))
        older, younger = sorted(courses, key=self._began)
        began_us = self._began(younger)[0]
        low, high = self._borders[older], self._borders[older + 1]
        place = low + int(np.searchsorted(self._ordered.ended_us[low:high], began_us, "right"))
        if place == high:
            return False
        last = self._borders[younger + 1] - 1
        within = self._ordered.began_us[place] < self._ordered.ended_us[last]
        return bool(within or self._ordered.lo[place] < self._ordered.hi[last])

    def _began(self, course: int) -> tuple[int, int]:
        return int(self._ordered.began_us[self._borders[course]]), course
