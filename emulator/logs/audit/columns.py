"""Columns of a processing log as arrays: names, whole numbers, times.

Formats and tools write the same value in many types: text as bytes or dictionaries, numbers as
decimals, floats or text, times as epoch numbers of four units, timestamps or ISO 8601. A value of
the wrong type raises an error with its position.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.errors import AuditError

Array = np.ndarray

LARGEST_OFFSET: Final = 1 << 53
"""Longer than any log; sums of ranges below it do not overflow."""

LARGEST_PARTITION: Final = (1 << 31) - 1


class WrongValueError(Exception):
    """A value of the wrong type, with its position in the column."""

    def __init__(self, place: int | None, words: str) -> None:
        """Store position and message; *place*: None if it concerns the whole column."""
        super().__init__(place, words)
        self.place = place
        self.words = words


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def spelled_out(column: pa.Array) -> pa.Array:
    """Return a column without dictionary encoding, its text as plain strings."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return pc.cast(column, pa.string()) if pa.types.is_string_view(column.type) else column


def first_refused(column: pa.Array, read: Callable[[pa.Array], object]) -> int:
    """Return the position of the first value that *read* rejects, if it rejects the column."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            read(column.slice(low, middle - low))
        except (pa.ArrowInvalid, ValueError):
            high = middle
        else:
            low = middle
    return low


# -- names -------------------------------------------------------------------------------------


def coded(column: pa.Array, name: str) -> tuple[Array, list[str]]:
    """Return a column of names as indices into a list of names.

    Raise WrongValueError for values that are not names: nested, fractional or empty ones.
    """
    kind, types = column.type, pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(kind) or types.is_floating(kind) or types.is_boolean(kind):
        raise WrongValueError(None, f"column {name!r} is of type {kind}; expected text")
    if not types.is_dictionary(column.type):
        column = spelled_out(column).dictionary_encode()
    codes = column.indices.to_numpy(zero_copy_only=False)
    values = list[str]()
    for place, value in enumerate(column.dictionary.to_pylist()):
        text = _named(value)
        if not text:
            wrong = np.flatnonzero(codes == place)
            if len(wrong):
                raise WrongValueError(int(wrong[0]), _no_name(name, text))
        values.append(text or "")
    return _each_once(codes, values)


def _named(value: object) -> str | None:
    """Return a value as a name; None if its bytes are not UTF-8 text."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _no_name(name: str, text: str | None) -> str:
    if text is None:
        return f"column {name!r} holds bytes that are not UTF-8 text"
    return f"column {name!r} is empty"


def _each_once(codes: Array, values: list[str]) -> tuple[Array, list[str]]:
    """Remove duplicate names, which the dictionaries of files may contain."""
    once = {text: place for place, text in enumerate(dict.fromkeys(values))}
    if len(once) == len(values):
        return codes, values
    return np.array([once[text] for text in values], np.int64)[codes], list(once)


# -- whole numbers -----------------------------------------------------------------------------


def whole(column: pa.Array, name: str, largest: int) -> Array:
    """Return a column of whole numbers from 0 to *largest*; raise WrongValueError for others."""
    column = spelled_out(column)
    kind, types = column.type, pa.types
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (numeric or is_text(kind)):
        raise WrongValueError(None, f"column {name!r} is of type {kind}; expected whole numbers")
    try:
        values = np.asarray(_int64(column).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        place = first_refused(column, _int64)
        given = column[place].as_py()
        given = repr(given) if isinstance(given, str) else str(given)
        words = f"column {name!r} must hold whole numbers, and holds {given}"
        raise WrongValueError(place, words) from None
    _refuse_outside(values, name, largest)
    return values


def _int64(column: pa.Array) -> pa.Array:
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column)
    return pc.cast(column, pa.int64())


def _refuse_outside(values: Array, name: str, largest: int) -> None:
    wrong = (values < 0) | (values > largest)
    if wrong.any():
        place = int(wrong.argmax())
        words = f"column {name!r} holds {values[place]}; expected 0 to {largest}"
        raise WrongValueError(place, words)


UNITS_US = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0, "ns": 0.001}
"""Microseconds of each unit."""

_SMALLEST = (("ns", 10**17), ("us", 10**14), ("ms", 10**11), ("s", 10**9))
"""Epoch times from 2001 on are at least this number in each unit."""

CLOCK_FROM_US = 10**14
"""Times from here on (1973) are shown as clock times, smaller ones as seconds."""

LATEST_US: Final = 253_402_300_800_000_000
"""The end of the year 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXPECTED: Final = "expected epoch numbers or ISO 8601"


def unit_of(column: pa.Array, name: str, given: str | None = None) -> str:
    """Return the unit of a column of times: the given one, or the one that its numbers suggest.

    Timestamps and ISO 8601 text have none: ``""``. Raise AuditError if the numbers are ambiguous.
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
        f"column {name!r}: the unit of {largest:.0f} cannot be inferred from its size; "
        "give `time_unit` s, ms, us or ns"
    )


def to_us(column: pa.Array, unit: str, name: str) -> Array:
    """Return times in epoch microseconds; raise WrongValueError for a value that is not a time.

    *unit*: of numbers; empty if the log's other times are not numbers: then their size decides.
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
    """Reject NaN and times after the year 9999, which numbers in another unit would give."""
    wrong = ~((values >= -latest) & (values < latest))
    if not wrong.any():
        return
    place = int(wrong.argmax())
    words = f"column {name!r}: {values[place]}{unit} is not a time before the year 10000"
    raise WrongValueError(place, f"{words}; all times must have the same unit (`time_unit`)")


# -- text --------------------------------------------------------------------------------------


def _of_text(column: pa.Array, unit: str, name: str) -> Array:
    first = _first(column)
    read = _number if _is_number(first) else partial(_timestamp, zone=_zone(first))
    try:
        values = np.asarray(read(column).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, ValueError):
        place = first_refused(column, read)
        raise WrongValueError(place, _no_time(column, place, first, name)) from None
    return _scaled(values, unit, name) if read is _number else _in_calendar(values, name)


def _number(column: pa.Array) -> pa.Array:
    """Return text as numbers; as integers if all are whole, since floats would round them."""
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return pc.cast(column, pa.float64())


def _timestamp(column: pa.Array, zone: str | None) -> pa.Array:
    return pc.cast(pc.cast(column, pa.timestamp("us", zone)), pa.int64())


def _first(column: pa.Array) -> str:
    return next((text.as_py() for text in column if text.is_valid), "")


def _zone(text: str) -> str | None:
    return "UTC" if text.endswith("Z") or text[-6:-5] in {"+", "-"} else None


def _no_time(column: pa.Array, place: int, first: str, name: str) -> str:
    given = f"column {name!r}: {column[place].as_py()!r} is not a time"
    if _is_number(first):
        return f"{given}; expected an epoch number, as in the first row"
    rule = "with" if _zone(first) else "without"
    return f"{given} {rule} a zone, as in the first row; expected ISO 8601 in the same form in all rows"


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
    """Parse one time of the user: a number or ISO 8601; raise AuditError for anything else.

    *unit*: of the number; None: the unit that its size suggests.
    """
    try:
        if _is_number(text):
            number = pa.array([float(text) if "." in text else int(text)])
            return int(to_us(number, unit or unit_of(number, text), text)[0])
        time = datetime.fromisoformat(text)
    except (ValueError, OverflowError, WrongValueError, pa.ArrowException):
        raise AuditError(
            f"{text!r} is not a time; expected ISO 8601, such as 2026-05-04T09:00:00Z, or an epoch number"
        ) from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - _EPOCH) // timedelta(microseconds=1)


def shown(at_us: int) -> str:
    """Return a time in readable form.

    >>> shown(1_795_258_484_420_377), shown(12_345_678)
    ('2026-11-21T10:54:44.420Z', '12.345 s')
    """
    if not CLOCK_FROM_US <= at_us < LATEST_US:
        return f"{at_us // 1_000 / 1_000:.3f} s"
    time = _EPOCH + timedelta(microseconds=at_us)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1_000:03}Z"
