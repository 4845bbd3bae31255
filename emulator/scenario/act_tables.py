"""The tables of a file's faults and acts: each is written as ``[[fault]]`` or as ``[[act]]``.

Loaded, they are one list, and either word of a path means it. Errors, hints and completion use the word
that the file has.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from emulator.scenario.short_forms import FAULT_TABLE

_NO_VERB: Final = re.compile(r"fault-\d+")
"""The id that a fault or act gets if it has neither an id nor a verb."""

_PATH: Final = re.compile(r"(?:fault|act)\[([^\]]*)\]")


class Place(NamedTuple):
    """The table of a fault or act: its name, and its number among those of that name."""

    table: str
    number: int


def act_places(text: str, faults: Iterable[object]) -> dict[str, Place]:
    """Return the table of each fault and act in a text, by its id; *faults*: those of its tidy document."""
    document = tomllib.loads(text)
    numbers = {table: _length(document.get(table)) for table in ("fault", "act")}
    order = FAULT_TABLE.findall(text)
    if any(order.count(table) != number for table, number in numbers.items()):
        order = [table for table, number in numbers.items() for _ in range(number)]
    count = {"fault": itertools.count(), "act": itertools.count()}
    ids = [fault["id"] for fault in faults if isinstance(fault, dict)]
    return {name: Place(table, next(count[table])) for table, name in zip(order, ids, strict=False)}


def _length(tables: object) -> int:
    return sum(isinstance(each, dict) for each in tables) if isinstance(tables, list) else 0


def as_written(path: str, places: Mapping[str, Place]) -> str:
    """Return a path with the table that the file has, by its number if it has neither id nor verb.

    >>> as_written("fault[crash-1].at", {"crash-1": Place("act", 0)})
    'act[crash-1].at'
    """
    found = _PATH.match(path)
    if found is None or found[1] not in places:
        return path
    table, number = places[found[1]]
    shown = str(number) if _NO_VERB.fullmatch(found[1]) else found[1]
    return f"{table}[{shown}]{path[found.end() :]}"
