"""The records that are still in a log after truncations.

A record's *serial* is its position among all records ever appended to its partition; its offset is
its position among those that are left. An unclean election removes a run of serials, and the
records after it move up: they have offsets that others had before.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.messages import EpochStart


class History(NamedTuple):
    """The truncated records of a log: separate runs of serials, ascending."""

    gone: tuple[tuple[int, int], ...] = ()
    """The first serial of each run, and the first serial after it."""

    def offset(self, serial: int) -> int:
        """Return the offset of the first record in the log that has at least this serial.

        >>> log = History(((100, 130),))
        >>> [log.offset(serial) for serial in (99, 100, 115, 130, 131)]
        [99, 100, 100, 100, 101]
        """
        left = serial
        for first, following in self.gone:
            if serial <= first:
                break
            left -= min(serial, following) - first
        return left

    def serial(self, offset: int) -> int:
        """Return the serial of the record at an offset.

        >>> [History(((100, 130),)).serial(offset) for offset in (99, 100, 101)]
        [99, 130, 131]
        """
        for first, following in self.gone:
            if offset < first:
                break
            offset += following - first
        return offset

    def without(self, first: int, following: int) -> History:
        """Return the history after the removal of another run.

        >>> History(((100, 130),)).without(90, 120)
        History(gone=((90, 130),))
        """
        apart = [run for run in self.gone if run[1] < first or run[0] > following]
        touching = [run for run in self.gone if run not in apart]
        first = min([first, *(run[0] for run in touching)])
        following = max([following, *(run[1] for run in touching)])
        return History(tuple(sorted([*apart, (first, following)])))


WHOLE = History()
"""The history of a log that was never truncated."""


class Truncation(NamedTuple):
    """The records that an unclean election removed from a log."""

    first: int
    """The first removed offset; the next record gets it."""

    next_offset: int
    """The end of the removed range."""

    incarnation: int
    """The number of truncations of the log, this one included."""


class Era(NamedTuple):
    """A partition as it was until it was truncated."""

    until_us: int
    history: History
    epochs: tuple[EpochStart, ...]
