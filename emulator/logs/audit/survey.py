"""Where a partition was processed more than once, and how finely its rows must be told apart there.

Between the borders of all ranges that overlap, who processed a record is the same for each record:
so there a range a consumer and stretch is enough, and its first record tells when. Only where two
ranges overlap in time, too, is it a matter of single rows who was first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from emulator.logs.audit.columns import Array
from emulator.logs.audit.ranges import Cuts, split

MOST_APART = 2_000_000
"""Records of one partition whose rows are kept apart; beyond that, stretches have to do."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Ranges of one partition as columns; a consumer is a place in a list of names."""

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
    """Join the pieces of each consumer that go on in time and offset, as those of two chunks do."""
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
    """Return pieces' places by consumer and time, and which of them do not go on from the last."""
    order = np.lexsort((pieces.lo, pieces.ended_us, pieces.first_us, pieces.consumer))
    consumer, lo, hi = pieces.consumer[order], pieces.lo[order], pieces.hi[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (consumer[1:] != consumer[:-1]) | (lo[1:] != hi[:-1])
    return order, new


def cut_alike(pieces: Pieces) -> Pieces:
    """Cut pieces wherever another one of the partition begins or ends.

    Cutting by :func:`cuts_for` leaves this to do only where rows are kept apart, and are ranges.
    """
    borders = _each_once(np.concatenate([pieces.lo, pieces.hi]))
    places, lo, hi = split(np.arange(len(pieces)), pieces.lo, pieces.hi, borders)
    return replace(pieces.at(places), lo=lo, hi=hi)


def cuts_for(pieces: Pieces) -> Cuts | None:
    """Return how rows must be cut, None where no record was processed more than once."""
    position, depth = _depths(pieces)
    more = depth > 1
    if not more.any():
        return None
    starts = position[:-1][more]
    borders = _each_once(np.concatenate([starts, position[1:][more]]))
    involved = pieces.at(np.flatnonzero(_touches(pieces, starts)))
    return Cuts(borders, _apart(involved))


def _each_once(values: Array) -> Array:
    """Return values in order, each once; by sorting, which stays quick where a table of hashes grows slow."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _depths(pieces: Pieces) -> tuple[Array, Array]:
    """Return the borders of all pieces, and how many pieces cover what lies between two."""
    position = np.concatenate([pieces.lo, pieces.hi])
    change = np.repeat(np.array([1, -1]), len(pieces))
    order = np.argsort(position, kind="stable")
    position, change = position[order], change[order]
    last = np.append(position[1:] != position[:-1], True)
    return position[last], np.cumsum(change)[last][:-1]


def _touches(pieces: Pieces, starts: Array) -> Array:
    """Say of each piece whether a stretch that was processed more than once begins in it."""
    found = np.searchsorted(starts, pieces.hi, "left") - np.searchsorted(starts, pieces.lo, "left")
    return np.asarray(found > 0)


def _apart(pieces: Pieces) -> Array:
    """Return the borders of what pieces overlap in, both in offset and in time."""
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


def _united(stretches: list[tuple[int, int]]) -> Array:
    """Join stretches that overlap or touch; give up those for which there is no room."""
    borders, room = list[int](), MOST_APART
    for start, end in sorted(stretches):
        if borders and start <= borders[-1]:
            room -= max(0, end - borders[-1])
            borders[-1] = max(borders[-1], end)
        else:
            borders += [start, end]
            room -= end - start
        if room < 0:
            return np.array(borders[:-2], np.int64)
    return np.array(borders, np.int64)
