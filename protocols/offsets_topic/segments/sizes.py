"""How many bytes a batch takes, from the sizes of its keys and values alone.

A log whose bytes nobody asks for need not be written to know how large it is, when it rolls,
and what a load of it reads.

Source: ``DefaultRecord.sizeInBytes``, ``DefaultRecordBatch.sizeInBytes`` (spec records,
sections 2 and 3).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from protocols.offsets_topic.segments.header import HEADER_BYTES
from protocols.offsets_topic.segments.varint import VARINTS

NO_VALUE: Final = -1
"""As the size of a value: a tombstone's."""

_FIXED: Final = 3
"""One byte each for attributes, for a timestamp delta of 0, and for a count of 0 headers."""


def batch_size(sizes: Iterable[tuple[int, int]]) -> int:
    """Return the bytes of a plain batch of records that are all of one time.

    *sizes*: of each record's key and value, in bytes; the value's is ``NO_VALUE`` in a tombstone.

    >>> batch_size([(12, 24), (5, NO_VALUE)])
    116
    """
    return HEADER_BYTES + records_size(sizes)


def records_size(sizes: Iterable[tuple[int, int]], first_delta: int = 0) -> int:
    """Return the bytes that records add to a batch of their time.

    *first_delta*: how many records stand before them.
    """
    total, written = 0, VARINTS
    for delta, (key, value) in enumerate(sizes, first_delta):
        length = _FIXED + len(written[delta]) + len(written[key]) + key + len(written[value])
        if value > 0:
            length += value
        total += len(written[length]) + length
    return total
