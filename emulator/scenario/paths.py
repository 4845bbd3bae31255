"""Paths of keys in a scenario file, and the keys that each table may have.

Keys are separated by dots; names of objects and Kafka's settings are in brackets:
``group[billing].settings[session.timeout.ms]``, ``topic[orders].rate``, ``fault[crash-1].at``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import Tag, ValidationError

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import BROKER, CONSUMER, OLD_CONSUMER, TOPIC
from emulator.scenario.model import Scenario
from emulator.scenario.part import Part
from emulator.scenario.tables.faults import Timed
from emulator.scenario.tables.groups import Group

NAMED_BY = {
    "topic": "name",
    "group": "id",
    "fault": "id",
    "members": "name",
    "member": "name",
    "variant": "name",
}
"""The key that identifies the tables of a list."""

FREE_TABLES = ("settings", "expect", "assignor_config")
"""Tables with free keys, which are written in brackets."""


class Key(NamedTuple):
    """The values allowed under a key of a table."""

    tables: dict[str, type[Part]]
    """By tag of the union's branch, or the empty text; empty: a value, no table."""

    is_list: bool


def file_keys(table: type[Part]) -> dict[str, Key]:
    """Return the keys that a file may write in a table, with the values allowed under them."""
    found = {
        field.alias or name: Key(dict(_tables_in(field.annotation)), _is_list(field.annotation))
        for name, field in table.model_fields.items()
    }
    if table is Scenario:
        found["act"] = found["fault"]
    elif table is Group:
        found["member"] = found["members"]
    elif issubclass(table, Timed):
        verb = table.model_fields["verb"].default
        del found["verb"]
        found = {verb: found.pop(short_forms.TARGETS[verb])} | found
    return found


def _tables_in(annotation: Any, tag: str = "") -> Iterator[tuple[str, type[Part]]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield tag, annotation
    arguments = get_args(annotation)
    here = next((argument.tag for argument in arguments if isinstance(argument, Tag)), tag)
    for argument in arguments:
        yield from _tables_in(argument, here)


def _is_list(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is tuple and ... in get_args(annotation)


def table_at(place: Sequence[str | int]) -> type[Part] | None:
    """Return the table that contains the place of a validation error; None in free tables."""
    table: type[Part] | None = Scenario
    below: dict[str, type[Part]] = {}
    for step in place:
        if isinstance(step, int):
            table = below.get("")
        elif step.startswith("="):
            table = below.get(step)
        else:
            if table is None:
                return None
            key = _key_of_field(table, step)
            below = key.tables if key else {}
            table = below.get("")
    return table


def _key_of_field(table: type[Part], step: str) -> Key | None:
    for name, field in table.model_fields.items():
        if step in (name, field.alias):
            return Key(dict(_tables_in(field.annotation)), is_list=False)
    return None


# -- from the place of an error to a path ----------------------------------------------------


def render(place: Sequence[str | int], document: Any) -> tuple[str, Any, bool]:
    """Return the path of a place, the document's value there, and whether there is one.

    A place may be inside a value that the file writes in a short form; the path ends there.
    """
    path, node, parent = "", document, ""
    for step in place:
        if isinstance(step, str) and step.startswith("="):
            continue
        if isinstance(step, int):
            items = _items(node)
            if not 0 <= step < len(items):
                return path, node, True
            node = items[step]
            path += f"[{_name(node, parent, step)}]"
            continue
        if not isinstance(node, dict):
            return path, node, True
        key = _spelled_key(node, step)
        path += f"[{key}]" if parent in FREE_TABLES else f".{key}" if path else key
        if key not in node and not (key == "member" and "members" in node):
            return path, None, False
        node, parent = (_members(node) if key == "member" else node[key]), key
    return path, node, True


def _items(node: Any) -> Sequence[Any]:
    return node if isinstance(node, list | tuple) else ()


def _name(node: Any, parent: str, index: int) -> str:
    name = node.get(NAMED_BY.get(parent)) if isinstance(node, dict) else None
    return name if isinstance(name, str) and name else str(index)


def _spelled_key(node: dict[str, Any], step: str) -> str:
    """Return the file's spelling of a field: members as tables, a fault's target as its verb."""
    verb = short_forms.verb_of(node)
    if verb and step == short_forms.TARGETS.get(verb) and step not in node:
        return verb
    if step == "members" and ("member" in node or not isinstance(node.get("members"), int)):
        return "member" if "member" in node else step
    return step


def _members(group: dict[str, Any]) -> Any:
    try:
        return short_forms.group(group)["members"]
    except (ValidationError, KeyError):
        return group.get("member", group.get("members"))


# -- reading and listing paths ---------------------------------------------------------------

_SEGMENT = re.compile(
    r"""\.?(?P<key>[^.\[\]="']+) | \.?(?P<mark>["'])(?P<quoted>.*?)(?P=mark)
    | \[(?P<inner>["'])(?P<both>.*?)(?P=inner)\] | \[(?P<name>[^\]]*)\]""",
    re.VERBOSE,
)


def split(path: str) -> list[str] | None:
    """Return the segments of a path, those in brackets with their bracket; None if malformed.

    A quoted name, as in TOML, is the same as one in brackets.

    >>> split("group[billing].settings[session.timeout.ms]")
    ['group', '[billing', 'settings', '[session.timeout.ms']
    >>> split('group[billing].settings."session.timeout.ms"')
    ['group', '[billing', 'settings', '[session.timeout.ms']
    """
    segments, end = [], 0
    while end < len(path):
        match = _SEGMENT.match(path, end)
        if match is None:
            return None
        key, *named = match.group("key", "quoted", "both", "name")
        segments.append(key or next(f"[{name}" for name in named if name is not None))
        end = match.end()
    return segments or None


_SETTINGS = {"cluster.": BROKER, "topic": TOPIC}
"""The settings of tables that are not consumers, by the beginning of the path."""


def all_paths(document: dict[str, Any], *, absent: bool = True) -> Iterator[str]:
    """Yield the paths of a document that accept a value; of large lists only the first few.

    *absent*: also those in optional tables that the document does not have.
    """
    yield from _paths(Scenario, document, "", absent)


def _paths(table: type[Part], node: Any, prefix: str, absent: bool) -> Iterator[str]:
    for key, (tables, is_list) in file_keys(table).items():
        below = node.get(key) if isinstance(node, dict) else None
        path = f"{prefix}{key}"
        if key in ("act", "members"):
            yield path
        elif is_list and tables:
            items = _members(node) if key == "member" else below
            for index, item in enumerate(_items(items)[:20]):
                kind = tables.get(f"={short_forms.verb_of(item)}") or tables.get("")
                if kind:
                    yield from _paths(kind, item, f"{path}[{_name(item, key, index)}].", absent)
        elif key == "settings":
            names = _SETTINGS.get(prefix.partition("[")[0], CONSUMER | OLD_CONSUMER)
            yield from (f"{path}[{name}]" for name in names)
        elif key == "expect":
            yield from (f"{path}[{name}]" for name in below or ())
        else:
            yield path
            if "" in tables and (absent or isinstance(below, dict)):
                yield from _paths(tables[""], below, f"{path}.", absent)
