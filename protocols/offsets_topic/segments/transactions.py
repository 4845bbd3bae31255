"""Control batches, and the transactions and producers that compaction must respect.

A control batch has one record, the end of a transaction. The records of an aborted transaction are
removed at once. The marker of a transaction is kept until none of its batches remains, and then
as long as a tombstone. The batch with the last sequence number of an active producer is kept.
Compaction stops below the last stable offset, so each transaction it reads has ended.

Source: ``ControlRecordType``, ``EndTransactionMarker``, ``CleanedTransactionMetadata``,
``TransactionIndex``, ``ProducerStateManager`` and ``UnifiedLog.lastRecordsOfActiveProducers``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from protocols.offsets_topic.records.errors import MalformedRecordError
from protocols.offsets_topic.records.markers import (
    ControlRecord,
    ControlType,
    UnknownControlRecord,
    decode_control,
)
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import (
    CONTROL,
    TRANSACTIONAL,
    BadBatch,
)

PRODUCER_ID_EXPIRATION_MS: Final = 24 * 3_600_000


class AbortedTransaction(NamedTuple):
    """One entry of a log's transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Log offset of the abort marker."""


class LastRecord(NamedTuple):
    """The last record or marker that an active producer wrote."""

    last_data_offset: int | None
    """None if its epoch has only a marker."""

    producer_epoch: int


def last_records(batches: Iterable[Batch], now_ms: int) -> dict[int, LastRecord]:
    """Return the last record of each producer that wrote within ``producer.id.expiration.ms``."""
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
    return {each: last[each] for each in last if now_ms - seen_ms[each] < PRODUCER_ID_EXPIRATION_MS}


class TransactionsPassed:
    """The open transactions at the position of the compaction, which only moves forward."""

    __slots__ = ("_aborted", "_aborted_to_come", "_committed")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        by_start = sorted(aborted, key=lambda transaction: transaction.first_offset)
        self._aborted_to_come = deque(by_start)
        self._aborted: dict[int, bool] = {}
        """Producers inside an aborted transaction, and whether a batch of it was read."""

        self._committed: set[int] = set()
        """Producers inside a committed transaction of which a batch was read."""

    def note(self, batch: Batch) -> bool:
        """Register the next batch; return whether to remove it: aborted, or an unused marker."""
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
        """Return whether a marker ends a transaction without any remaining batch."""
        marker = read_marker(batch)
        if marker is None:
            return True
        if isinstance(marker, UnknownControlRecord):
            return False
        producer_id = batch.header.producer_id
        if marker.control_type is ControlType.ABORT:
            return not self._aborted.pop(producer_id, False)
        met = producer_id in self._committed
        self._committed.discard(producer_id)
        return not met

    def _enter_aborted(self, offset: int) -> None:
        while self._aborted_to_come and self._aborted_to_come[0].first_offset <= offset:
            self._aborted.setdefault(self._aborted_to_come.popleft().producer_id, False)


def read_marker(batch: Batch) -> ControlRecord | None:
    """Return the record of a control batch; None if compaction has emptied the batch.

    Newer versions of key and value are read as the oldest; appended fields are skipped.
    Raises :class:`BadBatch` if key or value is too short or has a negative version.
    """
    records = batch.records()
    if not records:
        return None
    _, _, key, value, _ = records[0]
    try:
        return decode_control(key or b"", value)
    except MalformedRecordError as error:
        raise BadBatch(f"a control record is malformed: {error}") from None
