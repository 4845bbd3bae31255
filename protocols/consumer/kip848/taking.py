"""The application thread while it takes records out of the buffer: that takes time.

The position of a partition moves when its share is taken, one partition after the other; a
commit that is made meanwhile covers what has moved by then (spec kip848 3.10).
"""

from __future__ import annotations

from protocols.consumer.fetching import Fetcher, Handed, in_record_order
from protocols.consumer.kip848.threads import EACH_RECORD_US


class Taking:
    """Records on their way from the buffer to the application; changed in place."""

    __slots__ = ("_fetcher", "_left", "_moments", "_taken", "ends_us")

    def __init__(self, fetcher: Fetcher, limit: int, begins_us: int) -> None:
        """Begin to take up to *limit* records at *begins_us*."""
        self._fetcher = fetcher
        self._left = limit
        self._taken: list[Handed] = []
        self._moments: list[int] = []
        moment = begins_us
        for size in fetcher.shares_ahead(limit):
            moment += size * EACH_RECORD_US
            self._moments.append(moment)
        self.ends_us = moment

    def catch_up(self, now: int) -> None:
        """Take what is taken by *now*."""
        while self._moments and self._moments[0] <= now:
            del self._moments[0]
            share = self._fetcher.share(self._left)
            if share is None:
                self._moments.clear()
                return
            self._left -= share.next_offset - share.first
            self._taken.append(share)

    def finish(self) -> tuple[Handed, ...]:
        """Return all that was taken, in the order in which the application meets it."""
        return in_record_order(self._taken)

    def put_back(self) -> None:
        """Move the positions back to where they were: nothing of it was returned."""
        positions = self._fetcher.positions
        for share in self._taken:
            if positions.reads_at(share.partition, share.next_offset):
                before = positions.fetch_position(share.partition)
                positions.move_back(share.partition, share.first, before.epoch)
