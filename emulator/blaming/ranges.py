"""Rows of a processing log that stand for many records, taken apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from statistics import median
from typing import Final

from assignors.types import TopicPartition
from emulator.blaming.evidence import Joined, Work, grouped

PIECE_US: Final = 200_000
"""The least time of a piece."""

SLOWER: Final = 3
"""A row whose records took this factor longer than usual contains a stop, and stays whole."""

_AT_ONCE_US: Final = 50_000
"""Rows of one consumer that end within this time end together: with one commit, say."""


def taken_apart(work: Iterable[Work], joins: Iterable[Joined] = ()) -> Iterator[Work]:
    """Yield rows of one record as they are, longer ones as pieces that end at even times.

    A row of many records, such as all since the last commit, has the time of none but its last. One
    without a beginning begins with the end of its consumer's last row, or when that joined after it, and
    not before the records in front of it were finished.
    """
    given = sorted(work, key=attrgetter("ended_us"))
    rows = list(_with_begins(given, joins))
    usual_us = median([_record_us(row) for row in rows if _records(row) > 1] or [0])
    for row, as_given in zip(rows, given, strict=True):
        if _record_us(row) > SLOWER * usual_us:
            yield as_given
        elif row is as_given:
            yield from _pieces(row)
        else:  # how long the work on a record took is not known
            yield from (replace(piece, began_us=piece.ended_us) for piece in _pieces(row))


def _with_begins(work: Sequence[Work], joins: Iterable[Joined]) -> Iterator[Work]:
    """Yield rows in order of time, those of many records with their beginning."""
    joined = {
        consumer: [each.at_us for each in same]
        for consumer, same in grouped(joins, attrgetter("consumer")).items()
    }
    ends: dict[str, list[int]] = {}
    finished: dict[tuple[TopicPartition, int], int] = {}
    for row in work:
        earlier = ends.setdefault(row.consumer, [])
        if _records(row) > 1 and row.began_us == row.ended_us:
            before = bisect_left(earlier, row.ended_us - _AT_ONCE_US)
            times = joined.get(row.consumer, [])
            known = [*earlier[max(0, before - 1) : before]]
            known += times[: bisect_right(times, row.ended_us)][-1:]
            known += [
                finished[place] for place in ((row.partition, row.first),) if place in finished
            ]
            yield replace(row, began_us=max(known, default=row.began_us))
        else:
            yield row
        finished[row.partition, row.next_offset] = row.ended_us
        earlier.append(row.ended_us)


def _pieces(row: Work) -> Iterator[Work]:
    records, lasted_us = _records(row), row.ended_us - row.began_us
    pieces = max(1, min(records, lasted_us // PIECE_US))
    for place in range(pieces):
        first, end = (row.first + records * each // pieces for each in (place, place + 1))
        began_us, ended_us = (
            row.began_us + lasted_us * each // pieces for each in (place, place + 1)
        )
        yield Work(row.consumer, row.partition, first, end, began_us, ended_us)


def _records(row: Work) -> int:
    return row.next_offset - row.first


def _record_us(row: Work) -> float:
    return (row.ended_us - row.began_us) / max(1, _records(row))
