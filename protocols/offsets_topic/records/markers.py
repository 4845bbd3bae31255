"""Control records: the outcome of a transaction that committed offsets.

A marker is the only record of its batch, which carries the producer of the transaction.

Source: ``ControlRecordType``, ``EndTransactionMarker``, ``EndTxnMarker.json`` (KIP-98).
"""

import enum
from typing import Final, NamedTuple

from assignors.values import dataclass
from protocols.offsets_topic.records.errors import MalformedRecordError
from protocols.offsets_topic.records.reading import struct_reader
from protocols.offsets_topic.records.schema import Int16, Int32, Layout, struct_of


class ControlType(enum.IntEnum):
    """The outcome of a transaction."""

    ABORT = 0
    COMMIT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxnMarker:
    """The end of a transaction."""

    control_type: ControlType
    coordinator_epoch: int
    """Of the transaction coordinator that wrote it."""

    key_version: int = 0
    value_version: int = 0
    """Versions above 0 are read as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownControlRecord:
    """A control record of another type: a reader ignores it."""

    key: bytes
    value: bytes | None


ControlRecord = EndTxnMarker | UnknownControlRecord


class _Key(NamedTuple):
    version: Int16
    type: Int16


class _Value(NamedTuple):
    version: Int16
    coordinator_epoch: Int32
    trailing: bytes = b""


CONTROL_KEY: Final = struct_of(_Key)
END_TXN_MARKER: Final = struct_of(_Value)
_LAYOUT = Layout(0, flexible=False)
_TYPES = {int(control_type): control_type for control_type in ControlType}


def decode_control(key: bytes, value: bytes | None) -> ControlRecord:
    """Return the control record of a key and a value; bytes after the last fields are ignored.

    Raise MalformedRecordError if the key, or the value of a known type, is cut off or of a
    negative version.
    """
    try:
        header, _ = struct_reader(CONTROL_KEY, _LAYOUT)(key, 0)
    except MalformedRecordError as error:
        raise error.of("key", "ControlRecordType") from None
    _refuse_negative(header.version, "key", "ControlRecordType")
    control_type = _TYPES.get(header.type)
    if control_type is None:
        return UnknownControlRecord(key=key, value=value)
    try:
        marker, _ = struct_reader(END_TXN_MARKER, _LAYOUT)(value or b"", 0)
    except MalformedRecordError as error:
        raise error.of("value", "EndTxnMarker") from None
    _refuse_negative(marker.version, "value", "EndTxnMarker")
    return EndTxnMarker(
        control_type=control_type,
        coordinator_epoch=marker.coordinator_epoch,
        key_version=header.version,
        value_version=marker.version,
    )


def _refuse_negative(version: int, part: str, name: str) -> None:
    if version < 0:
        raise MalformedRecordError(0, f"{name}.version", f"{version} is no version", part)
