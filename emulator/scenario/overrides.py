"""Change keys of a scenario file: ``path=value`` each, as for ``--set``.

A value is parsed as TOML if possible, otherwise as text, so that ``10s``, ``5`` and ``true`` need no
quotes. If a path does not exist, the error names the closest ones. ``act+={ … }`` adds an act, and likewise
a fault, a group or a topic; ``act=[{ … }]`` and ``fault=[{ … }]`` replace all acts and faults, which are one
list.

A change of ``settings[group.protocol]`` removes the settings of the other protocol from the same
table, so that one override replays a scenario under the other protocol; :func:`refuse_removed` finds
those that another override has written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from typing import Any

from emulator.scenario import short_forms
from emulator.scenario.clients.names import of_other_client, other_name_of
from emulator.scenario.kafka_settings import (
    BROKER,
    CONSUMERS,
    PROTOCOL,
    REFUSED_WITH,
    TOPIC,
    flattened,
    why_refused,
)
from emulator.scenario.model import Scenario
from emulator.scenario.part import Document, Part
from emulator.scenario.paths import FREE_TABLES, NAMED_BY, Key, all_paths, file_keys, split
from emulator.scenario.problems import Problem, ScenarioError, nearest

_SHORT_FORMS = {"commit": short_forms.commit, "when": short_forms.when}


def override(document: Document, overrides: Sequence[str], name: str, file_text: str) -> Document:
    """Return the tidy document of a text with each ``path=value`` applied, the later ones last.

    Raise ScenarioError, with the closest paths as the text has them, for those that do not exist.
    """
    problems = []
    for text in overrides:
        try:
            document = _override(document, text, file_text)
        except LookupError as error:
            problems.append(Problem(f"`overrides={text}`", str(error.args[0])))
    if problems:
        raise ScenarioError(name, problems)
    return document


def refuse_removed(overrides: Sequence[str], name: str) -> None:
    """Raise ScenarioError for settings that a later change of the protocol would remove.

    *overrides*: those that belong together. A setting of the file may be removed, one beside the
    change of the protocol was meant: the file may not have both either.
    """
    written: dict[tuple[str, ...], dict[str, tuple[str, Any]]] = {}
    problems = []
    for text in overrides:
        try:
            path, value = _read(text)
        except LookupError:
            continue  # override() refuses it
        *table, entry = _table_and_entry(split(path) or [""])
        if entry == PROTOCOL and value in REFUSED_WITH:
            gone = REFUSED_WITH[value]
            removed = written.get(tuple(table), {})
            problems += [
                Problem(where, why_refused(key, str(value)), given)
                for key, (where, given) in removed.items()
                if key in gone
            ]
        written.setdefault(tuple(table), {})[entry] = (path, value)
    if problems:
        raise ScenarioError(name, problems)


def _table_and_entry(segments: Sequence[str]) -> list[str]:
    """Return the segments of a table, and the name in it; names of settings have dots."""
    if "settings" not in segments:
        return [*segments]
    end = segments.index("settings") + 1
    return [*segments[:end], ".".join(each.removeprefix("[") for each in segments[end:])]


def _override(document: Document, text: str, file_text: str) -> Document:
    path, value = _read(text)
    if path.endswith("+"):
        return _with_another(document, path[:-1], value)
    segments = split(path)
    if segments is None:
        raise LookupError("no path; write it like group[billing].settings[session.timeout.ms]=10s")
    if segments == ["act"] and isinstance(value, tuple):
        segments = ["fault"]  # the acts of the file are there
    changed: Document | None = _changed(Scenario, document, segments, value)
    if changed is None:
        meant = _with_brackets(document, path, value)
        meant = meant or _with_settings(document, segments, value)
        near = f"; nearest: {meant}" if meant else _closest(document, path, segments, file_text)
        raise LookupError(f"no such key{near}")
    return changed


def _with_brackets(document: Document, path: str, value: Any) -> str:
    """Return a path whose names have dots in place of brackets as it has to be; empty: it is none."""
    table, *rest = path.split(".")
    items = document.get("fault" if table == "act" else table)
    if table not in NAMED_BY or not isinstance(items, tuple):
        return ""
    for end in range(1, len(rest)):
        name, keys = ".".join(rest[:end]), rest[end:]
        free = next((at + 1 for at, key in enumerate(keys) if key in FREE_TABLES), len(keys))
        entry = [f"[{'.'.join(keys[free:])}"] if keys[free:] else []
        segments = [table, f"[{name}", *keys[:free], *entry]
        if _changed(Scenario, document, segments, value) is not None:
            return _spelled(segments)
    return ""


def _with_settings(document: Document, segments: Sequence[str], value: Any) -> str:
    """Return a path to a setting whose table is left out, with ``settings``; empty: its end is no setting."""
    for end in range(1, len(segments)):
        name = ".".join(each.removeprefix("[") for each in segments[end:])
        whole = [*segments[:end], "settings", f"[{name}"]
        if _changed(Scenario, document, whole, value) is not None:
            return _spelled(whole)
    return ""


def _spelled(segments: Sequence[str]) -> str:
    """Return segments as a path, those of names in brackets."""
    return "".join(f"{each}]" if each[0] == "[" else f".{each}" for each in segments)[1:]


LISTS = ("act", "fault", "group", "topic")
"""Lists of tables that ``+=`` adds one to."""


def _with_another(document: Document, name: str, value: Any) -> Document:
    """Return a document with one more table in a list: ``act+={ crash = "billing-0", at = "1min" }``."""
    if name not in LISTS or not isinstance(value, dict):
        raise LookupError(
            f"+= adds a table to {', '.join(LISTS[:-1])} or {LISTS[-1]}; write it like "
            'act+={ crash = "billing-0", at = "1min" }'
        )
    name = "fault" if name == "act" else name
    there = document.get(name, ())
    return {**document, name: (*there, value)} if isinstance(there, tuple) else document


def _read(text: str) -> tuple[str, Any]:
    """Split at the first equals sign outside brackets, and parse the value after it."""
    depth = 0
    for place, letter in enumerate(text):
        depth = max(depth + (letter == "[") - (letter == "]"), 0)
        if letter == "=" and depth == 0:
            value = _value(text[place + 1 :].strip())
            if isinstance(value, str):
                _refuse_two(value)
            return text[:place].strip(), value
    raise LookupError("no value; write path=value")


_ANOTHER = re.compile(r"""[^"'\[{]*?(?:;\s*|\s)((\w+)[\w.\[\]-]*)=""")
"""A value without quotes or brackets, a semicolon or a space, and another path."""


def _refuse_two(value: str) -> None:
    """Raise LookupError for a text that goes on with a key of a scenario: two changes in one."""
    found = _ANOTHER.match(value)
    if found and found[2] in file_keys(Scenario):
        raise LookupError(
            f"two changes in one: {found[1]}= begins another; write a comma between the changes of a "
            "variant, and each of the others on its own"
        )


def _value(text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return _frozen(read["value"]) if len(read) == 1 else text


def _frozen(value: Any) -> Any:
    """Return a value with tuples in place of lists, in its tables too."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


# -- following paths -------------------------------------------------------------------------


def _changed(table: type[Part], node: Any, segments: Sequence[str], value: Any) -> Any:
    """Return a copy of a table with the value at the path; None if the path does not exist."""
    key, *rest = segments
    keys = file_keys(table)
    if key not in keys or not isinstance(node, dict):
        return None
    if not rest:
        return {**node, key: value}
    below = _below(keys[key], key, node, (rest, value))
    return None if below is None else {**node, **below}


def _below(key: Key, name: str, node: Document, end: tuple[Sequence[str], Any]) -> Document | None:
    segments, value = end
    if name in FREE_TABLES:
        changed = _entry(name, node, segments, value)
    elif key.is_list:
        return _in_list(key, name, node, end)
    elif "" in key.tables:
        changed = _changed(key.tables[""], _opened(name, node.get(name)), segments, value)
    else:
        changed = _in_choice(key, _opened(name, node.get(name)), segments, value)
    return None if changed is None else {name: changed}


def _entry(name: str, node: Document, segments: Sequence[str], value: Any) -> Document | None:
    entry = ".".join(segment.removeprefix("[") for segment in segments)
    table = node.get(name)
    kept = table if isinstance(table, dict) else {}
    if name == "settings":
        of_kafka = any(entry in known for known in (CONSUMERS, BROKER, TOPIC))
        if not (of_kafka or of_other_client(entry)):
            return None
        kept = {key: given for key, given in kept.items() if not other_name_of(key, entry)}
    if name == "settings" and entry == PROTOCOL:
        gone = REFUSED_WITH["consumer" if value == "consumer" else "classic"]
        kept = {key: given for key, given in flattened(kept) if key not in gone}
    return {**kept, entry: value}


def _opened(name: str, short: Any) -> Document:
    """Return the table of a short form; an empty one if there is none."""
    if isinstance(short, str) and name in _SHORT_FORMS:
        try:
            short = _SHORT_FORMS[name](short)
        except ValueError:
            return {}
    return short if isinstance(short, dict) else {}


def _in_choice(key: Key, node: Document, segments: Sequence[str], value: Any) -> Any:
    """Change the branch of a union that has the key; a new branch replaces the old one."""
    for table in key.tables.values():
        if segments[0] in file_keys(table):
            kept = node if segments[0] in node or node.keys() <= file_keys(table).keys() else {}
            return _changed(table, kept, segments, value)
    return None


def _in_list(
    key: Key, name: str, node: Document, end: tuple[Sequence[str], Any]
) -> Document | None:
    (wanted, *segments), value = end
    if name in ("member", "members"):
        name, node = _with_member(node, wanted.removeprefix("["))
    name = "fault" if name == "act" else name
    items = node.get(name)
    if not isinstance(items, tuple) or not wanted.startswith("[") or not segments:
        return None
    index = _index_of(wanted[1:], items, NAMED_BY.get(name))
    if index is None:
        return None
    table = key.tables.get(f"={short_forms.verb_of(items[index])}") or key.tables.get("")
    changed = _changed(table, items[index], segments, value) if table else None
    if changed is None:
        return None
    return {name: (*items[:index], changed, *items[index + 1 :])}


def _index_of(wanted: str, items: Sequence[Any], naming: str | None) -> int | None:
    """Return the index of an item: by its name, or by its number in a list without names."""
    for index, item in enumerate(items):
        name = item.get(naming) if naming and isinstance(item, dict) else str(index)
        if name == wanted:
            return index
    return None


def _with_member(group: Document, wanted: str) -> tuple[str, Document]:
    """Add a table for a member that only a number or a list defines."""
    named, tables = group.get("members"), group.get("member", ())
    if isinstance(named, tuple) and any(isinstance(item, dict) for item in named):
        tables_of_all = tuple({"name": item} if isinstance(item, str) else item for item in named)
        return "members", {**group, "members": tables_of_all}
    names = [item.get("name") for item in short_forms.group(group)["members"]]
    written = [item.get("name") for item in tables if isinstance(item, dict)]
    if wanted in names and wanted not in written:
        return "member", {**group, "member": (*tables, {"name": wanted})}
    return "member", group


def _closest(document: Document, path: str, segments: Sequence[str], file_text: str) -> str:
    """Return ``; nearest: …`` with the path that is meant, or the closest to one that does not exist."""
    from emulator.scenario.act_tables import act_places, as_written  # noqa: PLC0415  only for errors
    from emulator.scenario.meant_words import meant_key  # noqa: PLC0415  only for errors

    path, known = re.sub(r"^act\[", "fault[", path), list(all_paths(document))
    places = act_places(file_text, document.get("fault", ()))
    last = segments[-1].removeprefix("[")
    table = path.removesuffix(last)
    below = {one.removeprefix(table) for one in known if one.startswith(table)}
    if meant := meant_key(last, below):
        return f"; nearest: {as_written(f'{table}{meant}', places)}"
    ends = _ending(set(all_paths(document, absent=False)), known, path, last)
    near = nearest(path, ends, 3) or ends[:3] or nearest(path, known, 3)
    return f"; nearest: {', '.join(as_written(one, places) for one in near)}" if near else ""


def _ending(written: Collection[str], known: Sequence[str], path: str, last: str) -> list[str]:
    """Return the known paths that end in all of *path*, else in its last key; in written tables, if any does."""
    for ends in ((f".{path}", f"[{path}]"), (f".{last}", f"[{last}]")):
        if found := [one for one in known if one.endswith(ends)]:
            there = [one for one in found if one in written]
            return there or found
    return []
