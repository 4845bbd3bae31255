"""Find the problems of a scenario file behind those that keep it from being read, in the same pass.

The wrong values are left out, and the rest is checked as if they were right. What such a check finds
counts only if it does not depend on what was left out: a crash of ``billing-9`` is no problem for certain
while the number of members is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from emulator.scenario.model import Scenario
from emulator.scenario.part import Document, ScenarioSource
from emulator.scenario.paths import file_keys, split
from emulator.scenario.problems import Problem, nearest
from emulator.scenario.short_forms import TARGETS

Checks = Callable[[Scenario, Document], Sequence[Problem]]
"""Returns the problems of a scenario that could be read."""

Place = tuple[str | int, ...]
"""The keys and indices on the way to a value, as a validation error has them."""

NAMES: Final = frozenset(
    {
        "assign",
        "assignor",
        "autoscaler",
        "client",
        "created",
        "framework",
        "handler",
        "id",
        "member",
        "members",
        "name",
        "offsets",
        "partitions",
        "static",
        "topics",
    }
)
"""Keys on which checks of other tables depend: what there is, and what it can do."""

PROTOCOL: Final = frozenset(
    {"group.protocol", "group.instance.id", "partition.assignment.strategy"}
)
"""Settings of the same kind."""

PLACEHOLDERS: Final[Mapping[str, object]] = {"title": "title", "partitions": 1, "rate": "1/s"}
"""Values for keys that every file has."""

OF_NAMES: Final = ("by_group", "by_member", "by_partition", "by_topic")
"""Tables of metrics whose entries are names of the scenario."""

ACTS: Final = ("fault", "act")


def further_problems(
    error: ValidationError,
    found: Sequence[Problem],
    document: Document,
    source: ScenarioSource,
    checks: Checks,
) -> list[Problem]:
    """Return the problems that do not depend on those *found* for a validation *error*."""
    errors = error.errors(include_url=False, include_input=False)
    unknown = [each["loc"] for each in errors if each["type"] == "extra_forbidden"]
    repaired = _without(document, [each["loc"] for each in errors], unknown)
    scenario = _validated(repaired, source)
    if scenario is None:
        return []
    broken = [_segments(problem.path) for problem in found]
    return [
        problem
        for problem in checks(scenario, repaired)
        if not any(_may_depend(_segments(problem.path), each) for each in broken)
    ]


def _validated(document: Document, source: ScenarioSource) -> Scenario | None:
    """Return a scenario with placeholders for what is missing; None: it cannot be read."""
    try:
        return _model(document, source)
    except ValidationError as error:
        missing = [each["loc"] for each in error.errors() if each["type"] == "missing"]
    for place in missing:
        table = _table(document, place)
        if isinstance(table, dict) and place[-1] in PLACEHOLDERS:
            table[place[-1]] = PLACEHOLDERS[str(place[-1])]
    try:
        return _model(document, source)
    except ValidationError:
        return None


def _model(document: Document, source: ScenarioSource) -> Scenario:
    return Scenario.model_validate(document, context=source, by_alias=True, by_name=False)


# -- leaving out -----------------------------------------------------------------------------------


def _without(document: Document, places: Sequence[Place], unknown: Container[Place]) -> Document:
    """Return a copy of a document without the values at some places; of a fault nothing is left.

    *unknown*: those of the places whose key is unknown; a fault stays without it.
    """
    copied: Document = _copy(document)
    wrong = {
        place[1]
        for place in places
        if place[0] == "fault" and len(place) > 1 and place not in unknown
    }
    for place in places:
        if place[0] != "fault" or place in unknown:
            table = _table(copied, place)
            if isinstance(table, dict):
                table.pop(_last(table, place), None)
    if wrong and isinstance(faults := copied.get("fault"), list):
        copied["fault"] = [each for at, each in enumerate(faults) if at not in wrong]
    return {key: _frozen(value) for key, value in copied.items()}


def _table(document: Document, place: Sequence[str | int]) -> Any:
    """Return the innermost table of the document on the way to a place."""
    node: Any = document
    for step in place[:-1]:
        below = _below(node, step)
        if not isinstance(below, dict | list | tuple):
            break
        node = below
    return node


def _last(table: Document, place: Sequence[str | int]) -> str | int:
    """Return the last step of a place that is a key of its innermost table."""
    return next((step for step in reversed(place) if step in table), place[-1])


def _below(node: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return (
            node.get(step, node if step.startswith("=") else None)
            if isinstance(node, dict)
            else node
        )
    return node[step] if isinstance(node, list | tuple) and 0 <= step < len(node) else None


def _copy(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copy(below) for key, below in value.items()}
        case list() | tuple():
            return [_copy(item) for item in value]
    return value


def _frozen(value: Any) -> Any:
    match value:
        case dict():
            return {key: _frozen(below) for key, below in value.items()}
        case list():
            return tuple(_frozen(item) for item in value)
    return value


# -- what depends on what --------------------------------------------------------------------------


def _segments(path: str) -> list[str]:
    if path.startswith("expect["):
        return ["expect", path.removeprefix("expect[").removesuffix("]")]
    return [segment.removeprefix("[") for segment in split(path) or [path]]


def _may_depend(problem: Sequence[str], broken: Sequence[str]) -> bool:
    """Return whether a problem may be one only because the value at another path is not known."""
    if broken[0] == "expect":
        return False
    if problem[0] == "expect":
        return _is_name(broken) and any(table in problem[-1] for table in OF_NAMES)
    if broken[0] in ACTS or len(broken) == 1:
        of_times = problem[0] in (*ACTS, "variant") and not _is_target(problem)
        return of_times or _is_name(broken)
    if _is_name(broken) or "settings" in problem:
        return True
    return problem[:2] == broken[:2] and problem[2:3] not in (["topics"], [])


def _is_target(problem: Sequence[str]) -> bool:
    """Return whether a problem is at the target of a fault or act: it does not exist, whatever the time."""
    return problem[0] in ACTS and TARGETS.get(problem[-1]) in (
        "member",
        "members",
        "group",
        "broker",
    )


def _is_name(broken: Sequence[str]) -> bool:
    """Return whether other tables depend on what is at a path, or on what it may be meant for."""
    if broken[0] in ACTS:
        return False
    tables = file_keys(Scenario)
    if len(broken) == 1:
        return bool({"topic", "group", *ACTS}.intersection(_meant(broken[0], tables)))
    table = tables[broken[0]].tables.get("") if broken[0] in tables else None
    if len(broken) == 2 or table is None:
        return True
    keys = _meant(broken[2], file_keys(table))
    return not NAMES.isdisjoint(keys) or not PROTOCOL.isdisjoint(broken)


def _meant(key: str, known: Iterable[str]) -> list[str]:
    """Return a known key itself, or the one that it is a misspelling of; empty: there is none."""
    known = [*known]
    return [key] if key in known else nearest(key, known)
