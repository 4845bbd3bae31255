"""Recognise whether a file is a segment of the offsets topic, before any part of it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from emulator.logs.offsets_log.finding import (
    WANTED,
    LogFileError,
    OnRead,
    SegmentBytes,
    buffered,
    opened,
    segment_limits,
)
from protocols.offsets_topic.records import MalformedRecordError, UnknownKey, decode_key
from protocols.offsets_topic.segments.header import MAGIC
from protocols.offsets_topic.segments.reader import BatchRecords, Gap, read_log
from protocols.offsets_topic.segments.resync import GapKind, other_format

_MAX_HELD: Final = 1_000
"""Maximum of gaps, batches or records examined before a part is shown."""

_MAX_HELD_BYTES: Final = 2**26
_MAX_TYPE: Final = 127
"""Types that a newer Kafka may have; 4.4 ends at 23."""

_NEXT_FORMATS: Final = frozenset(other_format(magic) for magic in range(MAGIC + 1, MAGIC + 3))
"""Reasons of gaps for batches of a newer Kafka; text files have greater numbers there."""

_SHOWN_BYTES: Final = 24
_HEAD_BYTES: Final = 4


class Cut(NamedTuple):
    """The end of a file that could not be read to its end."""

    position: int
    """Number of bytes read, decompressed if it is a gzip file."""

    reason: str


Part = BatchRecords | Gap | Cut
"""A part of a segment."""


def read_segment(path: Path, on_read: OnRead = lambda _: None) -> Iterator[Part]:
    """Yield the parts of a segment, none for an empty one.

    *on_read*: called with the number of bytes of each read. Raise LogFileError for a file that
    cannot be opened, is not a log, or is a log of another topic.
    """
    with opened(path) as file:
        yield from read_opened(file, str(path), on_read)


def read_opened(file: BinaryIO, name: str, on_read: OnRead = lambda _: None) -> Iterator[Part]:
    """Yield the parts of an opened segment, as :func:`read_segment`; *name*: for messages."""
    yield from _recognised(_parts(SegmentBytes(file, on_read)), name)


def _parts(source: SegmentBytes) -> Iterator[Part]:
    end = 0
    for part in read_log(buffered(source), segment_limits()):
        yield part
        end = _end_of(part)
    if source.fault is not None:
        yield Cut(end, source.fault)


def _recognised(parts: Iterable[Part], name: str) -> Iterator[Part]:
    """Buffer parts until one shows the type of the file; then yield all parts."""
    held, held_bytes, strange = list[Part](), 0, list[bytes | None]()
    first_gap: Gap | Cut | None = None
    has_batches = False
    rest = iter(parts)
    for part in rest:
        held.append(part)
        if isinstance(part, BatchRecords):
            has_batches = True
            held_bytes += len(part.batch.data)
            keys = _keys(part)
            if any(_is_ours(key) for key in keys):
                yield from held
                yield from rest
                return
            strange += keys
        else:
            first_gap = first_gap or part
        if len(strange) >= _MAX_HELD:
            break
        if len(held) >= _MAX_HELD or held_bytes > _MAX_HELD_BYTES:
            if strange:
                break
            yield from held  # from here on the file is not rejected any more
            yield from rest
            return
    if strange:
        raise LogFileError(name, _another_topic(strange))
    if first_gap is not None and not has_batches:
        raise LogFileError(name, _no_log(first_gap))
    yield from held


def _keys(part: BatchRecords) -> list[bytes | None]:
    """Return the keys of records; none for control records, which do not show their topic."""
    return [] if part.batch.header.is_control else [record.key for record in part.records]


def _is_ours(key: bytes | None) -> bool:
    """Return whether a key belongs to the offsets topic, or may be one of a newer Kafka."""
    if key is None or len(key) < _HEAD_BYTES:
        return False
    try:
        decoded = decode_key(key)
    except MalformedRecordError:
        return False
    if not isinstance(decoded, UnknownKey):
        return True
    number, length = int.from_bytes(key[:2], signed=True), int.from_bytes(key[2:4], signed=True)
    return 0 <= number <= _MAX_TYPE and 0 < length <= len(key) - _HEAD_BYTES


def _end_of(part: Part) -> int:
    if isinstance(part, BatchRecords):
        return part.batch.position + len(part.batch.data)
    return part.position + (part.size if isinstance(part, Gap) else 0)


def _another_topic(keys: list[bytes | None]) -> str:
    return (
        "a log of another topic: its batches are valid, but the keys of its first "
        f"{len(keys)} records are not those of __consumer_offsets (the first key: {_shown(keys[0])}). "
        "A key of that topic begins with a record type and a group id"
    )


def _shown(key: bytes | None) -> str:
    """Return the beginning of a key, as text if it is text.

    >>> _shown(b"order-17"), _shown(bytes([0, 1, 254])), _shown(b""), _shown(None)
    ("'order-17'", '0001fe', 'empty', 'none')
    """
    if not key:
        return "none" if key is None else "empty"
    begin, more = key[:_SHOWN_BYTES], "..." if len(key) > _SHOWN_BYTES else ""
    text = begin.decode("ascii", "replace")
    is_text = text.isascii() and text.isprintable()
    return (repr(text) if is_text else begin.hex()) + more


def _no_log(gap: Gap | Cut) -> str:
    if isinstance(gap, Cut):
        return f"{gap.reason}, with no record batch before it; {WANTED}"
    if gap.kind is GapKind.OLD_FORMAT:
        return f"not read: {gap.reason}. If this is a log, it was written by a Kafka before 0.11"
    if gap.reason in _NEXT_FORMATS:
        return f"not read: {gap.reason}. If this is a log, it was written by a newer Kafka"
    place = f"at byte {gap.position}" if gap.position else "at its beginning"
    return f"not a log: it contains no record batch ({place}: {gap.reason}); {WANTED}"
