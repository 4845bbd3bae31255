"""Write TOML: a scenario as a file, and single keys and values."""

from __future__ import annotations

from typing import Any

import tomlkit
from tomlkit.items import AoT, Item, Table

from emulator.scenario.model import Scenario
from emulator.scenario.part import Document
from emulator.scenario.writing import dump


def to_toml(scenario: Scenario) -> str:
    """Return a scenario as the text of a file: full spelling, without defaults.

    ``loads`` reads an equal scenario from it.
    """
    return document_to_toml(dump(scenario))


def toml_value(value: object) -> str:
    """Return a text, a number, a list or a table as TOML in one line.

    >>> toml_value({"lognormal": {"median": "5ms"}}), toml_value(("a", True, 1.5))
    ('{lognormal = {median = "5ms"}}', '["a", true, 1.5]')
    """
    match value:
        case dict():
            pairs = (f"{toml_key(key)} = {toml_value(below)}" for key, below in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
    return str(tomlkit.item(value).as_string())


def toml_key(name: str) -> str:
    """Return the name of a key as TOML, quoted if necessary.

    >>> toml_key("session.timeout.ms")
    '"session.timeout.ms"'
    """
    return tomlkit.key(name).as_string()


def document_to_toml(document: Document) -> str:
    """Return the tables of a file as TOML: values first, then tables, then lists of tables."""
    written = tomlkit.document()
    for key, value in _values_first(document):
        written.add(key, _item(value))
    return tomlkit.dumps(written)


def _values_first(table: Document) -> list[tuple[str, Any]]:
    """Return the keys of a table so that none of its values follows one of its tables."""
    return sorted(table.items(), key=lambda item: (_is_list_of_tables(item[1]), _is_table(item[1])))


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_table, value))


def _item(value: Any) -> Item:
    if _is_table(value):
        return _table(value)
    if _is_list_of_tables(value):
        return AoT([_table(each) for each in value])
    written: Item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    return written


def _table(content: Document) -> Table:
    table = tomlkit.table()
    for key, value in _values_first(content):
        table.add(key, _item(value))
    return table
