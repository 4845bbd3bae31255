"""The limits of inputs that are read in pieces, logs, segments, tables, and of nesting in JSON and TOML.

Each limit has a name, which is in the message of a refusal. ``--limit NAME=VALUE`` or
:func:`limit_input` replaces its default; the environment variable ``REBALANCE_LIMITS`` hands the
values to worker processes. Files that are read as a whole have the limits of
:mod:`emulator.input_files`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from assignors.errors import did_you_mean
from assignors.values import dataclass
from emulator.errors import EmulatorError

MIB: Final = 2**20
VARIABLE: Final = "REBALANCE_LIMITS"
_UNITS: Final = {None: 1, "B": 1, "KiB": 2**10, "MiB": MIB, "GiB": 2**30}
_VALUE: Final = re.compile(r"(\d{1,18})(B|KiB|MiB|GiB)?", re.ASCII)


class BeyondLimitError(EmulatorError):
    """An input exceeds a limit; the message has its name."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit."""

    what: str
    default: int
    most: int
    """The largest value; beyond it the libraries that read the input fail."""

    is_size: bool = True
    """Whether it counts bytes."""

    def shown(self, value: int) -> str:
        """Return a value of the limit in words."""
        whole = self.is_size and value % MIB == 0
        unit = " MiB" if whole else " bytes" if self.is_size else ""
        return f"{value // MIB if whole else value:,}{unit}"


LIMITS: Final[Mapping[str, Limit]] = {
    "batch": Limit("batch of a segment, as it is stored", 16 * MIB, 1024 * MIB),
    "unpacked": Limit("records of a batch, decompressed", 64 * MIB, 1024 * MIB),
    "records": Limit("records in one batch", 1_000_000, 100_000_000, is_size=False),
    "row": Limit("row of a processing log (JSON lines, CSV)", 64 * MIB, 1024 * MIB),
    "nesting": Limit("arrays and objects in each other in JSON", 500, 5_000, is_size=False),
    "toml": Limit("tables and lists in each other in TOML", 12, 60, is_size=False),
    "entries": Limit("tables in one list of a scenario", 10_000, 1_000_000, is_size=False),
    "rowgroup": Limit(
        "row group of Parquet, decompressed, as the file states",
        768 * MIB,
        2**20 * MIB,
    ),
}


def limit_input(**values: str | int | None) -> None:
    """Replace limits for this process and its workers: ``limit_input(row="256MiB", nesting=900)``.

    None: the default. Raises ValueError for a name or a value that is not possible.
    """
    given = dict(_values(os.environ.get(VARIABLE, "")))
    for name, value in values.items():
        if value is None:
            given.pop(name, None)
        else:
            given[name] = _value(name, value)
    os.environ[VARIABLE] = " ".join(f"{name}={value}" for name, value in given.items())


def most(name: str) -> int:
    """Return the value of a limit; raise ValueError if the environment variable is invalid."""
    return _values(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


def beyond(name: str) -> str:
    """Return the words of a refusal: the limit with its value, and how to raise it."""
    return f"the limit is {LIMITS[name].shown(most(name))}; `limit={name}=…` raises it"


def parsed_limit(text: str) -> tuple[str, str]:
    """Return the name and the value of ``NAME=VALUE``; raise ValueError if it is not a limit."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError("expected NAME=VALUE, such as row=256MiB")
    _value(name, value)
    return name, value


@cache
def _values(text: str) -> Mapping[str, int]:
    pairs = map(parsed_limit, text.split())
    return {name: _value(name, value) for name, value in pairs}


def _value(name: str, value: str | int) -> int:
    if name not in LIMITS:
        near = did_you_mean(name, LIMITS)
        raise ValueError(f"no limit {name!r}; the limits are {', '.join(LIMITS)}.{near}")
    limit, found = LIMITS[name], _VALUE.fullmatch(str(value))
    if found is None or (found[2] and not limit.is_size):
        allowed = "a size such as 256MiB" if limit.is_size else "a whole number"
        raise ValueError(f"{value!r} is not {allowed}")
    number = int(found[1]) * _UNITS[found[2]]
    if number < 1:
        least = "1 byte" if limit.is_size else "1"
        raise ValueError(f"{value} is out of range; allowed is {least} at least")
    if number > limit.most:
        raise ValueError(f"{value} is out of range; allowed is {limit.shown(limit.most)} at most")
    return number


def parser_words(error: Exception) -> str:
    """Return what a parser says of a text, without its advice on Python's limit of digits."""
    return str(error).partition("; use sys.")[0]


# -- nesting -------------------------------------------------------------------------------------

_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[][{}]")


def refuse_deep(text: str) -> None:
    """Raise ValueError for JSON that is nested deeper than the limit; call it before parsing."""
    deepest = most("nesting")
    if text.count("[") + text.count("{") <= deepest:  # the usual case
        return
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if found[0] in "[{" else -1
        if depth > deepest:
            raise ValueError(f"too many arrays and objects in each other; {beyond('nesting')}")


def depth(document: Mapping[str, Any], deepest: int) -> int:
    """Return the depth of nested tables and lists, without recursion: there can be thousands.

    It is not counted beyond *deepest*.
    """
    depth, layer = 0, [document]
    while layer and depth <= deepest:
        depth += 1
        layer = [below for node in layer for below in _below(node)]
    return depth


def long_list(document: Mapping[str, Any], longest: int) -> tuple[str, int] | None:
    """Return the key of a list with more tables than *longest*, and their number; None: there is none."""
    layer: list[Any] = [document]
    while layer:
        for node in layer:
            for key, value in node.items() if isinstance(node, dict) else ():
                is_list = isinstance(value, list) and key not in LIMITED_OTHERWISE
                if is_list and len(value) > longest and isinstance(value[0], dict):
                    return key, len(value)
        layer = [below for node in layer for below in _below(node)]
    return None


LIMITED_OTHERWISE: Final = ("member", "members")
"""Lists whose entries are looked at once, and that have a limit of their own."""


def _below(node: Any) -> list[Any]:
    inside = node.values() if isinstance(node, dict) else node
    return [value for value in inside if isinstance(value, dict | list)]
