"""Load a scenario from TOML: parse, apply overrides, validate, check; report all problems at once.

After :func:`tidy`, a document has one list of faults, each with its id; settings and bounds in one
level under their full names; and tuples for lists. The short forms are still in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulator.input_files import nearest_file, read_bytes, utf8_text
from emulator.limits import beyond, depth, long_list, most, parser_words
from emulator.scenario import short_forms
from emulator.scenario.checks.cluster import cluster_problems, topic_problems, variant_problems
from emulator.scenario.checks.groups import assignor_problems, group_problems, protocol_problems
from emulator.scenario.deploys import deploys_of
from emulator.scenario.kafka_settings import OLD_CONSUMER, OTHER_CLIENTS, flattened
from emulator.scenario.model import Scenario
from emulator.scenario.part import Document, ScenarioSource
from emulator.scenario.problems import Problem, ScenarioError
from emulator.scenario.resolution import client_of, commit_policy, members_of, read_with

_DEEP_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){64}")  # takes tomllib square time

CLIENT_FILE = "settings_from"
"""The key of a group that names the file of a real client."""

ESSENTIALS = "a scenario has at least a title, a [[topic]] and a [[group]]"


def load(path: str | Path) -> Scenario:
    """Read a scenario file; raise ScenarioError with all its problems."""
    return load_with(path, ())


def load_with(path: str | Path, overrides: Sequence[str]) -> Scenario:
    """Read a scenario file with some keys changed, each given as ``path=value``."""
    name = str(path)
    return loads(text_of(name), name, overrides, folder=Path(path).parent)


def loads(
    text: str,
    name: str = "scenario",
    overrides: Sequence[str] = (),
    *,
    folder: Path | None = None,
    is_file: bool = True,
    is_checked: bool = False,
    objections: Objections = lambda *_: (),
) -> Scenario:
    """Read the text of a scenario.

    *name*: for errors. *folder*: base of relative paths. *is_file*: the scenario may name modules
    in *folder*, which is that of its file. *is_checked*: it was written from a loaded scenario.
    *objections*: further checks of the valid scenario and its document.
    """
    source = ScenarioSource(name, folder, is_file, is_checked)
    try:
        return _checked(document_of(text, name, overrides), source, objections)
    except ScenarioError as error:
        if error.name != name:
            raise
        raise ScenarioError(name, with_lines(error.problems, text, overrides)) from None


Objections = Callable[[Scenario, Document], Sequence[Problem]]
"""Returns the problems of a valid scenario and its document that further checks find."""


def _checked(document: Document, source: ScenarioSource, objections: Objections) -> Scenario:
    def checks(scenario: Scenario, of: Document) -> list[Problem]:
        return [*problems_of(scenario, source.module_folders), *objections(scenario, of)]

    document = _with_client_files(document, source)
    try:
        scenario = _validated(document, source)
    except ValidationError as error:
        from emulator.scenario.further_problems import further_problems  # noqa: PLC0415  most files are right

        found = _problems_in(error, document)
        more = further_problems(error, found, document, source, checks)
        raise ScenarioError(source.name, [*found, *more]) from None
    if problems := checks(scenario, document):
        raise ScenarioError(source.name, problems)
    return scenario


def _problems_in(error: ValidationError, document: Document) -> list[Problem]:
    from emulator.scenario.validation_errors import problems_in  # noqa: PLC0415  most files are right

    return problems_in(error, document)


def with_lines(
    problems: Sequence[Problem], text: str, overrides: Sequence[str]
) -> Sequence[Problem]:
    """Return problems with their lines; those that an override may have caused without."""
    if not any(each.path for each in problems):
        return problems
    from emulator.scenario import lines  # noqa: PLC0415  most files are right
    from emulator.scenario.act_tables import act_places, as_written  # noqa: PLC0415

    if len(text) > lines.MAX_LOCATED:
        return problems
    places = act_places(text, tidy(tomllib.loads(text), text).get("fault", ()))
    changed = tuple(_dotted(each.partition("=")[0]) for each in overrides)
    found = []
    for problem, located in zip(problems, lines.with_lines(problems, text, places), strict=True):
        in_file = problem.path and not _dotted(problem.path).startswith(("`", *changed))
        one = located if in_file else problem
        found.append(replace(one, path=as_written(one.path, places)))
    return sorted(found, key=lambda problem: problem.line or 0)


def _dotted(path: str) -> str:
    """Return a path without brackets, and with the word for faults and acts that a loaded scenario has."""
    return re.sub(r"^act\b", "fault", re.sub(r"[\[\].\"]+", ".", path.strip()).strip("."))


def document_of(text: str, name: str, overrides: Sequence[str]) -> Document:
    """Return the tidy document of a text with some keys changed."""
    document = tidy(read_toml(text, name), text)
    if not overrides:
        return document
    from emulator.scenario.overrides import override  # noqa: PLC0415  most runs have none

    return override(document, overrides, name, text)


def scenario_of(document: Document, source: ScenarioSource) -> Scenario:
    """Return the scenario that a tidy document describes."""
    document = _with_client_files(document, source)
    try:
        scenario = _validated(document, source)
    except ValidationError as error:
        raise ScenarioError(source.name, _problems_in(error, document)) from None
    check(scenario, source.name, source.module_folders)
    return scenario


def _with_client_files(document: Document, source: ScenarioSource) -> Document:
    if not any(isinstance(group, dict) and CLIENT_FILE in group for group in _groups(document)):
        return document
    from emulator.scenario.clients.files import with_client_files  # noqa: PLC0415  few have one

    return with_client_files(document, source)


def _validated(document: Document, source: ScenarioSource) -> Scenario:
    return Scenario.model_validate(document, context=source, by_alias=True, by_name=False)


def _groups(document: Document) -> tuple[Any, ...]:
    return document["group"] if isinstance(document.get("group"), tuple) else ()


def check(
    scenario: Scenario, name: str = "scenario", folders: Sequence[Path] | None = None
) -> None:
    """Raise ScenarioError if the tables of a scenario contradict each other.

    A loaded scenario has been checked; one built in Python has not.
    """
    problems = problems_of(scenario, folders)
    if problems:
        raise ScenarioError(name, problems)


def _client_problems(scenario: Scenario) -> list[Problem]:
    """Return the problems of clients; scenarios of Java consumers alone need no such check."""
    plain = all(
        client_of(group, member) == "java"
        and read_with(group, member) == "poll"
        and group.read_records is None is member.read_records
        and commit_policy(group, member).call != "store"
        and (OTHER_CLIENTS | OLD_CONSUMER).keys().isdisjoint({**group.settings, **member.settings})
        and group.deviates is None is member.deviates
        for group, member in members_of(scenario)
    )
    if plain:
        return []
    from emulator.scenario.checks.clients import client_problems  # noqa: PLC0415  few need it

    return list(client_problems(scenario))


def _store_problems(scenario: Scenario) -> Iterator[Problem]:
    if any(group.offsets != "kafka" for group in scenario.group):
        from emulator.scenario.checks.offset_stores import store_problems  # noqa: PLC0415  few need it

        yield from store_problems(scenario)


def _assign_problems(scenario: Scenario) -> Iterator[Problem]:
    by_hand = any(member.assign is not None for _, member in members_of(scenario))
    if by_hand or any(group.offsets == "none" for group in scenario.group):
        from emulator.scenario.checks.assignment import assign_problems  # noqa: PLC0415  few need it

        yield from assign_problems(scenario)


def _fault_problems(scenario: Scenario) -> list[Problem]:
    """Return the problems of faults and acts."""
    if not scenario.fault:
        return []
    from emulator.scenario.checks import faults as fault_checks  # noqa: PLC0415  a scenario may have no faults

    problems = list(fault_checks.fault_problems(scenario))
    if deploys_of(scenario):
        from emulator.scenario.checks.deploy_settings import deploy_problems  # noqa: PLC0415  few need it

        problems += deploy_problems(scenario)
    problems += fault_checks.timeline_problems(scenario)
    return problems


def problems_of(scenario: Scenario, folders: Sequence[Path] | None = None) -> list[Problem]:
    """Return the problems of a scenario; none if it can be run.

    *folders*: those that may hold modules with the user's own assignors; None: it was loaded, or
    made in Python, and may name every module that was loaded from the folder of a scenario.
    """
    found = [
        *cluster_problems(scenario),
        *topic_problems(scenario),
        *group_problems(scenario),
        *_store_problems(scenario),
        *_assign_problems(scenario),
        *protocol_problems(scenario),
        *_client_problems(scenario),
        *assignor_problems(scenario, folders),
        *_own_handler_problems(scenario, folders),
        *_fault_problems(scenario),
        *variant_problems(scenario),
    ]
    return list({str(problem): problem for problem in found}.values())


def _own_handler_problems(scenario: Scenario, folders: Sequence[Path] | None) -> Iterator[Problem]:
    if any(not group.is_serial and group.pool is None for group in scenario.group):
        from emulator.scenario.checks.own_handlers import (  # noqa: PLC0415  few groups need it
            own_handler_problems,
        )

        yield from own_handler_problems(scenario, folders)


# -- from text to a document -----------------------------------------------------------------


def text_of(name: str) -> str:
    """Return the text of a scenario file; raise ScenarioError if it cannot be read."""
    try:
        content = read_bytes(name)
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        near = nearest_file(Path(name)) if isinstance(error, FileNotFoundError) else ""
        raise ScenarioError(name, [Problem("", f"{reason}{near}")]) from None
    return decoded(content, name)


def decoded(content: bytes, name: str) -> str:
    """Return the bytes of a scenario file as text; raise ScenarioError if they are not UTF-8."""
    try:
        return utf8_text(content)
    except ValueError as error:
        raise ScenarioError(name, [Problem("", str(error))]) from None


def read_toml(text: str, name: str, essentials: str = ESSENTIALS) -> Document:
    """Return the tables of a TOML text; raise ScenarioError if it is invalid or empty.

    *essentials*: what an empty file needs at least.
    """
    try:
        document = _parsed(text)
    except ValueError as error:
        last = f"at line {len(text.splitlines())}, the last one"
        reason = parser_words(error).replace("at end of document", last)
        from emulator.scenario.lines import duplicate_key_message, line_in  # noqa: PLC0415  most are right

        (number, line), words = line_in(text, reason), duplicate_key_message(text, reason)
        raise ScenarioError(name, [Problem("", f"not TOML: {words}{line}", line=number)]) from None
    except RecursionError:
        raise ScenarioError(name, [Problem("", f"nested too deeply; {beyond('toml')}")]) from None
    if not document:
        raise ScenarioError(name, [Problem("", f"empty; {essentials}")])
    if found := long_list(document, most("entries")):  # some are compared with all others
        key, length = found
        raise ScenarioError(name, [Problem(key, f"{length:,} entries; {beyond('entries')}")])
    return document


def _parsed(text: str) -> Document:
    """Return the tables of a TOML text; raise RecursionError if it is nested too deeply."""
    if _DEEP_KEY.search(text):
        raise RecursionError
    document = tomllib.loads(text)
    deepest = most("toml")
    if depth(document, deepest) > deepest:
        raise RecursionError
    return document


def tidy(document: Document, text: str = "") -> Document:
    """Return a document in which paths can be followed; *text* gives the order of faults and acts."""
    tidied = {key: _tuples(value) for key, value in document.items()}
    _merge_acts(tidied, short_forms.FAULT_TABLE.findall(text))
    _name_faults(tidied)
    if isinstance(tidied.get("expect"), dict):
        tidied["expect"] = _one_level(tidied["expect"])
    for table in _with_settings(tidied):
        table["settings"] = _one_level(table["settings"])
    return tidied


def _tuples(value: Any) -> Any:
    match value:
        case list() | tuple():
            return tuple(_tuples(item) for item in value)
        case dict():
            return {key: _tuples(below) for key, below in value.items()}
    return value


def _merge_acts(document: Document, order: list[str]) -> None:
    """Move acts to the faults, in the order of the file if it is known."""
    acts, faults = document.get("act"), document.get("fault", ())
    if not isinstance(acts, tuple) or not isinstance(faults, tuple):
        return
    del document["act"]
    if (order.count("fault"), order.count("act")) != (len(faults), len(acts)):
        document["fault"] = faults + acts
        return
    rest = {"fault": iter(faults), "act": iter(acts)}
    document["fault"] = tuple(next(rest[kind]) for kind in order)


def _name_faults(document: Document) -> None:
    faults = document.get("fault")
    if not isinstance(faults, tuple) or not all(isinstance(fault, dict) for fault in faults):
        return
    given = [fault.get("id") for fault in faults]
    ids = short_forms.number_faults(
        [
            (short_forms.verb_of(fault) or "fault", name if isinstance(name, str) else "")
            for fault, name in zip(faults, given, strict=True)
        ]
    )
    document["fault"] = tuple(
        {**fault, "id": name} if fault.get("id") in (None, "") else fault
        for fault, name in zip(faults, ids, strict=True)
    )


def _one_level(table: Document) -> Document:
    """Flatten nested names, unless two of them are equal, which the model reports."""
    pairs = list(flattened(table))
    flat = dict(pairs)
    return flat if len(flat) == len(pairs) else table


def _with_settings(document: Document) -> list[Document]:
    groups = _tables(document.get("group"))
    members = [
        member
        for group in groups
        for key in ("member", "members")
        for member in _tables(group.get(key))
    ]
    acts = _tables(document.get("fault"))
    places = [*_tables((document.get("cluster"),)), *groups, *members, *acts]
    return [table for table in places if isinstance(table.get("settings"), dict)]


def _tables(value: Any) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, tuple) else []
