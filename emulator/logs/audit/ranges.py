"""From rows to ranges: what one consumer processed of one partition without a break.

Rows are sorted by partition, consumer and time; neighbours in which offsets go on become one
range. Where a consumer works on several records at once, offsets in order of time make no ranges;
then those of a chunk are put in order of offset. :class:`Cuts` say where ranges must end, and
where every row stays by itself because two consumers worked there at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from emulator.logs.audit.columns import Array
from emulator.logs.audit.rows import Rows

RANGES: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("consumer", pa.string()),
        ("lo", pa.int64()),
        ("hi", pa.int64()),
        ("began_us", pa.int64()),
        ("first_us", pa.int64()),
        ("ended_us", pa.int64()),
    ]
)
"""``first_us``: when the record at ``lo`` was finished, as far as rows tell; ``ended_us``: all."""

TIME_ORDER_POOR = 4
"""Fewer rows than these a range on average: look whether the order of offsets makes longer ones."""

_RADIX = 1 << 16


class PartitionName(NamedTuple):
    """A partition as logs name it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the ranges of a partition must be cut."""

    borders: Array
    """Offsets at which ranges end, ascending."""

    apart: Array
    """Borders of stretches in which rows stay by themselves: begin, end, begin, end, …"""


CutsOf = Mapping[PartitionName, Cuts]


def encode(rows: Rows, cuts_of: CutsOf | None = None) -> pa.RecordBatch:
    """Return the ranges of a chunk; with *cuts_of*, only those of its partitions, and cut so."""
    if cuts_of is None:
        return _shorter(rows, None)
    chosen, breaks = _cut(rows, cuts_of)
    return _shorter(chosen, breaks)


def _shorter(rows: Rows, breaks: Array | None) -> pa.RecordBatch:
    ranges = _joined(rows, breaks, _by_time(rows))
    if ranges.num_rows * TIME_ORDER_POOR <= len(rows):
        return ranges
    by_offset = np.lexsort((rows.ended_us, rows.lo, rows.keys))
    other = _joined(rows, breaks, by_offset)
    return other if other.num_rows * 2 < ranges.num_rows else ranges


def _by_time(rows: Rows) -> Array:
    """Return the places of rows by partition, consumer, time and offset."""
    keys = rows.keys
    if len(keys) and keys.max() < _RADIX:
        keys = keys.astype(np.uint16)
    order = np.argsort(keys, kind="stable")
    key, ended, lo = keys[order], rows.ended_us[order], rows.lo[order]
    same = key[1:] == key[:-1]
    later = ended[1:] > ended[:-1]
    together = (ended[1:] == ended[:-1]) & (lo[1:] >= lo[:-1])
    if np.all(later | together | ~same):
        return order
    return np.lexsort((rows.lo, rows.ended_us, rows.keys))


def _joined(rows: Rows, breaks: Array | None, order: Array) -> pa.RecordBatch:
    """Join neighbours in *order* in which offsets go on, but not over *breaks*."""
    if not len(rows):
        return pa.RecordBatch.from_pylist([], RANGES)
    key, lo, hi = rows.keys[order], rows.lo[order], rows.hi[order]
    new = np.empty(len(key), np.bool_)
    new[0] = True
    np.not_equal(key[1:], key[:-1], out=new[1:])
    new[1:] |= lo[1:] != hi[:-1]
    if breaks is not None:
        new |= breaks[order]
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(key)) - 1
    topics, partitions, consumers = rows.split_keys(key[first])
    ended = rows.ended_us[order]
    columns = [
        _texts(rows.topics, topics),
        pa.array(partitions.astype(np.int32)),
        _texts(rows.consumers, consumers),
        pa.array(lo[first]),
        pa.array(hi[last]),
        pa.array(np.minimum.reduceat(rows.began_us[order], first)),
        pa.array(ended[first]),
        pa.array(np.maximum.reduceat(ended, first)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RANGES)


def _texts(values: list[str], places: Array) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(places))


def _cut(rows: Rows, cuts_of: CutsOf) -> tuple[Rows, Array]:
    """Return the rows of some partitions, cut at borders, and which of them begin a range."""
    parts = rows.keys // max(1, len(rows.consumers))
    wanted = _places_of(rows, cuts_of)
    chosen = rows.select(np.flatnonzero(np.isin(parts, list(wanted))))
    places, lo, hi, breaks = [], [], [], []
    parts = chosen.keys // max(1, len(rows.consumers))
    for part, cuts in sorted(wanted.items()):
        own = np.flatnonzero(parts == part)
        rows_at, starts, ends = split(own, chosen.lo[own], chosen.hi[own], cuts.borders)
        at_border = _is_in(starts, cuts.borders)
        apart = np.searchsorted(cuts.apart, starts, "right") % 2 == 1
        places.append(rows_at)
        lo.append(starts)
        hi.append(ends)
        breaks.append(at_border | apart)
    if not places:
        return chosen.select(np.array([], np.int64)), np.array([], np.bool_)
    cut = chosen.select(np.concatenate(places))
    return _with_ranges(cut, np.concatenate(lo), np.concatenate(hi)), np.concatenate(breaks)


def _places_of(rows: Rows, cuts_of: CutsOf) -> dict[int, Cuts]:
    """Return cuts by what keys say of a partition, as far as a chunk can have it."""
    place = {topic: index for index, topic in enumerate(rows.topics)}
    return {
        place[name.topic] * rows.partitions + name.partition: cuts
        for name, cuts in cuts_of.items()
        if name.topic in place and name.partition < rows.partitions
    }


def split(places: Array, lo: Array, hi: Array, borders: Array) -> tuple[Array, Array, Array]:
    """Cut ranges at the borders inside them; return for each piece its row and its range."""
    below = np.searchsorted(borders, lo, "right")
    above = np.searchsorted(borders, hi, "left")
    inside = above - below
    if not inside.any():
        return places, lo, hi
    pieces = inside + 1
    row = np.repeat(np.arange(len(places)), pieces)
    number = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    at = np.append(borders, 0)
    starts = np.where(number == 0, lo[row], at[below[row] + number - 1])
    ends = np.where(
        number == inside[row], hi[row], at[np.minimum(below[row] + number, len(borders))]
    )
    return places[row], starts, ends


def _is_in(values: Array, borders: Array) -> Array:
    if not len(borders):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(borders, values), len(borders) - 1)
    return np.asarray(borders[places] == values)


def _with_ranges(rows: Rows, lo: Array, hi: Array) -> Rows:
    return Rows(
        keys=rows.keys,
        topics=rows.topics,
        consumers=rows.consumers,
        partitions=rows.partitions,
        lo=lo,
        hi=hi,
        began_us=rows.began_us,
        ended_us=rows.ended_us,
    )
