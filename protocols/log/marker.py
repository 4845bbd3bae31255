"""Control batches: one record each, the end of a transaction.

Source: ``ControlRecordType``, ``EndTransactionMarker`` (spec records, section 4).
"""

from __future__ import annotations

import enum
import struct
from typing import Final, NamedTuple

from protocols.log.batch import (
    CONTROL,
    NO_SEQUENCE,
    TRANSACTIONAL,
    Batch,
    Producer,
    encode_batch,
)
from protocols.log.errors import BadBatch
from protocols.log.record import LogRecord

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_VERSION: Final = 0


class ControlType(enum.IntEnum):
    """What a control record says."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1
    """Anything else; readers of this log pass over it."""


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction."""

    type: ControlType
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
    record = LogRecord(
        offset,
        timestamp,
        _KEY.pack(_VERSION, marker.type),
        _VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    return encode_batch(
        [record],
        partition_leader_epoch=partition_leader_epoch,
        attributes=TRANSACTIONAL | CONTROL,
        producer=Producer(producer_id, producer_epoch, NO_SEQUENCE),
    )


def read_marker(batch: Batch) -> EndTransactionMarker | None:
    """Return what a control batch says; None when compaction has emptied it.

    Newer versions of key and value are read as the oldest, what they append is passed over.
    Raises :class:`BadBatch` when key or value is too short.
    """
    records = batch.records()
    if not records:
        return None
    _, _, key, value, _ = records[0]
    if key is None or len(key) < _KEY.size:
        raise BadBatch("the key of a control record has 4 bytes: a version and a type")
    number = _KEY.unpack_from(key)[1]
    if number not in {ControlType.ABORT, ControlType.COMMIT}:
        return EndTransactionMarker(ControlType.OTHER, -1)
    if value is None or len(value) < _VALUE.size:
        raise BadBatch("the value of a marker has 6 bytes: a version and a coordinator epoch")
    return EndTransactionMarker(ControlType(number), _VALUE.unpack_from(value)[1])
