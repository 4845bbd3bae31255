"""Lines of a scenario file: where each key is written, for messages about problems.

The parser of TOML does not say. A statement ends with its line, unless it is incomplete there, so
each is parsed by itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from emulator.scenario.paths import NAMED_BY, split
from emulator.scenario.problems import Problem

Place = tuple[str | int, ...]
"""Keys and indexes from the file as a whole down to a value."""

MAX_LOCATED = 2**20
"""Characters of a file in which lines are looked for, which takes longer than to load it."""

LONGEST_LINE = 80
"""The maximum number of characters of a line in a message."""

_CLIENT_KEY = re.compile(
    r"^\s*(bootstrap\.servers|group\.id|enable\.auto\.commit|max\.poll\.records|spring\.kafka)\b",
    re.MULTILINE,
)
"""What the file of a client's settings has, and a scenario only within tables."""

LONGEST_STATEMENT = 200
"""The maximum number of lines of a statement; lines after a longer one are not known."""


def with_lines(
    problems: Sequence[Problem], text: str, faults: Mapping[str, Place]
) -> list[Problem]:
    """Return the problems of a file with the lines of their keys.

    A key that is missing has the line of its table. *faults*: the place of each fault and act, by
    its id.
    """
    document = tomllib.loads(text)
    lines = key_lines(text)
    return [
        replace(problem, line=closest_line(_place(problem.path, document, faults), lines))
        for problem in problems
    ]


def closest_line(place: Place, lines: Mapping[Place, int]) -> int | None:
    """Return the line of a key, else of the innermost table around it; None if there is none."""
    known = (lines.get(place[:length]) for length in range(len(place), 0, -1))
    return next((line for line in known if line is not None), None)


# -- from a path to a place ------------------------------------------------------------------


def _place(path: str, document: Any, faults: Mapping[str, Place]) -> Place:
    """Return the place of a path, down to where the file has it."""
    node, parent = document, ""
    place: Place = ()
    key, _, rest = path.partition("[")
    segments = [key, f"[{rest[:-1]}"] if key == "expect" else split(path) or []
    if len(segments) > 1 and segments[0] in ("fault", "act"):
        place = faults.get(segments[1][1:], ())
        segments = segments[2:] if place else []
        for step in place:
            node = node[step]
    for segment in segments:
        below = _below(node, segment, parent)
        for step in below:
            node = node[step]
        place += below
        if not below:
            break
        parent = segment
    return place


def _below(node: Any, segment: str, parent: str) -> Place:
    """Return the steps from a value to the segment below it; none if it is not there."""
    name = segment.removeprefix("[")
    if isinstance(node, list):
        return _item(node, name, NAMED_BY.get(parent, ""))
    if isinstance(node, dict) and name in node:
        return (name,)
    if isinstance(node, dict) and segment == "member" and "members" in node:
        return ("members",)
    return _nested(node, name.split("."))


def _item(items: Sequence[Any], name: str, naming: str) -> Place:
    for index, item in enumerate(items):
        named = item.get(naming) if isinstance(item, dict) else None
        if name in (named, str(index)):
            return (index,)
    return ()


def _nested(node: Any, names: Sequence[str]) -> Place:
    """Return the names, if tables are nested so: ``settings.session.timeout.ms``."""
    for name in names:
        if not isinstance(node, dict) or name not in node:
            return ()
        node = node[name]
    return tuple(names)


# -- the lines of a text ---------------------------------------------------------------------


def key_lines(text: str) -> dict[Place, int]:
    r"""Return the line, from 1 on, of each key and table of a TOML text.

    >>> key_lines('title = "x"\n[[topic]]\nname = "a"')
    {('title',): 1, ('topic',): 2, ('topic', 0): 2, ('topic', 0, 'name'): 3}
    """
    lines: dict[Place, int] = {}
    last_items: dict[Place, int] = {}
    header: Place = ()
    for first, statement, table in _statements(text):
        if statement.lstrip().startswith("["):
            header = _header(table, last_items)
            found: Iterator[tuple[Place, int]] = iter([(header, first)])
        else:
            found = _keys(table, header, statement, first)
        for place, line in found:
            for length in range(1, len(place) + 1):
                lines.setdefault(place[:length], line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each statement with its first line and what it says."""
    statement: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        statement.append(line)
        if len(statement) > LONGEST_STATEMENT:
            return
        whole = "\n".join(statement)
        try:
            table = tomllib.loads(whole)
        except ValueError:
            continue
        yield number - len(statement) + 1, whole, table
        statement = []


def _header(table: Any, last_items: dict[Place, int]) -> Place:
    """Return the place of a header, ``[a.b]`` or ``[[a.b]]``, and count its tables."""
    place: Place = ()
    while table:
        ((name, below),) = table.items()
        place += (name,)
        if isinstance(below, list):
            last_items[place] = last_items.get(place, -1) + 1
            below = below[0]
        if place in last_items:
            place += (last_items[place],)
        table = below
    return place


def _keys(table: Any, header: Place, statement: str, first: int) -> Iterator[tuple[Place, int]]:
    """Yield the places of a statement; those of inline tables with the line of their own key."""
    ends = [match.start() for match in re.finditer("\n", statement)]
    begin = 0
    for place in _places(table):
        key = re.escape(str(place[-1]))
        match = re.compile(rf"(?<![\w-]){key}[\"']?[ \t]*[=.]").search(statement, begin)
        begin = match.start() if match else begin
        yield header + place, first + sum(end < begin for end in ends)


def _places(node: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of each key below a value, in the order of the text."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for step, below in items:
        here = (*place, step)
        if isinstance(node, dict):
            yield here
        if isinstance(below, dict | list):
            yield from _places(below, here)


def duplicate_key_message(text: str, reason: str) -> str:
    r"""Return the message of TOML's parser, in other words for a key written twice or a bare text.

    >>> duplicate_key_message("a = 1\nb = 2\na = 3", "Cannot overwrite a value (at line 3, column 6)")
    'a is written twice in its table, first in line 1; keep one of them (at line 3, column 6)'
    """
    if "[[" not in text and _CLIENT_KEY.search(text):
        return (
            "the settings of a client; rebalance init --config FILE writes a scenario that reads them, "
            'or write settings_from = "FILE" in its [[group]]'
        )
    if reason.startswith("Invalid value"):
        return reason.replace("Invalid value", f"no value of TOML; {_meant_value(text, reason)}")
    if reason.startswith("Expected '=' after a key") and (key := _key_with_brackets(text, reason)):
        return reason.replace(
            "Expected '='", f"a key with brackets needs quotes, \"{key}\"; expected '='"
        )
    found = re.search(r"at line (\d{1,9})", reason)
    if found is None or not reason.startswith("Cannot overwrite a value"):
        return reason
    lines, number = text.splitlines(), int(found[1])
    key = lines[number - 1].partition("=")[0].strip()
    for before in range(min(number, len(lines)) - 2, -1, -1):
        if lines[before].lstrip().startswith("["):
            break
        if lines[before].partition("=")[0].strip() == key:
            words = (
                f"{key} is written twice in its table, first in line {before + 1}; keep one of them"
            )
            return reason.replace("Cannot overwrite a value", words)
    return reason


def _meant_value(text: str, reason: str) -> str:
    """Return what to write for a value that TOML's parser does not read."""
    found = re.search(r"at line (\d{1,9}), column (\d{1,9})", reason)
    lines = text.splitlines()
    if found and 0 < int(found[1]) <= len(lines):
        word = re.match(r"\w{0,5}", lines[int(found[1]) - 1][int(found[2]) - 1 :])
        if word and word[0].lower() in ("true", "false"):
            return f"write {word[0].lower()}"
    return "a text needs quotes"


def _key_with_brackets(text: str, reason: str) -> str:
    """Return the key of a line that has brackets, such as that of a table of metrics; empty: it has none."""
    _, line = line_in(text, reason)
    key, equals, _ = line.removeprefix(": ").partition("=")
    return key.strip() if equals and re.fullmatch(r"[\w.-]+\[[^\]\"]*\]", key.strip()) else ""


def line_in(text: str, reason: str) -> tuple[int | None, str]:
    """Return the number of the line that a parser's message names, and the line, to be appended."""
    found = re.search(r"at line (\d{1,9})", reason)
    lines = text.splitlines()
    if found is None or not 0 < int(found[1]) <= len(lines):
        return None, ""
    number = int(found[1])
    line = lines[number - 1].strip()
    shown = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
    return number, f": {shown}" if shown.isprintable() and shown else ""
