"""The accounts of one partition: its ranges in order of time, accounted as those of a run.

A *sequence* is the work of one consumer on consecutive offsets. Two sequences overlap if the older
one continues after the younger one began. A consumer that continues later, beyond all that another
consumer processed in between, was assigned the partition again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.ledger.accounts import PartitionAccount
from emulator.logs.audit.columns import Array, shown
from emulator.logs.audit.ranges import PartitionName, Pieces, cut_alike, runs_of
from emulator.logs.errors import AuditError

BLOCK: Final = 1 << 14
"""Number of pieces accounted at once."""

MAX_SPANS: Final = 5_000
"""Spans of work that are kept for a partition; with more, its owners are not drawn."""


class Limits(NamedTuple):
    """Offsets of a partition from other sources than its processing log."""

    begin: int | None = None
    """Its first offset; None: the lowest that was processed."""

    end: int | None = None
    """The end of its log at the cut; None: not known."""

    committed: int | None = None
    """The committed offset of the group at the cut."""


class AffectedRange(NamedTuple):
    """A range that was reprocessed or lost."""

    first: int
    next_offset: int
    first_owner: str | None
    first_us: int | None
    """Reprocessed: the first owner, and when its first record was finished. Lost: the owner of
    the record before the range."""

    second_owner: str | None
    second_us: int | None
    """Reprocessed: the second owner, and when. Lost: the owner of the record after the range."""

    second_began_us: int | None
    overlap: bool = False
    """Whether the first owner still processed the partition when the second one began."""


class WorkSpan(NamedTuple):
    """The time from the first to the last record of a consumer, before another one continued."""

    consumer: str
    began_us: int
    ended_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLedger:
    """The totals of one partition, in records."""

    name: PartitionName
    base: int
    frontier: int
    """The offset after the last processed or committed record."""

    processed: int
    distinct: int
    reprocessed: int
    lost: int
    unread: int
    """Records from the frontier to the end of the log."""

    again: tuple[AffectedRange, ...]
    never: tuple[AffectedRange, ...]

    spans: tuple[WorkSpan, ...] = ()
    """Who worked when, by begin; empty without affected ranges, or if there are too many."""


def account(
    name: PartitionName, pieces: Pieces, consumers: list[str], limits: Limits
) -> PartitionLedger:
    """Compute the accounts of one partition; raise AuditError for contradicting input.

    *pieces*: cut by :func:`cuts_for`.
    """
    _refuse_beyond(name, pieces, limits)
    pieces = cut_alike(pieces)
    _refuse_twice_at_once(name, pieces, consumers)
    base = _base(pieces, limits)
    account = PartitionAccount(TopicPartition(*name), base)
    order = np.lexsort((pieces.consumer, pieces.lo, pieces.ended_us, pieces.first_us))
    ordered = pieces.at(order)
    _work(account, ordered, consumers)
    committed = -1 if limits.committed is None else limits.committed
    account.skip_to(committed if limits.end is None else min(committed, limits.end))
    again = tuple(_again(account, ordered, consumers))
    never = tuple(_never(account, ordered, consumers))
    processed = int((pieces.hi - pieces.lo).sum())
    distinct = account.distinct()
    assert processed - distinct == account.reprocessed == _records(again), "the totals agree"
    return PartitionLedger(
        name=name,
        base=base,
        frontier=account.frontier,
        processed=processed,
        distinct=distinct,
        reprocessed=account.reprocessed,
        lost=_records(never),
        unread=0 if limits.end is None else max(0, limits.end - account.frontier),
        again=again,
        never=never,
        spans=_spans(ordered, consumers) if again or never else (),
    )


def _spans(pieces: Pieces, consumers: list[str]) -> tuple[WorkSpan, ...]:
    """Return the sequences by begin; those of one consumer with none in between are one span."""
    if not len(pieces):
        return ()
    order, new = runs_of(pieces)
    first = np.flatnonzero(new)
    began = np.minimum.reduceat(pieces.began_us[order], first)
    ended = np.maximum.reduceat(pieces.ended_us[order], first)
    consumer = pieces.consumer[order][first]
    order = np.lexsort((consumer, ended, began))
    began, ended, consumer = began[order], ended[order], consumer[order]
    first = np.flatnonzero(np.append(True, consumer[1:] != consumer[:-1]))
    if len(first) > MAX_SPANS:
        return ()
    ended = np.maximum.reduceat(ended, first)
    names = [consumers[each] for each in consumer[first].tolist()]
    return tuple(map(WorkSpan, names, began[first].tolist(), ended.tolist()))


def _base(pieces: Pieces, limits: Limits) -> int:
    """Return the offset from which a partition is counted.

    A partition without processed records and without a beginning offset is not part of this log:
    records committed before are not counted as lost.
    """
    if len(pieces):
        lowest = int(pieces.lo.min())
        return lowest if limits.begin is None else min(lowest, limits.begin)
    known = (limits.begin, limits.committed)
    return next((offset for offset in known if offset is not None), 0)


def _records(ranges: Iterable[AffectedRange]) -> int:
    return sum(each.next_offset - each.first for each in ranges)


def _work(account: PartitionAccount, pieces: Pieces, consumers: list[str]) -> None:
    """Account pieces in order, in blocks, because Python's numbers need much memory."""
    for begin in range(0, len(pieces), BLOCK):
        block = pieces.at(slice(begin, begin + BLOCK))
        columns = (block.consumer, block.lo, block.hi, block.first_us)
        for consumer, lo, hi, at_us in zip(*(column.tolist() for column in columns), strict=True):
            account.process(consumers[consumer], lo, hi, at_us)


def _refuse_beyond(name: PartitionName, pieces: Pieces, limits: Limits) -> None:
    if not len(pieces):
        return
    lowest, highest = int(pieces.lo.min()), int(pieces.hi.max())
    if limits.end is not None and highest > limits.end:
        raise AuditError(
            f"{name}: offset {highest - 1} was processed, but the given end of its log is "
            f"{limits.end}; give the end offsets at the cut, and a log of the same topic"
        )
    if limits.begin is not None and lowest < limits.begin:
        raise AuditError(
            f"{name}: offset {lowest} was processed, but the given begin of its log is "
            f"{limits.begin}; give the beginning offsets at the first row"
        )


def _refuse_twice_at_once(name: PartitionName, pieces: Pieces, consumers: list[str]) -> None:
    """Raise AuditError for two ranges of one consumer that overlap both in offset and in time.

    Each range is compared with the one before it by offset. That finds two processes with the same
    name, which overlap often; it need not find every single overlap. Ranges that overlap in offset
    are equal (:func:`cut_alike`), so that the later one begins last.
    """
    order = np.lexsort((pieces.ended_us, pieces.began_us, pieces.lo, pieces.consumer))
    sorted_ = pieces.at(order)
    same = (sorted_.consumer[1:] == sorted_.consumer[:-1]) & (sorted_.lo[1:] < sorted_.hi[:-1])
    at_once = same & (sorted_.began_us[1:] < sorted_.ended_us[:-1])
    if not at_once.any():
        return
    place = int(at_once.argmax())
    one, other = place, place + 1
    text = " and ".join(
        f"{sorted_.lo[at]}..{sorted_.hi[at] - 1} from {shown(int(sorted_.began_us[at]))} to "
        f"{shown(int(sorted_.ended_us[at]))}"
        for at in (one, other)
    )
    raise AuditError(
        f"{name}: ranges of one consumer overlap: {consumers[int(sorted_.consumer[one])]} processed "
        f"{text}, the same offsets at the same time; if these are two processes, give each its own "
        "name in the consumer column (`columns` consumer=NAME)"
    )


def _again(
    account: PartitionAccount, pieces: Pieces, consumers: list[str]
) -> Iterator[AffectedRange]:
    """Yield the reprocessed ranges, with the times at which their first record was finished."""
    repeats = list(account.repeats())
    begun = _begun_at([each.start for each in repeats], pieces, consumers)
    sequences = Sequences(pieces)
    for each in repeats:
        firsts = begun.get((each.start, each.first_owner), ())
        seconds = begun.get((each.start, each.second_owner), ())
        first = firsts[0] if firsts else None
        second = next((one for one in seconds if one.first_us == each.second_us), None)
        yield AffectedRange(
            first=each.start,
            next_offset=each.end,
            first_owner=each.first_owner,
            first_us=each.first_us if first is None else first.first_us,
            second_owner=each.second_owner,
            second_us=each.second_us,
            second_began_us=each.second_us if second is None else second.began_us,
            overlap=first is not None
            and second is not None
            and each.first_owner != each.second_owner
            and sequences.at_once(first.place, second.place),
        )


def _never(
    account: PartitionAccount, pieces: Pieces, consumers: list[str]
) -> Iterator[AffectedRange]:
    """Yield the ranges that were not processed, with the owners of the records around them."""
    gaps = list(account.gaps())
    begun = _begun_at([end for _, end in gaps], pieces, consumers)
    after = {lo: work for (lo, _), works in begun.items() for work in works[:1]}
    for (lo, _), works in begun.items():
        after[lo] = min(after[lo], works[0])
    before = _ended_at([start for start, _ in gaps], pieces, consumers)
    for start, end in gaps:
        last, following = before.get(start), after.get(end)
        yield AffectedRange(
            first=start,
            next_offset=end,
            first_owner=None if last is None else last.consumer,
            first_us=None if last is None else last.ended_us,
            second_owner=None if following is None else following.consumer,
            second_us=None if following is None else following.first_us,
            second_began_us=None if following is None else following.began_us,
        )


class _Worked(NamedTuple):
    """One piece, found by its beginning or end offset."""

    first_us: int
    began_us: int
    ended_us: int
    place: int
    consumer: str


def _looked_up(
    pieces: Pieces, chosen: Array, consumers: list[str]
) -> Iterator[tuple[int, _Worked]]:
    """Yield the indices and values of chosen pieces, in order of time."""
    for place in np.flatnonzero(chosen).tolist():
        yield (
            place,
            _Worked(
                int(pieces.first_us[place]),
                int(pieces.began_us[place]),
                int(pieces.ended_us[place]),
                place,
                consumers[int(pieces.consumer[place])],
            ),
        )


def _begun_at(
    offsets: list[int], pieces: Pieces, consumers: list[str]
) -> dict[tuple[int, str], list[_Worked]]:
    """Return the pieces that begin at the given offsets, by offset and consumer."""
    found: dict[tuple[int, str], list[_Worked]] = {}
    for place, work in _looked_up(pieces, np.isin(pieces.lo, offsets), consumers):
        found.setdefault((int(pieces.lo[place]), work.consumer), []).append(work)
    return found


def _ended_at(offsets: list[int], pieces: Pieces, consumers: list[str]) -> dict[int, _Worked]:
    """Return the earliest piece that ends at each of the given offsets."""
    found: dict[int, _Worked] = {}
    for place, work in _looked_up(pieces, np.isin(pieces.hi, offsets), consumers):
        found.setdefault(int(pieces.hi[place]), work)
    return found


class Sequences:
    """The sequences of one partition; pieces are given by their indices."""

    __slots__ = ("_borders", "_ordered", "_pieces", "_sequence")

    def __init__(self, pieces: Pieces) -> None:
        order, new = runs_of(pieces)
        self._pieces = pieces
        self._ordered = pieces.at(order)
        self._borders = np.append(np.flatnonzero(new), len(order))
        self._sequence = np.empty(len(order), np.int64)
        self._sequence[order] = np.cumsum(new) - 1

    def at_once(self, one: int, other: int) -> bool:
        """Return whether the sequences of two pieces overlap."""
        sequences = (int(self._sequence[one]), int(self._sequence[other]))
        older, younger = sorted(sequences, key=self._began)
        began_us = self._began(younger)[0]
        low, high = self._borders[older], self._borders[older + 1]
        place = low + int(np.searchsorted(self._ordered.ended_us[low:high], began_us, "right"))
        if place == high:
            return False
        last = self._borders[younger + 1] - 1
        within = self._ordered.began_us[place] < self._ordered.ended_us[last]
        return bool(within or self._ordered.lo[place] < self._ordered.hi[last])

    def _began(self, sequence: int) -> tuple[int, int]:
        return int(self._ordered.began_us[self._borders[sequence]]), sequence
