"""What compaction has to know of transactions and producers.

Records of an aborted transaction are of no use to anybody and go at once. The marker that
ended a transaction stays until no batch of it is left, and then as long as a tombstone does.
Of an active producer the batch stays that holds its last sequence number.

Compaction stops below the last stable offset, so each transaction it meets has been decided.

Source: ``CleanedTransactionMetadata``, ``TransactionIndex``, ``ProducerStateManager`` and
``UnifiedLog.lastRecordsOfActiveProducers`` (spec classic-coordinator 5.8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import CONTROL, TRANSACTIONAL
from protocols.offsets_topic.segments.marker import MarkerType, read_marker

PRODUCER_ID_EXPIRATION_MS: Final = 24 * 3_600_000


class AbortedTransaction(NamedTuple):
    """One entry of a log's transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Of the abort marker."""


class LastRecord(NamedTuple):
    """The last thing that an active producer wrote."""

    last_data_offset: int | None
    """None when only a marker is known of its epoch."""

    producer_epoch: int


def aborted_transactions(batches: Iterable[Batch]) -> list[AbortedTransaction]:
    """Return the aborted transactions of a log, in the order of their markers."""
    first_offsets: dict[int, int] = {}
    aborted = []
    for batch in batches:
        header = batch.header
        if not header.is_control:
            if header.is_transactional:
                first_offsets.setdefault(header.producer_id, header.base_offset)
            continue
        marker = read_marker(batch)
        if marker is None or marker.type is MarkerType.OTHER:
            continue
        first = first_offsets.pop(header.producer_id, None)
        if first is not None and marker.type is MarkerType.ABORT:
            aborted.append(AbortedTransaction(header.producer_id, first, header.last_offset))
    return aborted


def last_records(
    batches: Iterable[Batch], now_ms: int, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
) -> dict[int, LastRecord]:
    """Return the last record of each producer that wrote within *expiration_ms*.

    *expiration_ms*: ``producer.id.expiration.ms``.
    """
    last: dict[int, LastRecord] = {}
    seen_ms: dict[int, int] = {}
    for batch in batches:
        header = batch.header
        producer_id, epoch = header.producer_id, header.producer_epoch
        if producer_id < 0:
            continue
        seen_ms[producer_id] = header.max_timestamp
        known = last.get(producer_id)
        if not header.is_control:
            last[producer_id] = LastRecord(header.last_offset, epoch)
        elif known is None or known.producer_epoch != epoch:
            last[producer_id] = LastRecord(None, epoch)
    return {each: last[each] for each in last if now_ms - seen_ms[each] < expiration_ms}


class TransactionsPassed:
    """Which transactions are open where compaction stands in the log; moves forward only."""

    __slots__ = ("_aborted", "_aborted_to_come", "_committed")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        by_start = sorted(aborted, key=lambda transaction: transaction.first_offset)
        self._aborted_to_come = deque(by_start)
        self._aborted: dict[int, bool] = {}
        """Producers inside an aborted transaction, and whether a batch of it was met."""

        self._committed: set[int] = set()
        """Producers inside a committed transaction of which a batch was met."""

    def note(self, batch: Batch) -> bool:
        """Take note of the next batch; return whether it can go: aborted, or the end of nothing."""
        header = batch.header
        if not header.attributes & (TRANSACTIONAL | CONTROL):
            return False
        self._enter_aborted(header.last_offset)
        if header.is_control:
            return self._ends_what_is_gone(batch)
        if header.producer_id in self._aborted:
            self._aborted[header.producer_id] = True
            return True
        self._committed.add(header.producer_id)
        return False

    def _ends_what_is_gone(self, batch: Batch) -> bool:
        """Say whether no batch was met of the transaction that a marker ends."""
        marker = read_marker(batch)
        if marker is None:
            return True
        producer_id = batch.header.producer_id
        if marker.type is MarkerType.ABORT:
            return not self._aborted.pop(producer_id, False)
        if marker.type is MarkerType.COMMIT:
            met = producer_id in self._committed
            self._committed.discard(producer_id)
            return not met
        return False

    def _enter_aborted(self, offset: int) -> None:
        while self._aborted_to_come and self._aborted_to_come[0].first_offset <= offset:
            self._aborted.setdefault(self._aborted_to_come.popleft().producer_id, False)
