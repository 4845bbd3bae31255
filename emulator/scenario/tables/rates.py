"""How fast a topic's producer writes: at equal or random intervals, in bursts, or as a rate that changes.

A rate that changes consists of segments. In a segment the rate is constant or a straight line; times
are those of the run. :func:`segments_of` returns them for every pattern that has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.problems import hint, listed
from emulator.scenario.tables.distributions import Duration, PositiveDuration, Rate


class Poisson(Part):
    """Records that arrive independently of each other (a Poisson process)."""

    poisson: Rate
    """The mean rate, in each partition."""


class BurstShape(Part):
    """Bursts, periodic or at given times."""

    rate: Rate
    """The rate inside the bursts."""

    lasting: PositiveDuration = Field(alias="for")
    """The length of each burst."""

    every: PositiveDuration | None = None
    """The period; the first burst begins with the production. Left out: ``at`` is set."""

    at: tuple[Duration, ...] = ()
    """When each burst begins, in order; instead of ``every``."""

    between: Rate = 0.0
    """The rate outside the bursts."""

    @model_validator(mode="after")
    def _bursts_end(self) -> Self:
        if (self.every is None) != bool(self.at):
            raise ValueError('set exactly one of "every" and "at"')
        if self.every is not None and self.lasting > self.every:
            raise ValueError('a burst ("for") is longer than its period ("every")')
        if any(later - earlier < self.lasting for earlier, later in pairwise(self.at)):
            raise ValueError('"at": a burst begins before the one before it is over ("for")')
        return self


class Bursts(Part):
    """Bursts, periodic or at given times."""

    bursts: BurstShape
    """Their rate, length and times."""


class RateAt(Part):
    """The rate at one time."""

    at: Duration
    """From the start of the run."""

    rate: Rate
    """Records per second in each partition."""


def _check_order(points: Sequence[RateAt]) -> None:
    if any(earlier.at >= later.at for earlier, later in pairwise(points)):
        raise ValueError('not in order of time: each "at" is later than the one before')


class Steps(Part):
    """A rate that changes at once; each holds until the next, and nothing arrives before the first."""

    steps: NotEmpty[RateAt]
    """In order of time."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _check_order(self.steps)
        return self


class RampShape(Part):
    """A rate that rises or falls evenly, once; it is constant before and behind that."""

    first: Rate = Field(alias="from")
    """The rate before."""

    to: Rate
    """The rate after."""

    at: Duration = 0
    """When it begins to change."""

    lasting: PositiveDuration = Field(alias="for")
    """How long it changes."""


class Ramp(Part):
    """A rate that rises or falls evenly, once."""

    ramp: RampShape
    """Both rates, and when it changes."""


class CurveShape(Part):
    """Rates with straight lines between them, such as those of a day."""

    points: NotEmpty[RateAt]
    """In order of time."""

    every: PositiveDuration | None = None
    """The time after which the curve begins again, such as ``24h``: the last point leads to the first one.
    Left out: the rate is constant before the first point and behind the last one."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _check_order(self.points)
        if self.every is not None and self.points[-1].at >= self.every:
            raise ValueError('the last point is not in the period ("every")')
        return self


class Curve(Part):
    """A rate that follows a curve, such as that of a day."""

    curve: CurveShape
    """Its points, and its period."""


_PATTERNS = ("poisson", "bursts", "steps", "ramp", "curve")


def _known_pattern(value: object) -> object:
    """Return the value; raise ValueError if it is a table without the key of a pattern."""
    keys = short_forms.keys(value)
    if isinstance(value, dict) and not any(pattern in keys for pattern in _PATTERNS):
        given = next(iter(keys), "")
        near = hint(given, _PATTERNS) if given else ""
        raise ValueError(f"no pattern of arrivals; allowed are {listed(_PATTERNS)}{near}")
    return value


def _pattern_of_arrivals(value: object) -> str:
    if isinstance(value, Part):
        return f"={type(value).__name__.lower()}"
    keys = short_forms.keys(value)
    return next((f"={pattern}" for pattern in _PATTERNS if pattern in keys), "=steady")


Arrivals = Annotated[
    Annotated[Rate, Tag("=steady")]
    | Annotated[Poisson, Tag("=poisson")]
    | Annotated[Bursts, Tag("=bursts")]
    | Annotated[Steps, Tag("=steps")]
    | Annotated[Ramp, Tag("=ramp")]
    | Annotated[Curve, Tag("=curve")],
    Discriminator(_pattern_of_arrivals),
    BeforeValidator(_known_pattern),
]


class Repeats(Part):
    """Requests that the producer sends again, although the first was appended (no idempotence)."""

    records: int = Field(ge=1)
    """Records in such a request; the copies follow the records that they repeat."""

    of: int = Field(ge=2)
    """A request is repeated once in this number of records, the copies included; the last ``records`` of
    them are the copies."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if 2 * self.records > self.of:
            raise ValueError('"records" and the records that they repeat are more than "of"')
        return self

    def original(self, offset: int) -> int:
        """Return the offset of the record that a copy repeats; of any other record its own."""
        is_copy = offset % self.of >= self.of - self.records
        return offset - self.records if is_copy else offset


class Segment(NamedTuple):
    """A part of a rate that changes; its end is the beginning of the next one."""

    begin_us: int
    first: float
    """The rate at its beginning, in records per second."""

    last: float
    """The rate at its end; in a segment without an end the same."""

    @property
    def is_constant(self) -> bool:
        """Whether the rate stays the same."""
        return self.first == self.last


class Segments(NamedTuple):
    """A rate that changes, from time 0 on."""

    parts: tuple[Segment, ...]
    every_us: int | None = None
    """The time after which they begin again; None: the last one has no end."""


def segments_of(rate: object) -> Segments | None:
    """Return the segments of a topic's rate; None: it is constant, random, or in periodic bursts."""
    match rate:
        case Steps(steps=steps):
            return _behind_nothing([Segment(each.at, each.rate, each.rate) for each in steps])
        case Ramp(ramp=ramp):
            rise = Segment(ramp.at, ramp.first, ramp.to)
            behind = Segment(ramp.at + ramp.lasting, ramp.to, ramp.to)
            return Segments((*_before(ramp.at, ramp.first), rise, behind))
        case Bursts(bursts=shape) if shape.at:
            found = []
            for at in shape.at:
                found.append(Segment(at, shape.rate, shape.rate))
                found.append(Segment(at + shape.lasting, shape.between, shape.between))
            joined = [a for a, b in pairwise(found) if a.begin_us < b.begin_us]
            return Segments((*_before(shape.at[0], shape.between), *joined, found[-1]))
        case Curve(curve=shape):
            return _segments_of_curve(shape)
    return None


def _before(begin_us: int, rate: float) -> tuple[Segment, ...]:
    """Return the segment before a time, if there is any time before it."""
    return (Segment(0, rate, rate),) if begin_us else ()


def _behind_nothing(steps: Sequence[Segment]) -> Segments:
    return Segments((*_before(steps[0].begin_us, 0.0), *steps))


def _segments_of_curve(shape: CurveShape) -> Segments:
    points, every = shape.points, shape.every
    lines = [Segment(a.at, a.rate, b.rate) for a, b in pairwise(points)]
    begin, end = points[0], points[-1]
    if every is None:
        return Segments(
            (*_before(begin.at, begin.rate), *lines, Segment(end.at, end.rate, end.rate))
        )
    share = (every - end.at) / (every - end.at + begin.at)
    at_0 = end.rate + (begin.rate - end.rate) * share
    leading = (Segment(0, at_0, begin.rate),) if begin.at else ()
    return Segments((*leading, *lines, Segment(end.at, end.rate, at_0)), every)


def mean_rate(segments: Segments, begin_us: int, until_us: int) -> float:
    """Return the mean rate between two times, in records per second; 0 if there is no time between."""
    if until_us <= begin_us:
        return 0.0
    return (_area(segments, until_us) - _area(segments, begin_us)) / (until_us - begin_us)


def _area(segments: Segments, until_us: int) -> float:
    """Return the integral of the rate from 0 until a time: records per second, times microseconds."""
    parts, every = segments
    if every is None:
        return _area_of(parts, until_us, max(until_us, parts[-1].begin_us))
    cycles, rest_us = divmod(until_us, every)
    return cycles * _area_of(parts, every, every) + _area_of(parts, rest_us, every)


def _area_of(parts: Sequence[Segment], until_us: int, end_us: int) -> float:
    """Return the integral over segments of which the last one ends at *end_us*."""
    total = 0.0
    for part, part_end_us in zip(parts, _ends(parts, end_us), strict=True):
        lasting = min(part_end_us, until_us) - part.begin_us
        if lasting > 0:
            total += lasting * (part.first + _rate_after(part, part_end_us, lasting)) / 2
    return total


def _ends(parts: Sequence[Segment], end_us: int) -> list[int]:
    return [*(each.begin_us for each in parts[1:]), end_us]


def _rate_after(part: Segment, end_us: int, lasting_us: int) -> float:
    """Return the rate at a time after the beginning of a segment."""
    return part.first + (part.last - part.first) * lasting_us / (end_us - part.begin_us)


def rate_in_the_end(segments: Segments, begin_us: int, until_us: int) -> float:
    """Return the rate at the end of a time, or the mean of a curve that repeats.

    Later changes do not count. Of a curve whose period is longer than this time, only this part counts.
    """
    parts, every = segments
    if every is not None:
        whole = every <= until_us - begin_us
        return mean_rate(segments, *((0, every) if whole else (begin_us, until_us)))
    until_us = max(until_us, parts[0].begin_us + 1)
    pairs = zip(parts, _ends(parts, max(until_us, parts[-1].begin_us + 1)), strict=True)
    part, end_us = [pair for pair in pairs if pair[0].begin_us < until_us][-1]
    return _rate_after(part, end_us, min(end_us, until_us) - part.begin_us)


def peak_rate(segments: Segments, begin_us: int, until_us: int) -> float:
    """Return the highest rate between two times, in records per second; 0 if there is no time between."""
    parts, every = segments
    if every is None:
        return _peak(parts, begin_us, until_us, max(until_us, parts[-1].begin_us + 1))
    if until_us - begin_us >= every:
        return _peak(parts, 0, every, every)
    cycle = begin_us // every * every
    cycles = (cycle, cycle + every)
    return max(_peak(parts, begin_us - at, min(until_us - at, every), every) for at in cycles)


def _peak(parts: Sequence[Segment], begin_us: int, until_us: int, end_us: int) -> float:
    """Return the highest rate between two times; the last segment ends at *end_us*."""
    return max(
        (
            _rate_after(part, part_end_us, at_us - part.begin_us)
            for part, part_end_us in zip(parts, _ends(parts, end_us), strict=True)
            if part.begin_us < until_us and part_end_us > begin_us
            for at_us in (max(part.begin_us, begin_us), min(part_end_us, until_us))
        ),
        default=0.0,
    )


def number_of_changes(segments: Segments, until_us: int) -> int:
    """Return how many segments begin up to a time."""
    parts, every = segments
    cycles, rest_us = (0, until_us) if every is None else divmod(until_us, every)
    return cycles * len(parts) + sum(part.begin_us <= rest_us for part in parts)


def changes_of(segments: Segments, until_us: int) -> Iterator[int]:
    """Yield when segments begin, up to a time."""
    for cycle_us in range(0, until_us + 1, segments.every_us or until_us + 1):
        for part in segments.parts:
            if cycle_us + part.begin_us > until_us:
                return
            yield cycle_us + part.begin_us
