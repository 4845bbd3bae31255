"""Times as logs write them: epoch numbers of four units, timestamps, or ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.audit.columns import Array, WrongValueError, first_refused, is_text, spelled_out
from emulator.logs.audit.errors import AuditError

UNITS_US = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0, "ns": 0.001}
"""Microseconds of each unit."""

_SMALLEST = (("ns", 10**17), ("us", 10**14), ("ms", 10**11), ("s", 10**9))
"""Epoch times from 2001 on have at least so many of each unit."""

CLOCK_FROM_US = 10**14
"""From here on (1973) a time is shown as a clock time, else as seconds."""

LATEST_US: Final = 253_402_300_800_000_000
"""The end of the year 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXPECTED: Final = "expected epoch numbers or ISO 8601"


def unit_of(column: pa.Array, name: str, given: str | None = None) -> str:
    """Return the unit of a column of times: the one given, or by the size of its numbers.

    Timestamps and ISO 8601 text have none: ``""``. Raise AuditError where the size does not tell.
    """
    column = spelled_out(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return ""
    if is_text(kind):
        first = _first(column)
        if not _is_number(first):
            return ""
        largest = abs(float(first))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        largest = abs(pc.max(pc.abs(column)).as_py() or 0)
    else:
        raise AuditError(f"column {name!r} is of type {kind}; {_EXPECTED}")
    if given is not None:
        return given
    for unit, smallest in _SMALLEST:
        if largest >= smallest:
            return unit
    raise AuditError(
        f"column {name!r}: {largest:.0f} is no epoch time of a unit that can be guessed; "
        "say --time-unit s, ms, us or ns"
    )


def to_us(column: pa.Array, unit: str, name: str) -> Array:
    """Return times in epoch microseconds; raise WrongValueError for what is none.

    *unit*: of numbers; empty where the log's other times are none: then their size tells.
    """
    column = spelled_out(column)
    kind = column.type
    if is_text(kind):
        return _of_text(column, unit, name)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        return _in_calendar(_cast(pc.cast(column, pa.timestamp("us", zone), safe=False)), name)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _scaled(column.to_numpy(zero_copy_only=False), unit, name)
    raise WrongValueError(None, f"column {name!r} is of type {kind}; {_EXPECTED}")


# -- numbers -----------------------------------------------------------------------------------


def _scaled(values: Array, unit: str, name: str) -> Array:
    unit = unit or unit_of(pa.array(values), name)
    _refuse_far(values, LATEST_US / UNITS_US[unit], f" {unit}", name)
    if values.dtype.kind not in "iu":
        return np.rint(values * UNITS_US[unit]).astype(np.int64)
    whole = values.astype(np.int64, copy=False)
    return whole // 1_000 if unit == "ns" else whole * int(UNITS_US[unit])


def _in_calendar(at_us: Array, name: str) -> Array:
    _refuse_far(at_us, LATEST_US, " us", name)
    return at_us


def _refuse_far(values: Array, latest: float, unit: str, name: str) -> None:
    """Refuse what no calendar has, as numbers of another unit are, and what is no number."""
    wrong = ~((values >= -latest) & (values < latest))
    if not wrong.any():
        return
    place = int(wrong.argmax())
    words = f"column {name!r}: {values[place]}{unit} is no time before the year 10000"
    raise WrongValueError(place, f"{words}; all times must be of one unit (--time-unit)")


# -- text --------------------------------------------------------------------------------------


def _of_text(column: pa.Array, unit: str, name: str) -> Array:
    first = _first(column)
    read = _number if _is_number(first) else partial(_moment, zone=_zone(first))
    try:
        values = np.asarray(read(column).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, ValueError):
        place = first_refused(column, read)
        raise WrongValueError(place, _no_time(column, place, first, name)) from None
    return _scaled(values, unit, name) if read is _number else _in_calendar(values, name)


def _number(column: pa.Array) -> pa.Array:
    """Return text as numbers: whole ones where all are, which floats have no room for."""
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return pc.cast(column, pa.float64())


def _moment(column: pa.Array, zone: str | None) -> pa.Array:
    return pc.cast(pc.cast(column, pa.timestamp("us", zone)), pa.int64())


def _first(column: pa.Array) -> str:
    return next((text.as_py() for text in column if text.is_valid), "")


def _zone(text: str) -> str | None:
    return "UTC" if text.endswith("Z") or text[-6:-5] in {"+", "-"} else None


def _no_time(column: pa.Array, place: int, first: str, name: str) -> str:
    given = f"column {name!r}: {column[place].as_py()!r} is no time"
    if _is_number(first):
        return f"{given}; expected an epoch number, as in the first row"
    rule = "with" if _zone(first) else "without"
    return f"{given} {rule} a zone, as in the first row; expected ISO 8601, spelled alike in all"


def _cast(column: pa.Array) -> Array:
    return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- one time ----------------------------------------------------------------------------------


def time_us(text: str, unit: str | None) -> int:
    """Read one time as a user gives it: a number of *unit* or of one its size tells, or ISO 8601.

    Raise AuditError for anything else.
    """
    try:
        if _is_number(text):
            number = pa.array([float(text) if "." in text else int(text)])
            return int(to_us(number, unit or unit_of(number, text), text)[0])
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, WrongValueError, pa.ArrowException):
        raise AuditError(
            f"{text!r} is no time; expected ISO 8601, such as 2026-05-04T09:00:00Z, or an epoch number"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def shown(at_us: int) -> str:
    """Return a time as people read it.

    >>> shown(1_795_258_484_420_377), shown(12_345_678)
    ('2026-11-21T10:54:44.420Z', '12.345 s')
    """
    if not CLOCK_FROM_US <= at_us < LATEST_US:
        return f"{at_us // 1_000 / 1_000:.3f} s"
    moment = _EPOCH + timedelta(microseconds=at_us)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03}Z"
