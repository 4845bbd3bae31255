"""What is wrong with a value, where pydantic's kind of error says enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WRONG_TYPE = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "datetime_type": "a date and time such as 2026-05-04T09:00:00Z",
    "dict_type": "a table",
    "tuple_type": "a list",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def wrong_value(kind: str, context: Mapping[str, Any]) -> str | None:
    """Return in words that a value is out of range or of a wrong type; None: it is another error.

    *kind*, *context*: ``type`` and ``ctx`` of one of pydantic's errors.
    """
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"out of range; allowed is {words} {context[name]}"
    return f"wrong type; allowed is {_WRONG_TYPE[kind]}" if kind in _WRONG_TYPE else None
