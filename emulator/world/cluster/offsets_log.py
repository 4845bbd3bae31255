"""Records of ``__consumer_offsets``: what they are called."""

from __future__ import annotations

from protocols.offsets_topic.records import Record


def kind_of(record: Record) -> str:
    """Return what a record is called in counts and reports."""
    name = type(record.key).__name__.removesuffix("Key")
    return name if record.value is not None else f"{name} tombstone"
