"""The values that a setting takes in a study: lists as they stand, ranges step by step.

Both ends of a range have the same unit; what lies between is rounded to three digits, so that
tables can be read, and Kafka's whole milliseconds suffice.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from emulator.scenario.units import (
    US_PER_MS,
    US_PER_S,
    format_duration,
    format_number,
    parse_duration,
    parse_rate,
)
from emulator.study.model import Level, Vary

_DIGITS = re.compile(r"\d+(\.\d+)?")

USUAL_STEPS = 5
"""Of a range that does not say how many."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of one axis."""

    axis: str
    label: str
    """As people read it."""

    overrides: tuple[str, ...]
    """``path=value``, one for each key it changes."""

    number: float | None
    """For pictures and ranks: seconds, records a second, or the number itself; None: a name."""

    given: bool = False
    """Whether nobody chooses it."""


@dataclass(frozen=True, slots=True)
class Range:
    """Two ends in one unit."""

    low: float
    high: float
    unit: str
    """``time`` (microseconds), ``rate`` (a second), ``whole`` or ``number``."""

    scale: str

    def at(self, share: float) -> float | int:
        """Return the value that lies at a *share* of the way, rounded to three digits.

        >>> Range(5_000_000, 120_000_000, "time", "log").at(0.5)
        24500000
        """
        if share <= 0 or share >= 1:
            exact = self.low if share <= 0 else self.high
        elif self.scale == "log":
            exact = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            exact = self.low * (1 - share) + self.high * share
        return _rounded(exact, self.unit)


def choices(axis: Vary) -> tuple[Choice, ...]:
    """Return the values of an axis in a grid; raise ValueError if a range makes no sense."""
    if axis.values is not None:
        return tuple(_choice(axis, value) for value in axis.values)
    span = range_of(axis)
    steps = axis.steps or USUAL_STEPS
    values = dict.fromkeys(span.at(step / (steps - 1)) for step in range(steps))
    return tuple(_spelled(axis, value, span.unit) for value in values)


def choice_at(axis: Vary, share: float) -> Choice:
    """Return the value at a *share* of an axis, from 0 up to, but not including, 1."""
    if axis.values is not None:
        return _choice(axis, axis.values[int(share * len(axis.values))])
    span = range_of(axis)
    return _spelled(axis, span.at(share), span.unit)


def range_of(axis: Vary) -> Range:
    """Return the ends of a range; raise ValueError if they have no common unit."""
    (low, unit), (high, other) = _measured(axis.from_), _measured(axis.to)
    if {unit, other} == {"whole", "number"}:
        unit = other = "number"
    if unit != other:
        raise ValueError(f"from is a {unit}, to is a {other}; both need the same unit")
    if low >= high:
        raise ValueError("from is not below to")
    if axis.scale == "log" and low <= 0:
        raise ValueError('scale = "log" needs a from above 0')
    return Range(low, high, unit, axis.scale)


def _measured(end: Any) -> tuple[float, str]:
    match end:
        case bool():
            pass
        case int():
            return end, "whole"
        case float():
            return end, "number"
        case str() if "/" in end:
            return parse_rate(end), "rate"
        case str():
            return parse_duration(end), "time"
    raise ValueError('a range goes from number to number, from "5s" to "2min", or "1/s" to "9/s"')


def _rounded(exact: float, unit: str) -> float | int:
    digits = 2 - math.floor(math.log10(abs(exact))) if exact else 0
    if unit == "whole":
        return round(exact)
    if unit != "time":
        return round(exact, digits)
    coarse = round(round(exact, digits))
    return coarse - coarse % US_PER_MS if coarse > US_PER_MS else coarse


def _spelled(axis: Vary, value: float | int, unit: str) -> Choice:
    if unit == "time":
        return _choice(axis, format_duration(int(value)))
    if unit == "rate":
        return _choice(axis, f"{format_number(value)}/s")
    return _choice(axis, value)


def _choice(axis: Vary, value: Any) -> Choice:
    if isinstance(value, Level):
        return Choice(axis.name, value.name, value.set, _number(value.name), axis.given)
    overrides = tuple(f"{path}={toml(value)}" for path in axis.set)
    label = value if isinstance(value, str) else toml(value)
    return Choice(axis.name, label, overrides, _number(value), axis.given)


def _number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case int() | float():
            return float(value)
        case str():
            return _number_in(value)
    return None


def _number_in(text: str) -> float | None:
    """Return what a text measures: a rate, a time, or a number by itself; None: it is a name."""
    if _DIGITS.fullmatch(text):
        return float(text)
    try:
        return parse_rate(text) if "/" in text else parse_duration(text) / US_PER_S
    except ValueError:
        return None


def toml(value: Any) -> str:
    """Return a value as TOML writes it in one line.

    >>> toml({"lognormal": {"median": "5ms"}}), toml(("a", True, 2))
    ('{"lognormal" = {"median" = "5ms"}}', '["a", true, 2]')
    """
    match value:
        case dict():
            pairs = ", ".join(f"{json.dumps(key)} = {toml(below)}" for key, below in value.items())
            return f"{{{pairs}}}"
        case list() | tuple():
            return f"[{', '.join(map(toml, value))}]"
        case bool() | str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)
