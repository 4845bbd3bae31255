"""Columns of a processing log as files bring them: names as text, and whole numbers.

Formats and tools spell the same in many types: text as bytes or as places in a list, numbers as
decimals, floats or text. What cannot be read as what a column has to hold is refused by its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray

LARGEST_OFFSET: Final = 1 << 53
"""No log is as long, and sums of ranges below it have room."""

LARGEST_PARTITION: Final = (1 << 31) - 1


class WrongValueError(Exception):
    """A value, at a place of its column, that is not what the column has to hold."""

    def __init__(self, place: int | None, words: str) -> None:
        """Remember where; *place*: None if it is about the whole column."""
        super().__init__(place, words)
        self.place = place
        self.words = words


def is_text(kind: pa.DataType) -> bool:
    """Say whether values of a type are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def spelled_out(column: pa.Array) -> pa.Array:
    """Return a column without dictionary, its text as plain text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return pc.cast(column, pa.string()) if pa.types.is_string_view(column.type) else column


def first_refused(column: pa.Array, read: Callable[[pa.Array], object]) -> int:
    """Return the place of the first value that *read* refuses, where it refuses the column."""
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
    """Return a column of names as places in a list of them.

    Raise WrongValueError for what is no name: a nested value, a fraction, nothing.
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
    """Return a value as a name; None if its bytes are no text."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _no_name(name: str, text: str | None) -> str:
    if text is None:
        return f"column {name!r} holds bytes that are no UTF-8 text"
    return f"column {name!r} is empty"


def _each_once(codes: Array, values: list[str]) -> tuple[Array, list[str]]:
    """Let each name have one place: lists that files bring may name one twice."""
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
