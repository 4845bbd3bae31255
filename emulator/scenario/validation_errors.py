"""Translate validation errors of pydantic into problems of a scenario file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import BROKER, CONSUMER, TOPIC, flattened
from emulator.scenario.meant_words import meant_switch, unknown_key, unknown_value
from emulator.scenario.part import wrong_value
from emulator.scenario.paths import file_keys, render, table_at
from emulator.scenario.problems import MAX_PROBLEMS, NOT_GIVEN, Problem, shown

_PLAIN = {
    "union_tag_invalid": "wrong type; allowed is a table",
    "union_tag_not_found": "wrong type; allowed is a table",
}
_PATTERNS = {
    short_forms.LEGAL_NAME: "1 to 249 letters, digits, dots, underscores and hyphens",
    short_forms.PARTY_NAME: "a name of 1 to 249 characters without brackets",
}


def problems_in(error: ValidationError, document: Any) -> list[Problem]:
    """Return the problems of a validation error, in the order of the file's keys; not very many."""
    found = dict[tuple[str, str], Problem]()
    for details in error.errors(include_url=False, include_input=False):
        problem = _problem(details, document)
        found[problem.path, problem.reason] = problem
        if len(found) == MAX_PROBLEMS:
            break
    return list(found.values())


def _problem(details: Mapping[str, Any], document: Any) -> Problem:
    place = details["loc"]
    path, given, is_there = render(place, document)
    reason = _reason(details, place, given)
    steps = [step for step in place if not str(step).startswith("=")]
    whole_table = len(steps) <= 2 and isinstance(given, dict | tuple) and steps[0] != "expect"
    return Problem(path, reason, given if is_there and not whole_table else NOT_GIVEN)


def _reason(details: Mapping[str, Any], place: Sequence[str | int], given: object) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "tuple_type":
        return _list_wanted(place, given)
    if kind == "too_long" or (kind == "missing" and isinstance(place[-1], int)):
        return "wrong length; allowed are exactly two"
    if value_wrong := wrong_value(kind, context):
        return value_wrong + (meant_switch(given) if kind in ("bool_type", "bool_parsing") else "")
    if kind == "extra_forbidden" and tuple(place) == ("act",):
        return _list_wanted(place, given)
    if kind == "extra_forbidden":
        return _unknown_key(place, given)
    if kind == "literal_error" and place[-1] == "client":
        from emulator.scenario.clients.names import unknown_client  # noqa: PLC0415  only for errors

        return unknown_client(given)
    if kind == "literal_error":
        words = context["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return unknown_value(given, words)
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"].removeprefix("^$|")
        return f"not a name we can use; allowed are {_PATTERNS.get(pattern, pattern)}"
    own = context.get("error", context.get("reason"))
    return str(own or _PLAIN.get(kind) or details["msg"])


def _list_wanted(place: Sequence[str | int], given: object) -> str:
    match given:
        case dict():
            return f"a table, but a list of tables is needed; write [[{_in_tables(place)}]]"
        case str():
            return f"wrong type; allowed is a list such as [{shown(given)}]"
    return "wrong type; allowed is a list"


def _in_tables(place: Sequence[str | int]) -> str:
    """Return the name of a list of tables, with those of the lists that it is in."""
    return ".".join(part for part in place if isinstance(part, str))


def _unknown_key(place: Sequence[str | int], given: object) -> str:
    key, table = str(place[-1]), table_at(place[:-1])
    names = {key} if not isinstance(given, dict) else dict(flattened(given, f"{key}."))
    if any(name in CONSUMER or name in BROKER or name in TOPIC for name in names):
        return "Kafka's settings belong under settings"
    known = list(file_keys(table)) if table else []
    return unknown_key(key, table.__name__ if table else "", known)
