"""Leader epochs of a partition: the leader at the time a record was appended (KIP-101, KIP-320).

Each new leader gets the next epoch and writes it into the batches it appends. A log stores the
offset at which each epoch begins; with it a leader detects that a reader's position is on another
history than its own log. Source: ``LeaderEpochFileCache``, ``Partition``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocols.messages import UNKNOWN_EPOCH, UNKNOWN_OFFSET, EpochStart
from protocols.messages.errors import ErrorCode


def epoch_at(epochs: Sequence[EpochStart], offset: int) -> int:
    """Return the leader epoch of the record at *offset*; -1 if it is before *epochs*.

    >>> epochs = (EpochStart(0, 0), EpochStart(2, 10))
    >>> [epoch_at(epochs, offset) for offset in (9, 10)]
    [0, 2]
    """
    for start in reversed(epochs):
        if start.offset <= offset:
            return start.epoch
    return UNKNOWN_EPOCH


def end_of_epoch(epochs: Sequence[EpochStart], epoch: int, log_end: int) -> tuple[int, int]:
    """Return where the records of *epoch* end in a log, and the epoch that ends there.

    That is the requested epoch, or the last one before it that has records. An epoch older than
    the log's first ends where that begins. An epoch newer than any in the log is unknown: (-1, -1).

    >>> epochs = (EpochStart(1, 4), EpochStart(3, 10))
    >>> [end_of_epoch(epochs, epoch, 15) for epoch in range(5)]
    [(0, 4), (1, 10), (1, 10), (3, 15), (-1, -1)]
    """
    if epoch == UNKNOWN_EPOCH or not epochs or epoch > epochs[-1].epoch:
        return UNKNOWN_EPOCH, UNKNOWN_OFFSET
    if epoch == epochs[-1].epoch:
        return epoch, log_end
    before = [start.epoch for start in epochs if start.epoch <= epoch]
    return before[-1] if before else epoch, epochs[len(before)].offset


def refusal_by_epoch(claimed: int, own: int) -> ErrorCode:
    """Return the error code for a request with another leader epoch than the broker's own.

    *claimed*: the current leader epoch in the request; -1 is not checked.
    """
    if claimed in (UNKNOWN_EPOCH, own):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if claimed < own else ErrorCode.UNKNOWN_LEADER_EPOCH
