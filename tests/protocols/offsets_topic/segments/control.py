"""Control batches as a transaction coordinator writes them, and the transactions that they abort."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from protocols.offsets_topic.records.markers import (
    ControlRecord,
    ControlType,
    EndTxnMarker,
    UnknownControlRecord,
)
from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.header import CONTROL, NO_SEQUENCE, TRANSACTIONAL, Producer
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.transactions import AbortedTransaction, read_marker

OTHER = UnknownControlRecord(key=b"\0\0\xff\xff", value=None)
"""Version 0, and an unknown type."""


def marker_of(control_type: ControlType, coordinator_epoch: int) -> EndTxnMarker:
    """Return the end of a transaction."""
    return EndTxnMarker(control_type=control_type, coordinator_epoch=coordinator_epoch)


def encode_control(record: ControlRecord) -> tuple[bytes, bytes | None]:
    """Return key and value of a control record, by ``EndTxnMarker.json``."""
    if isinstance(record, UnknownControlRecord):
        return record.key, record.value
    key = struct.pack(">hh", record.key_version, record.control_type)
    return key, struct.pack(">hi", record.value_version, record.coordinator_epoch)


def encode_marker(
    marker: ControlRecord,
    *,
    offset: int,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    partition_leader_epoch: int,
) -> bytes:
    """Return the control batch, 78 bytes, that ends a transaction of a producer."""
    record = LogRecord(offset, timestamp, *encode_control(marker))
    return encode_batch(
        [record],
        partition_leader_epoch=partition_leader_epoch,
        attributes=TRANSACTIONAL | CONTROL,
        producer=Producer(producer_id, producer_epoch, NO_SEQUENCE),
    )


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
        if not isinstance(marker, EndTxnMarker):
            continue
        first = first_offsets.pop(header.producer_id, None)
        if first is not None and marker.control_type is ControlType.ABORT:
            aborted.append(AbortedTransaction(header.producer_id, first, header.last_offset))
    return aborted
