"""Control batches: one record each, the end of a transaction.

Source: ``ControlRecordType``, ``EndTransactionMarker`` (spec records, section 4).
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from protocols.offsets_topic.records import markers
from protocols.offsets_topic.records.errors import MalformedRecordError
from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.errors import BadBatch
from protocols.offsets_topic.segments.header import CONTROL, NO_SEQUENCE, TRANSACTIONAL, Producer
from protocols.offsets_topic.segments.record import LogRecord


class MarkerType(enum.IntEnum):
    """What a control record says."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1
    """Anything else; readers of this log pass over it."""


_OTHER = markers.UnknownControlRecord(key=b"\0\0\xff\xff", value=None)
"""Version 0, and a type that nobody knows."""


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction."""

    type: MarkerType
    coordinator_epoch: int
    """Of the transaction coordinator; -1 where the marker does not say."""


def encode_marker(
    marker: EndTransactionMarker,
    *,
    offset: int,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    partition_leader_epoch: int,
) -> bytes:
    """Return the control batch, 78 bytes, that ends a transaction of a producer."""
    record = LogRecord(offset, timestamp, *markers.encode_control(_control(marker)))
    return encode_batch(
        [record],
        partition_leader_epoch=partition_leader_epoch,
        attributes=TRANSACTIONAL | CONTROL,
        producer=Producer(producer_id, producer_epoch, NO_SEQUENCE),
    )


def _control(marker: EndTransactionMarker) -> markers.EndTxnMarker | markers.UnknownControlRecord:
    if marker.type is MarkerType.OTHER:
        return _OTHER
    return markers.EndTxnMarker(
        control_type=markers.ControlType(marker.type), coordinator_epoch=marker.coordinator_epoch
    )


def read_marker(batch: Batch) -> EndTransactionMarker | None:
    """Return what a control batch says; None when compaction has emptied it.

    Newer versions of key and value are read as the oldest, what they append is passed over.
    Raises :class:`BadBatch` when key or value is too short, or of a negative version.
    """
    records = batch.records()
    if not records:
        return None
    _, _, key, value, _ = records[0]
    try:
        control = markers.decode_control(key or b"", value)
    except MalformedRecordError as error:
        raise BadBatch(f"a control record is malformed: {error}") from None
    if isinstance(control, markers.UnknownControlRecord):
        return EndTransactionMarker(MarkerType.OTHER, -1)
    return EndTransactionMarker(MarkerType(control.control_type), control.coordinator_epoch)
