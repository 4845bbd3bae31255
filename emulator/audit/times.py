"""Times as logs write them: epoch numbers of four units, timestamps, or ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.audit.errors import AuditError

Array = np.ndarray

UNITS_US = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0, "ns": 0.001}
"""Microseconds of each unit."""

_SMALLEST = (("ns", 10**17), ("us", 10**14), ("ms", 10**11), ("s", 10**9))
"""Epoch times from 2001 on have at least so many of each unit."""

CLOCK_FROM_US = 10**14
"""From here on (1973) a time is shown as a clock time, else as seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unit_of(column: pa.Array, name: str, given: str | None = None) -> str:
    """Return the unit of a column of times: the one given, or by the size of its numbers.

    Timestamps and ISO 8601 text have none: ``""``. Raise AuditError where the size does not tell.
    """
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return ""
    if _is_text(kind):
        first = next((text.as_py() for text in column if text.is_valid), "")
        if not _is_number(first):
            return ""
        largest = abs(float(first))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        largest = abs(pc.max(pc.abs(column)).as_py() or 0)
    else:
        raise AuditError(f"column {name!r} is of type {kind}; expected epoch numbers or ISO 8601")
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
    """Return times in epoch microseconds; raise AuditError, or pa.ArrowInvalid for bad text."""
    kind = column.type
    if _is_text(kind) and not unit:
        return _cast(
            pc.cast(column, pa.timestamp("us", "UTC")) if _zoned(column) else _plain(column)
        )
    if _is_text(kind):
        column = pc.cast(column, pa.float64() if "." in str(column[0]) else pa.int64())
        kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _cast(pc.cast(column, pa.timestamp("us", getattr(kind, "tz", None)), safe=False))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _scaled(column.to_numpy(zero_copy_only=False), unit)
    raise AuditError(f"column {name!r} is of type {kind}; expected epoch numbers or ISO 8601")


def _scaled(values: Array, unit: str) -> Array:
    if unit == "us" and values.dtype.kind in "iu":
        return values.astype(np.int64, copy=False)
    if unit == "ns" and values.dtype.kind in "iu":
        return values.astype(np.int64) // 1_000
    if values.dtype.kind in "iu":
        return values.astype(np.int64) * int(UNITS_US[unit])
    return np.rint(values * UNITS_US[unit]).astype(np.int64)


def _plain(column: pa.Array) -> pa.Array:
    return pc.cast(column, pa.timestamp("us"))


def _cast(column: pa.Array) -> Array:
    return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False))


def _zoned(column: pa.Array) -> bool:
    text: str = next((each.as_py() for each in column if each.is_valid), "")
    return text.endswith("Z") or text[-6:-5] in {"+", "-"}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def time_us(text: str, unit: str | None) -> int:
    """Read one time as a user gives it: a number of *unit* or of one its size tells, or ISO 8601.

    Raise AuditError for anything else.
    """
    try:
        if _is_number(text):
            number = pa.array([float(text) if "." in text else int(text)])
            return int(to_us(number, unit or unit_of(number, text), text)[0])
        moment = datetime.fromisoformat(text)
    except ValueError:
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
    if at_us < CLOCK_FROM_US:
        return f"{at_us // 1_000 / 1_000:.3f} s"
    moment = _EPOCH + timedelta(microseconds=at_us)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03}Z"
