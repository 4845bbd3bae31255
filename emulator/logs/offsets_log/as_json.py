"""Batches, records and gaps as JSON values, with the names of Kafka's dump tool.

Names and their order are those of ``kafka-dump-log.sh --offsets-decoder``. Fields that the tool
does not print are added: the producer, if there is one; under ``raw`` bytes that 4.4 cannot
decode, as hexadecimal digits; under ``unknown`` or ``error`` the reason.

Source: ``DumpLogSegments.dumpLog`` and ``printBatchLevel``.
"""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

from protocols.offsets_topic.records import (
    Key,
    MalformedRecordError,
    UnknownKey,
    UnknownValue,
    Value,
    decode_key,
    decode_value,
)
from protocols.offsets_topic.records.as_json import Json, key_json, marker_json, value_json
from protocols.offsets_topic.records.markers import (
    ControlRecord,
    EndTxnMarker,
    UnknownControlRecord,
    decode_control,
)
from protocols.offsets_topic.replay import NO_PRODUCER_ID
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import NO_SEQUENCE
from protocols.offsets_topic.segments.record import LogRecord

TOMBSTONE: Final = "<DELETE>"
_SEQUENCES: Final = 2**31
_REMEMBERED: Final = 16_384
_LONGEST_REMEMBERED: Final = 1_024
"""Maximum size of a key whose description is cached, because keys repeat."""

_VERSION_BYTES: Final = 2


def time_word(batch: Batch) -> str:
    """Return the timestamp type of a batch's records."""
    return "LogAppendTime" if batch.header.has_append_time else "CreateTime"


def batch_json(batch: Batch) -> Json:
    """Return the header of a batch with a valid checksum."""
    header = batch.header
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": batch.position,
        time_word(batch): header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": Compression(header.compression).name.lower(),
        "crc": header.crc,
        "isvalid": True,
    }


def gap_json(kind: str, position: int, size: int | None, reason: str) -> Json:
    """Return bytes that are not a batch; *size* None: the number of missing bytes is unknown."""
    return {"gap": kind, "position": position, "size": size, "reason": reason}


def front_json(batch: Batch, record: LogRecord) -> Json:
    """Return the fields of a record that come before its key."""
    header = batch.header
    shown: Json = {
        "offset": record.offset,
        time_word(batch): record.timestamp,
        "keySize": _size(record.key),
        "valueSize": _size(record.value),
        "sequence": _sequence(header.base_sequence, record.offset - header.base_offset),
        "headerKeys": [name.decode(errors="replace") for name, _ in record.headers],
    }
    if header.producer_id != NO_PRODUCER_ID or header.is_transactional:
        shown["producerId"] = header.producer_id
        shown["producerEpoch"] = header.producer_epoch
        shown["isTransactional"] = header.is_transactional
    return shown


def _size(part: bytes | None) -> int:
    return -1 if part is None else len(part)


def _sequence(base: int, delta: int) -> int:
    return NO_SEQUENCE if base < 0 else (base + delta) % _SEQUENCES


class Content(NamedTuple):
    """The decoded content of a record."""

    key: Key | None
    """None: it cannot be decoded."""

    value: Value | None = None
    error: str | None = None
    """Why key or value cannot be decoded."""

    unknown: str | None = None
    """The type or version, if 4.4 does not know it."""


class ControlContent(NamedTuple):
    """The content of a control record: the end of a transaction, or something else."""

    control: ControlRecord | None
    error: str | None = None
    unknown: str | None = None


def decoded_key(record: LogRecord) -> Key | str:
    """Return a record's key, or the reason why it cannot be decoded."""
    if record.key is None:
        return "it has no key; every record of the offsets topic has one"
    try:
        return decode_key(record.key)
    except MalformedRecordError as error:
        return str(error)


def decoded(record: LogRecord, key: Key | str) -> Content:
    """Return the content of a record; *key*: the result of :func:`decoded_key`."""
    if isinstance(key, str):
        return Content(None, error=key)
    unknown = f"record type {key.record_type}" if isinstance(key, UnknownKey) else None
    if record.value is None:
        return Content(key, unknown=unknown)
    try:
        value = decode_value(key.record_type, record.value)
    except MalformedRecordError as error:
        return Content(key, error=str(error))
    if isinstance(value, UnknownValue) and unknown is None:
        unknown = f"version {value.value_version} of a value of record type {key.record_type}"
    return Content(key, value, unknown=unknown)


def decoded_control(record: LogRecord) -> ControlContent:
    """Return the content of a control record."""
    try:
        control = decode_control(record.key or b"", record.value)
    except MalformedRecordError as error:
        return ControlContent(None, error=str(error))
    if isinstance(control, EndTxnMarker):
        return ControlContent(control)
    return ControlContent(control, unknown=f"control record type {_control_type(control)}")


def content_json(record: LogRecord, said: Content | ControlContent) -> Json:
    """Return the fields of a record from its key on."""
    if isinstance(said, ControlContent):
        shown = _control_json(record, said)
    else:
        shown = {"key": _key_json(record, said), "payload": _payload_json(record, said)}
    for name in ("unknown", "error"):
        mark = getattr(said, name)
        if mark is not None:
            shown[name] = mark
    return shown


def _control_json(record: LogRecord, said: ControlContent) -> Json:
    if isinstance(said.control, EndTxnMarker):
        return marker_json(said.control)
    shown: Json = {"key": _raw(record.key), "payload": _raw(record.value)}
    if said.control is not None:
        return {"controlType": _control_type(said.control), **shown}
    return shown


def _control_type(control: UnknownControlRecord) -> int:
    """Return the type in a control record's key, which follows the version."""
    return int.from_bytes(control.key[2:4], signed=True)


def _key_json(record: LogRecord, said: Content) -> Json | None:
    if said.key is None or record.key is None:
        return _raw(record.key)
    seldom = len(record.key) > _LONGEST_REMEMBERED
    return _json_of_key(said.key) if seldom else _known_json_of_key(said.key)


def _json_of_key(key: Key) -> Json:
    if isinstance(key, UnknownKey):
        return {"type": str(key.record_type), "raw": key.content.hex()}
    return key_json(key)


_known_json_of_key = functools.lru_cache(maxsize=_REMEMBERED)(_json_of_key)
"""Return the description of a key; cached and shared, so it must not be changed."""


def _payload_json(record: LogRecord, said: Content) -> Json | str | None:
    if record.value is None:
        return TOMBSTONE
    value = said.value
    if value is None:
        return _raw(record.value)
    if isinstance(value, UnknownValue):
        version = None if value.value_version is None else str(value.value_version)
        return {"version": version, "raw": value.raw[_VERSION_BYTES:].hex()}
    return value_json(value)


def _raw(part: bytes | None) -> Json | None:
    return None if part is None else {"raw": part.hex()}
