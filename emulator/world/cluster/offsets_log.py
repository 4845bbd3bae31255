"""Records of ``__consumer_offsets``: what they are called, and how large they are."""

from __future__ import annotations

from protocols.records import Record, size


def kind_of(record: Record) -> str:
    """Return what a record is called in counts and reports."""
    name = type(record.key).__name__.removesuffix("Key")
    return name if record.value is not None else f"{name} tombstone"


def size_of(record: Record) -> int:
    """Return the bytes of a record's key and value."""
    return size(record)
