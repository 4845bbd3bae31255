"""Join rows into ranges: consecutive offsets of one partition processed by one consumer.

Rows are sorted by partition, consumer and time; neighbours with consecutive offsets become one
range. Where a consumer processes several records at once, offsets in order of time do not form
ranges; then the rows of a chunk are sorted by offset. :class:`Cuts` contain the offsets where
ranges must end, and the intervals where every row is kept because two consumers processed them at
the same time.

Between the borders of overlapping ranges, all records have the same owners: one range for each
consumer is enough there, with the time of its first record. Single rows are needed only where two
ranges also overlap in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from assignors.values import dataclass
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
"""``first_us``: when the record at ``lo`` was finished, if the rows show it; ``ended_us``: all."""

TIME_ORDER_POOR = 4
"""Below this average of rows per range, try whether the order of offsets gives longer ranges."""

_RADIX = 1 << 16


class PartitionName(NamedTuple):
    """The name of a partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Cuts:
    """The offsets at which the ranges of a partition must be cut."""

    borders: Array
    """Offsets at which ranges end, ascending."""

    apart: Array
    """Borders of intervals in which every row is kept: begin, end, begin, end, …"""


CutsOf = Mapping[PartitionName, Cuts]


def encode(rows: Rows, cuts_of: CutsOf | None = None) -> pa.RecordBatch:
    """Return the ranges of a chunk; with *cuts_of*, only those of its partitions, cut."""
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
    """Return the indices of rows in the order of partition, consumer, time and offset."""
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
    """Join neighbours in *order* with consecutive offsets, but not across *breaks*."""
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
    """Return cuts by the part of a key that names a partition, for partitions of this chunk."""
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


MAX_APART = 2_000_000
"""Maximum of records of one partition whose rows are kept; beyond it, ranges are used."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Ranges of one partition as columns; a consumer is an index into a list of names."""

    consumer: Array
    lo: Array
    hi: Array
    began_us: Array
    first_us: Array
    ended_us: Array

    def __len__(self) -> int:
        return len(self.lo)

    def at(self, places: Array | slice) -> Pieces:
        """Return some of them, in this order."""
        return Pieces(*(getattr(self, field.name)[places] for field in fields(self)))


def pieces_of(table: pa.Table) -> tuple[Pieces, list[str]]:
    """Return the ranges of one partition, and the consumers' names, sorted."""
    column = table.column("consumer").combine_chunks().dictionary_encode()
    names = column.dictionary.to_pylist()
    ranked = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[ranked] = np.arange(len(names))
    numbers = [
        table.column(name).to_numpy() for name in ("lo", "hi", "began_us", "first_us", "ended_us")
    ]
    codes = column.indices.to_numpy(zero_copy_only=False)
    consumers = rank[codes] if len(names) else codes.astype(np.int64)
    return Pieces(consumers, *numbers), [names[place] for place in ranked]


def joined(pieces: Pieces) -> Pieces:
    """Join the pieces of each consumer that continue in time and offset, as across two chunks."""
    if not len(pieces):
        return pieces
    order, new = runs_of(pieces)
    all_, first = pieces.at(order), np.flatnonzero(new)
    last = np.append(first[1:], len(all_)) - 1
    return Pieces(
        consumer=all_.consumer[first],
        lo=all_.lo[first],
        hi=all_.hi[last],
        began_us=np.minimum.reduceat(all_.began_us, first),
        first_us=all_.first_us[first],
        ended_us=np.maximum.reduceat(all_.ended_us, first),
    )


def runs_of(pieces: Pieces) -> tuple[Array, Array]:
    """Return pieces' indices by consumer and time, and which do not continue the one before."""
    order = np.lexsort((pieces.lo, pieces.ended_us, pieces.first_us, pieces.consumer))
    consumer, lo, hi = pieces.consumer[order], pieces.lo[order], pieces.hi[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (consumer[1:] != consumer[:-1]) | (lo[1:] != hi[:-1])
    return order, new


def cut_alike(pieces: Pieces) -> Pieces:
    """Cut pieces wherever another one of the partition begins or ends.

    After cutting by :func:`cuts_for` this affects only rows that are kept single and are ranges.
    """
    borders = _each_once(np.concatenate([pieces.lo, pieces.hi]))
    places, lo, hi = split(np.arange(len(pieces)), pieces.lo, pieces.hi, borders)
    return replace(pieces.at(places), lo=lo, hi=hi)


def cuts_for(pieces: Pieces) -> Cuts | None:
    """Return where rows must be cut; None if no record was processed more than once."""
    position, depth = _depths(pieces)
    more = depth > 1
    if not more.any():
        return None
    starts = position[:-1][more]
    borders = _each_once(np.concatenate([starts, position[1:][more]]))
    involved = pieces.at(np.flatnonzero(_touches(pieces, starts)))
    return Cuts(borders, _apart(involved))


def _each_once(values: Array) -> Array:
    """Return sorted distinct values; for many values sorting is faster than hashing."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _depths(pieces: Pieces) -> tuple[Array, Array]:
    """Return the borders of all pieces, and how many pieces cover each interval between two."""
    position = np.concatenate([pieces.lo, pieces.hi])
    change = np.repeat(np.array([1, -1]), len(pieces))
    order = np.argsort(position, kind="stable")
    position, change = position[order], change[order]
    last = np.append(position[1:] != position[:-1], True)
    return position[last], np.cumsum(change)[last][:-1]


def _touches(pieces: Pieces, starts: Array) -> Array:
    """Return for each piece whether an interval with reprocessed records begins in it."""
    found = np.searchsorted(starts, pieces.hi, "left") - np.searchsorted(starts, pieces.lo, "left")
    return np.asarray(found > 0)


def _apart(pieces: Pieces) -> Array:
    """Return the borders of the intervals where pieces overlap both in offset and in time."""
    found = list[tuple[int, int]]()
    order = np.lexsort((pieces.lo, pieces.began_us))
    columns = (pieces.began_us, pieces.ended_us, pieces.lo, pieces.hi)
    active = list[tuple[int, int, int]]()
    for began, ended, lo, hi in zip(*(each[order].tolist() for each in columns), strict=True):
        active = [each for each in active if each[0] > began]
        found += [
            (max(lo, start), min(hi, end)) for _, start, end in active if start < hi and lo < end
        ]
        active.append((ended, lo, hi))
    return _united(found)


def _united(intervals: list[tuple[int, int]]) -> Array:
    """Join intervals that overlap or touch; drop those beyond the limit."""
    borders, room = list[int](), MAX_APART
    for start, end in sorted(intervals):
        if borders and start <= borders[-1]:
            room -= max(0, end - borders[-1])
            borders[-1] = max(borders[-1], end)
        else:
            borders += [start, end]
            room -= end - start
        if room < 0:
            return np.array(borders[:-2], np.int64)
    return np.array(borders, np.int64)
