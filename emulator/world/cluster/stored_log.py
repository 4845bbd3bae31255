"""What lies on the disks of an offsets partition's replicas: the batches of one branch of its log.

Replicas whose logs agree share one :class:`StoredLog` and differ only in how far they have it.
Where histories part (a new leader begins below the end of the old one's log, or a leader goes on
that does not know it is none any more) one of them forks.

This is the seam for the real thing: segments of bytes that roll and are compacted come behind
the same words, append, end, read, amount, fork, agreed_end. Here, of what every replica has and
knows to be safe, only the newest record of each key is kept, so memory does not grow with
simulated time; the bytes and records of a load are counted as if nothing were ever compacted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from protocols.records import Record, size


class Batch(NamedTuple):
    """Records that were appended at once."""

    first: int
    end: int
    records: tuple[Record, ...]
    size: int
    """Bytes of keys and values."""


class Amount(NamedTuple):
    """How much a load reads."""

    size: int
    """Bytes."""

    records: int


NOTHING = Amount(0, 0)


class StoredLog:
    """An append-only log of record batches, each with the epoch of the leader that wrote it."""

    __slots__ = ("_batches", "_epochs", "_newest", "_size", "end", "settled")

    def __init__(self, backlog: Amount = NOTHING) -> None:
        self.end = backlog.records
        """The log offset the next record gets."""

        self._size = backlog.size
        self.settled = self.end
        """Below it only the newest record of each key is known."""

        self._newest: dict[Any, tuple[int, Record]] = {}
        self._batches: deque[Batch] = deque()
        self._epochs: list[tuple[int, int]] = [(0, 0)]

    # -- writing ---------------------------------------------------------------------------------

    def append(self, records: tuple[Record, ...], epoch: int) -> Batch:
        """Append one atomic batch in a leader epoch."""
        first = self.end
        if self._epochs[-1][0] != epoch:
            self._epochs.append((epoch, first))
        batch = Batch(first, first + len(records), records, sum(map(size, records)))
        self._batches.append(batch)
        self.end = batch.end
        self._size += batch.size
        return batch

    def settle(self, below: int) -> None:
        """Let older records of a key go below an offset: nobody will read or fork below it."""
        batches = self._batches
        while batches and batches[0].end <= below:
            batch = batches.popleft()
            self.settled = batch.end
            for log_offset, record in enumerate(batch.records, batch.first):
                self._newest.pop(record.key, None)
                if record.value is not None:
                    self._newest[record.key] = (log_offset, record)

    # -- reading ---------------------------------------------------------------------------------

    def read(self, end: int) -> Iterator[tuple[int, Record]]:
        """Yield what a load up to ``end`` reads, by log offset."""
        assert end >= self.settled, "what is settled cannot be read halfway"
        yield from sorted(self._newest.values(), key=lambda entry: entry[0])
        for batch in self._batches:
            if batch.end <= end:
                yield from enumerate(batch.records, batch.first)

    def amount(self, end: int) -> Amount:
        """Return how much a load up to ``end`` reads, as if nothing were ever compacted."""
        beyond = sum(batch.size for batch in self._batches if batch.end > end)
        return Amount(self._size - beyond, end)

    # -- histories -------------------------------------------------------------------------------

    def fork(self, end: int) -> StoredLog:
        """Return a log of its own with everything below ``end``."""
        assert end >= self.settled, "what is settled is in every branch"
        made = StoredLog()
        made._newest = dict(self._newest)
        made._batches = deque(batch for batch in self._batches if batch.end <= end)
        made._epochs = [(0, 0), *((e, at) for e, at in self._epochs[1:] if at < end)]
        made.settled = self.settled
        made._size = self.amount(end).size
        made.end = end
        return made

    def agreed_end(self, end: int, other: StoredLog, other_end: int) -> int:
        """Return up to where two replicas' logs are the same (KIP-101, KIP-279).

        An epoch has one leader and one history, so two logs agree as far as their epochs do.
        """
        if other is self:
            return min(end, other_end)
        agreed = 0
        pairs = zip(self._stretches(end), other._stretches(other_end), strict=False)
        for (epoch, start, stop), (other_epoch, other_start, other_stop) in pairs:
            if (epoch, start) != (other_epoch, other_start):
                break
            agreed = min(stop, other_stop)
            if stop != other_stop:
                break
        return agreed

    def _stretches(self, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the epoch, the start and the end of each leader's run of records."""
        starts = [start for _, start in self._epochs[1:]] + [end]
        for (epoch, start), stop in zip(self._epochs, starts, strict=True):
            if start < end:
                yield epoch, start, min(stop, end)
