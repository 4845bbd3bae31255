"""Turn a file into a scenario: read, override, validate, check; report all problems at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from emulator.scenario.checks import problems_of
from emulator.scenario.document import Document, read_toml, tidy
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.scenario.problems import Problem, ScenarioError


def load(path: str | Path) -> Scenario:
    """Read a scenario file; raise ScenarioError with all its problems."""
    return load_with(path, ())


def load_with(path: str | Path, overrides: Sequence[str]) -> Scenario:
    """Read a scenario file with some keys changed, each given as ``path=value``."""
    name = str(path)
    return loads(text_of(name), name, overrides, folder=Path(path).parent)


def loads(
    text: str, name: str = "scenario", overrides: Sequence[str] = (), *, folder: Path | None = None
) -> Scenario:
    """Read the text of a scenario; *name*: for errors; *folder*: base of relative paths."""
    document = tidy(read_toml(text, name), text)
    if overrides:
        from emulator.scenario.overrides import override  # noqa: PLC0415  most runs have none

        document = override(document, overrides, name)
    return scenario_of(document, ScenarioSource(name, folder))


def scenario_of(document: Document, source: ScenarioSource) -> Scenario:
    """Return the scenario that a tidy document describes."""
    try:
        scenario = Scenario.model_validate(document, context=source, by_alias=True, by_name=False)
    except ValidationError as error:
        from emulator.scenario.validation_errors import problems_in  # noqa: PLC0415  most files are right

        raise ScenarioError(source.name, problems_in(error, document)) from None
    check(scenario, source.name, source.folder)
    return scenario


def check(scenario: Scenario, name: str = "scenario", folder: Path | None = None) -> None:
    """Raise ScenarioError if the tables of a scenario contradict each other.

    A loaded scenario has been checked; one built in Python has not.
    """
    problems = problems_of(scenario, folder)
    if problems:
        raise ScenarioError(name, problems)


def text_of(name: str) -> str:
    """Return the text of a scenario file; raise ScenarioError if it cannot be read."""
    try:
        content = Path(name).read_bytes()
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError(name, [Problem("", reason)]) from None
    return decoded(content, name)


def decoded(content: bytes, name: str) -> str:
    """Return the bytes of a scenario file as text; raise ScenarioError if they are not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"not a text: byte {error.start} is no UTF-8"
        raise ScenarioError(name, [Problem("", reason)]) from None
