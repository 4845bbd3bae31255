"""Load a scenario: a file, a name of the catalogue, or a text, with some keys changed.

These are the functions for users. ``emulator.scenario.load`` validates the document; here the
names in ``[expect]`` are also compared with the existing metrics, which the scenario cannot know.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.input_files import nearest_file, read_stream
from emulator.ledger.entries import Cause
from emulator.metrics.catalogue import unknown_metric
from emulator.metrics.members import EVICTIONS
from emulator.scenario import load as scenario_files
from emulator.scenario.model import AddPartitions, Scenario
from emulator.scenario.part import Document, ScenarioSource
from emulator.scenario.problems import Problem, ScenarioError, hint
from emulator.scenario.resolution import members_of

Overrides = Mapping[str, object] | Sequence[str]
"""Values by path, or ``path=value`` each, as for ``rebalance run --set``; one of them may be a string."""

STDIN = "-"
"""The name of a scenario that is read from standard input."""

STDIN_IN_ERRORS = "the input"


@dataclass(frozen=True, slots=True)
class ScenarioText:
    """The text of a scenario, and its source."""

    name: str
    """The name as the user gave it."""

    source: str
    """The file's path, for error messages."""

    text: str
    folder: Path
    """The base of relative paths in the text."""

    is_file: bool = True
    """Whether *folder* is that of the scenario's file."""

    is_checked: bool = False
    """Whether it was written from a loaded scenario, and may name modules loaded for scenarios."""


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A valid scenario, with its name and its overrides."""

    name: str
    overrides: tuple[str, ...]
    scenario: Scenario
    folder: Path
    """The folder of its file, which may also hold the user's own assignors."""

    notes: tuple[str, ...] = ()
    """What was translated or ignored of files of real clients."""

    written: ScenarioText | None = None
    """The text that was read; None: the scenario was made in Python."""


def load(scenario: Scenario | str | Path, overrides: Overrides = ()) -> Scenario:
    """Return the scenario of a file or of the catalogue, or a copy of one, with some keys changed.

    *scenario*: a path, a name of the catalogue, or a scenario, of which a changed copy is returned.
    *overrides*: keys to change, as ``{path: value}``, or ``path=value`` each, as for
    ``rebalance run --set``; the last one wins.

    Raises ``ScenarioError``, which lists all problems.

    >>> quiet = load("quiet", ["run_for=20s"])
    >>> quiet.run_for, load(quiet, {"run_for": "10s"}).run_for
    (20000000, 10000000)
    """
    changes = written_overrides(overrides)
    return load_text(text_of_scenario(scenario), changes, allow_large=True).scenario


def written_overrides(overrides: Overrides) -> list[str]:
    """Return overrides as ``path=value``.

    >>> written_overrides({"run_for": "20s", "group[billing].static": True})
    ['run_for=20s', 'group[billing].static=true']
    >>> written_overrides({"fault": [{"crash": "billing-0", "at": "9s"}]})
    ['fault=[{crash = "billing-0", at = "9s"}]']
    >>> written_overrides("run_for=20s")
    ['run_for=20s']
    """
    if isinstance(overrides, str):
        return [overrides]
    if not isinstance(overrides, Mapping):
        return list(overrides)
    from emulator.scenario.toml import toml_value  # noqa: PLC0415  most overrides are texts

    return [
        f"{path}={value if isinstance(value, str) else toml_value(value)}"
        for path, value in overrides.items()
    ]


def loads(
    text: str,
    name: str = "scenario",
    overrides: Overrides = (),
    *,
    folder: Path | None = None,
    is_file: bool = True,
    is_checked: bool = False,
) -> Scenario:
    """Return the scenario that a TOML text describes, with some keys changed.

    *name*: used in error messages. *overrides*: as for :func:`load`. *folder*: the base of relative
    paths in the text. The text may name functions of modules in it, unless *is_file* is false; any
    other module must have been allowed with :func:`allow_plugins`. *is_checked*: the text was
    written from a loaded scenario.

    Raises ``ScenarioError``, which lists all problems, including metrics in ``[expect]`` that do
    not exist.
    """
    return scenario_files.loads(
        text,
        name,
        written_overrides(overrides),
        folder=folder,
        is_file=is_file,
        is_checked=is_checked,
        objections=_wrong_expectations,
    )


def text_of_scenario(scenario: Scenario | str | Path) -> ScenarioText:
    """Return the text of a scenario: read from its file, or written from its values."""
    if not isinstance(scenario, Scenario):
        return read_text(str(scenario))
    from emulator.scenario.toml import to_toml  # noqa: PLC0415  most scenarios are files

    text = to_toml(scenario)
    return ScenarioText(
        scenario.title, "scenario", text, Path.cwd(), is_file=False, is_checked=True
    )


def read_text(name: str) -> ScenarioText:
    """Read a scenario's text from a file, the catalogue, or (``-``) standard input."""
    if name == STDIN:
        content = read_stream(sys.stdin.buffer, STDIN_IN_ERRORS)
        text = scenario_files.decoded(content, STDIN_IN_ERRORS)
        return ScenarioText(name, STDIN_IN_ERRORS, text, Path.cwd(), is_file=False)
    path = path_of(name)
    text = scenario_files.text_of(str(path))
    return ScenarioText(name, name, text, path.parent.resolve())


def load_text(
    written: ScenarioText,
    overrides: Sequence[str] = (),
    *,
    allow_large: bool = False,
    runs: int = 1,
    together: Sequence[str] | None = None,
) -> LoadedScenario:
    """Load a text with some keys changed.

    *together*: the last ones of *overrides*, if those before them belong to the scenario: only they
    may remove settings that others have written.

    Raises ``ScenarioError`` if it is invalid or, unless *allow_large*, if one run would take more than
    two hours of CPU time, and ``RefusedError`` if *runs* of them would, or if *overrides* is one text.
    """
    if isinstance(overrides, str):
        raise RefusedError(f"`overrides={overrides}`: a list is needed; write [{overrides!r}]")
    if overrides:
        from emulator.scenario.overrides import refuse_removed  # noqa: PLC0415  most runs have none

        refuse_removed(overrides if together is None else together, written.source)
    scenario = loads(
        written.text,
        written.source,
        overrides,
        folder=written.folder,
        is_file=written.is_file,
        is_checked=written.is_checked,
    )
    if not allow_large:
        _refuse_large(scenario, written.source, runs)
    notes = _notes_of(scenario, written.text, written.source, overrides, written.folder)
    return LoadedScenario(written.name, tuple(overrides), scenario, written.folder, notes, written)


def _notes_of(
    scenario: Scenario, text: str, name: str, overrides: Sequence[str], folder: Path | None
) -> tuple[str, ...]:
    """Return what to tell the user about a valid scenario: files of real clients, unused tables."""
    notes = _client_file_notes(text, name, overrides, folder)
    if scenario.model_fields_set.isdisjoint(("zookeeper", "database")):
        return notes
    from emulator.scenario.checks.offset_stores import unused_stores  # noqa: PLC0415  few have a store

    return (*notes, *unused_stores(scenario))


def _client_file_notes(
    text: str, name: str, overrides: Sequence[str], folder: Path | None
) -> tuple[str, ...]:
    if not any(scenario_files.CLIENT_FILE in part for part in (text, *overrides)):
        return ()
    from emulator.scenario.clients.files import notes_of  # noqa: PLC0415  few have one

    return tuple(
        notes_of(scenario_files.document_of(text, name, overrides), ScenarioSource(name, folder))
    )


def load_named(
    name: str, overrides: Sequence[str] = (), *, allow_large: bool = False, runs: int = 1
) -> LoadedScenario:
    """Read and load the scenario with the name *name*; see :func:`read_text`, :func:`load_text`."""
    return load_text(read_text(name), overrides, allow_large=allow_large, runs=runs)


def _refuse_large(scenario: Scenario, source: str, runs: int) -> None:
    from emulator.scenario.estimates.cpu_time import MAX_S, estimate  # noqa: PLC0415  only commands ask

    expected = estimate(scenario)
    if expected.cpu_s * runs <= MAX_S:
        return
    from emulator.scenario.estimates.cost_text import (  # noqa: PLC0415  rarely needed
        approximately,
        cheaper,
        refuse_large,
    )

    refuse_large(scenario, source)
    raise RefusedError(
        f"{runs:,} runs of about {approximately(expected.cpu_s)} of CPU time each; "
        f"{approximately(MAX_S)} in all are allowed. {cheaper(expected)} "
        "Take fewer `seeds`, or `allow_large` to run them anyway"
    )


def path_of(name: str) -> Path:
    """Return the file for *name*, also of the catalogue; with a suffix or a folder it is a path.

    Raises ``ScenarioError`` for a name that is neither.
    """
    path = Path(name)
    if _exists(path) or path.suffix or len(path.parts) != 1:
        return path
    from emulator.scenario import catalogue  # noqa: PLC0415  a path needs none

    known = catalogue.names()
    if name in known:
        return catalogue.path_of(name)
    near = hint(name, known) or nearest_file(path) or catalogue.with_word(name)
    reason = f"no such file, and no such scenario in the catalogue{near}"
    raise ScenarioError(name, [Problem("", reason)])


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return True  # reading it raises the error for the user


def _wrong_expectations(scenario: Scenario, document: Document) -> list[Problem]:
    """Return the problems of ``[expect]``: metrics that do not exist, bounds of another unit."""
    if not scenario.expect:
        return []
    from emulator.metrics.checks import objection_to_bound  # noqa: PLC0415  if it expects

    written = document["expect"]
    problems = [
        Problem(f"expect[{name}]", reason)
        for name in scenario.expect
        if (reason := _objection(name, scenario))
    ]
    return problems or [
        Problem(f"expect[{name}]", reason, written.get(name))
        for name in scenario.expect
        if (reason := objection_to_bound(name, written.get(name)))
    ]


MAX_ENTRIES = 40
"""Entries of a table that a refusal names."""


def _objection(name: str, scenario: Scenario) -> str:
    """Return why a name of ``[expect]`` cannot be measured; empty if it can."""
    from emulator.metrics.checks import is_expectable, split_name  # noqa: PLC0415  if it expects

    if not is_expectable(name):
        return unknown_metric(name)
    table, bracket, rest = split_name(name)[0].partition("[")
    if not bracket:
        return ""
    known = _entries(table, scenario)
    entry = rest.removesuffix("]")
    if known is None or entry in known:
        return ""
    near = [each for each in known if entry and entry.lower() in each.lower()][:3]
    quoted = " or ".join(f'"{each}"' for each in near)
    meant = f"; did you mean {quoted}?" if near else hint(entry, known) or "."
    entries = ", ".join(known[:MAX_ENTRIES])
    return f"{table} has no entry {entry!r} in this scenario{meant} Its entries: {entries}"


def _entries(table: str, scenario: Scenario) -> list[str] | None:
    """Return the entries that a table of metrics can have; None: they are not known before a run."""
    match table.partition(".")[2]:
        case "by_cause":
            return [cause.value for cause in Cause]
        case "by_group":
            return [group.id for group in scenario.group]
        case "by_member" if not _copies(scenario):
            members = [member.name for _, member in members_of(scenario)]
            return [*members, "no owner"]
        case "by_partition":
            topics = [
                f"{name}-{number}" for name, size in _sizes(scenario) for number in range(size)
            ]
            return topics + [f"{group.id}/{name}" for group in scenario.group for name in topics]
        case "by_reason" if table == "evictions.by_reason":
            return [str(reason) for reason in EVICTIONS]
    return None


def _sizes(scenario: Scenario) -> Iterator[tuple[str, int]]:
    """Yield each topic with the largest number of partitions that it will have."""
    for topic in scenario.topic:
        later = [
            act.to
            for act in scenario.fault
            if isinstance(act, AddPartitions) and act.topic == topic.name
        ]
        yield topic.name, max(topic.partitions, *later, 0)


def _copies(scenario: Scenario) -> bool:
    """Return whether a rolling restart starts members of other names beside the old ones."""
    return any(getattr(fault, "surge", False) for fault in scenario.fault)
