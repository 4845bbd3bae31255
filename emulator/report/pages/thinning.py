"""Reduce a history to what a page can show: many short changes of many partitions become fewer.

Time is cut into equal steps, as many as the number of different rows permits. In a step with several
changes the owner that held the partition longest is shown, and the longest time without an owner or with
two. Such a time is shown at least as long as can be seen; times shorter than that are so far apart that the
owners between them can be seen, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.report.cutting import shares
from emulator.report.pages.history import Sample, Span

MAX_PIECES: Final = 24_000
"""Pieces of all rows of a page; each takes about 15 bytes."""

MAX_STEPS: Final = 1_200
MAX_GAPS: Final = 40
"""Times without an owner, or with two, of one row, whose outlines leave its owners visible on a phone."""

VISIBLE: Final = 200
"""Parts of a figure: each is about as wide as what can be seen on a phone."""

APART: Final = 5
"""Parts between a time that is shown and the next one that is shown longer than it was."""

MAX_ROWS: Final = 1_000
MAX_LINED: Final = 125
"""Rows with a line between two of them; more are too thin to tell many owners apart row by row."""

MAX_SAMPLES: Final = 400

NOBODY: Final = ""
"""The owner of a partition that has none."""


class Piece(NamedTuple):
    """One owner of a row between two times; two owners share a time in ``Row.doubles``."""

    begin_us: int
    end_us: int
    owner: str


@dataclass(frozen=True, slots=True)
class Row:
    """The owners of one partition."""

    name: str
    pieces: tuple[Piece, ...]
    gaps: tuple[Piece, ...]
    """Between its first owner and the end: times without an owner."""

    doubles: tuple[Piece, ...]
    """Times with more than one owner; ``owner`` names them."""

    @property
    def size(self) -> int:
        """The number of its shapes."""
        return len(self.pieces) + len(self.gaps) + len(self.doubles)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a group, and what was reduced."""

    rows: tuple[Row, ...]
    step_us: int
    """The length of a step; 0: nothing was reduced."""

    part_us: int
    """The shortest time without an owner, or with two, that is shown at its length."""

    merged: int
    """The number of pieces that are not shown."""

    rows_left_out: int

    is_grouped: bool = False
    """Whether the rows are not in the order of their partitions."""


def rows_of(
    owners: Mapping[TopicPartition, Sequence[Span]], begin_us: int, end_us: int, budget: int
) -> Rows:
    """Return a row for each partition, with at most *budget* pieces in all."""
    names = sorted(owners)
    shown = names[:MAX_ROWS]
    listed = [_exact(str(name), owners[name], end_us) for name in shown]
    exact = _grouped(listed) if len(listed) > MAX_LINED else listed
    is_grouped = exact != listed
    pieces = sum(row.size for row in exact)
    left_out = len(names) - len(shown)
    gaps = max((len(row.gaps) + len(row.doubles) for row in exact), default=0)
    if pieces <= budget and gaps <= MAX_GAPS:
        return Rows(tuple(exact), 0, 0, 0, left_out, is_grouped)
    steps = max(min(MAX_STEPS, budget // max(_different(exact), 1)), 10)
    step_us = max(-(-(end_us - begin_us) // steps), 1)
    part_us = max((end_us - begin_us) // VISIBLE, 1)
    rows = tuple(_stepped(row, step_us, part_us) for row in exact)
    merged = pieces - sum(row.size for row in rows)
    return Rows(rows, step_us, part_us, merged, left_out, is_grouped)


def _grouped(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of each owner together, rows of equal owners side by side.

    An assignor such as roundrobin gives neighbouring partitions to different members: in the order of the
    partitions, rows of a pixel would be noise. Rows that are in groups keep their order.
    """
    mains: dict[str, int] = {}
    courses: dict[tuple[str, ...], int] = {}
    places = []
    for at, row in enumerate(rows):
        main = mains.setdefault(_main_owner(row), at)
        course = courses.setdefault(tuple(piece.owner for piece in row.pieces), at)
        places.append((main, course, at))
    return [rows[at] for _, _, at in sorted(places)]


def _main_owner(row: Row) -> str:
    """Return the owner that held a partition longest; of equal ones the first."""
    held_us = Counter[str]()
    for piece in row.pieces:
        held_us[piece.owner] += _length(piece)
    return max(held_us, key=held_us.__getitem__, default=NOBODY)


def _different(rows: Sequence[Row]) -> int:
    """Return the number of rows that differ from the one above: an equal one is drawn with it."""
    shapes = [(row.pieces, row.gaps, row.doubles) for row in rows]
    return sum(above != shape for above, shape in zip([None, *shapes], shapes, strict=False))


def _exact(name: str, spans: Sequence[Span], end_us: int) -> Row:
    """Return the pieces, gaps and doubles of a row without reduction."""
    gaps, doubles = [], []
    held_us = spans[0].begin_us if spans else end_us
    holder = ""
    for span in spans:
        if span.begin_us > held_us:
            gaps.append(Piece(held_us, span.begin_us, NOBODY))
        elif span.begin_us < min(held_us, span.end_us):
            both = f"{holder} and {span.name}"
            doubles.append(Piece(span.begin_us, min(held_us, span.end_us), both))
        if span.end_us >= held_us:
            held_us, holder = span.end_us, span.name
    if held_us < end_us:
        gaps.append(Piece(held_us, end_us, NOBODY))
    pieces = tuple(Piece(*span) for span in _joined(spans))
    return Row(name, pieces, tuple(gaps), tuple(doubles))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans; those of one owner that touch each other as one."""
    last: Span | None = None
    for span in spans:
        if last is not None and last.name == span.name and last.end_us >= span.begin_us:
            last = last._replace(end_us=max(last.end_us, span.end_us))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _stepped(row: Row, step_us: int, part_us: int) -> Row:
    """Return a row with one owner in each step."""
    longest: dict[int, tuple[int, str]] = {}
    for piece in row.pieces:
        for step, inside in _cut(piece, step_us):
            held_us = inside.end_us - inside.begin_us
            longest[step] = max(longest.get(step, (0, "")), (held_us, piece.owner))
    owned = [(step, owner) for step, (_, owner) in sorted(longest.items())]
    gaps, doubles = (_blocks(pieces, step_us, part_us) for pieces in (row.gaps, row.doubles))
    return Row(row.name, tuple(_runs(owned, step_us)), gaps, doubles)


def _cut(piece: Piece, step_us: int) -> Iterator[tuple[int, Piece]]:
    """Yield the part of a piece in each step that it touches, with the number of the step."""
    for step in range(piece.begin_us // step_us, -(-piece.end_us // step_us)):
        begin_us, end_us = (
            min(max(at, step * step_us), (step + 1) * step_us)
            for at in (piece.begin_us, piece.end_us)
        )
        yield step, Piece(begin_us, end_us, piece.owner)


def _blocks(pieces: Iterable[Piece], step_us: int, part_us: int) -> tuple[Piece, ...]:
    """Return the longest gap or double of each step in whole parts, short ones as one part."""
    longest: dict[int, Piece] = {}
    for piece in pieces:
        for step, inside in _cut(piece, max(step_us, part_us)):
            longest[step] = max(longest.get(step, inside), inside, key=_length)
    shown: list[Piece] = []
    free_us = 0
    for _, piece in sorted(longest.items()):
        if 2 * _length(piece) < part_us and piece.begin_us < free_us:
            continue
        free_us = piece.end_us + APART * part_us
        first = piece.begin_us // part_us
        last = max((2 * piece.end_us + part_us) // (2 * part_us), first + 1)
        block = Piece(first * part_us, last * part_us, piece.owner)
        if shown and shown[-1].end_us >= block.begin_us and shown[-1].owner == block.owner:
            block = Piece(shown.pop().begin_us, *block[1:])
        shown.append(block)
    return tuple(shown)


def _length(piece: Piece) -> int:
    return piece.end_us - piece.begin_us


def _runs(owned: Sequence[tuple[int, str]], step_us: int) -> Iterator[Piece]:
    """Yield adjacent steps of one owner as one piece."""
    at = 0
    while at < len(owned):
        first, owner = owned[at]
        last = first
        while at + 1 < len(owned) and owned[at + 1] == (last + 1, owner):
            at, last = at + 1, last + 1
        yield Piece(first * step_us, (last + 1) * step_us, owner)
        at += 1


def thin_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Return at most about :data:`MAX_SAMPLES` samples: of each stretch those of least and most lag."""
    if len(samples) <= MAX_SAMPLES:
        return list(samples)
    length = -(-2 * len(samples) // MAX_SAMPLES)
    kept: list[Sample] = []
    for at in range(0, len(samples), length):
        part = samples[at : at + length]
        ends = {min(part, key=_lag), max(part, key=_lag)}
        kept += sorted(ends)
    return sorted({*kept, samples[0], samples[-1]})


def _lag(sample: Sample) -> int:
    return sample.log_end - sample.processed


T = TypeVar("T")


def largest(
    values: Iterable[T], most: int, size: Callable[[T], Any], *, spread: bool = False
) -> tuple[list[T], int]:
    """Return the *most* largest values in their own order, and the number of the others.

    Of equal values the first ones are kept, or with *spread* ones from the whole sequence.

    >>> largest([1, 5, 3], 2, int), largest("abcdefgh", 2, len, spread=True)
    (([5, 3], 1), (['a', 'e'], 6))
    """
    numbered = list(enumerate(values))
    bits = len(numbered).bit_length()
    order = sorted(numbered, key=lambda one: _reversed(one[0], bits)) if spread else numbered
    kept = sorted(order, key=lambda one: size(one[1]), reverse=True)[:most]
    return [value for _, value in sorted(kept, key=itemgetter(0))], len(numbered) - len(kept)


def fairly(
    values: Sequence[T], most: int, kind: Callable[[T], str], size: Callable[[T], Any]
) -> tuple[list[T], list[T]]:
    """Return at most *most* values in their own order, and the others: of each kind the largest.

    How many of each kind, :func:`emulator.report.cutting.shares` says; equal ones are spread over the
    sequence.
    """
    given = shares(Counter(map(kind, values)), most)
    kept = set[int]()
    for name, number in given.items():
        mine = [(at, value) for at, value in enumerate(values) if kind(value) == name]
        chosen, _ = largest(mine, number, lambda one: size(one[1]), spread=True)
        kept.update(at for at, _ in chosen)
    parts: tuple[list[T], list[T]] = [], []
    for at, value in enumerate(values):
        parts[at not in kept].append(value)
    return parts


def longest_drawn(drawn: int, left_out: int, names: str) -> str:
    """Return the sentence of a caption that says how many things are drawn, and which.

    >>> longest_drawn(60, 1_620, "rebalances")
    '60 of 1,680 rebalances are drawn, the longest ones.'
    """
    return f"{drawn:,} of {drawn + left_out:,} {names} are drawn, the longest ones."


def _reversed(number: int, bits: int) -> int:
    """Return a number with its bits in reverse order: the first of many such are far apart."""
    return int(f"{number:0{bits}b}"[::-1], 2)


def samples_within(samples: Sequence[Sample], begin_us: int, end_us: int) -> list[Sample]:
    """Return the samples between two times, with one at each of them, interpolated if need be."""
    inside = [one for one in samples if begin_us <= one.at_us <= end_us]
    before = next((one for one in reversed(samples) if one.at_us < begin_us), None)
    after = next((one for one in samples if one.at_us > end_us), None)
    first, last = (inside[0], inside[-1]) if inside else (after, before)
    if before is not None and first is not None:
        inside.insert(0, _between(before, first, begin_us))
    if after is not None and last is not None:
        inside.append(_between(last, after, end_us))
    return inside


def _between(one: Sample, other: Sample, at_us: int) -> Sample:
    """Return the sample on the line from one to the other."""
    share = (at_us - one.at_us) / max(other.at_us - one.at_us, 1)
    values = (round(a + (b - a) * share) for a, b in zip(one[1:], other[1:], strict=True))
    return Sample(at_us, *values)
