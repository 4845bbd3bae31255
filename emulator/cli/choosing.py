"""Which scenario a command is about: a file, a name of the catalogue, or the input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.errors import RefusedError
from emulator.metrics.checks import is_expectable
from emulator.metrics.metrics import unknown_metric
from emulator.scenario import catalogue
from emulator.scenario.estimate import MOST_EVENTS, estimate, refuse_large
from emulator.scenario.load import decoded, loads, text_of
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint

STDIN = "-"
"""As the name of a scenario: it is read from the input."""

PIPED = "the input"
"""What that is called in errors."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scenario that may be run, and what it was called."""

    name: str
    overrides: tuple[str, ...]
    scenario: Scenario
    folder: Path
    """Where its file is; an assignor of the user's own may be beside it."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a scenario's file says, and where it is."""

    name: str
    """What the user called it."""

    source: str
    """What it is called in errors: a file's path."""

    text: str
    folder: Path


def choose(name: str, overrides: Sequence[str] = (), *, yes: bool = False, runs: int = 1) -> Chosen:
    """Load the scenario called *name*, with some keys changed.

    Raise ScenarioError if there is none, if it is not right, or if it expects something of a
    metric that does not exist; unless *yes*, also if so many *runs* of it are too large to be
    meant.
    """
    return choose_from(read(name), overrides, yes=yes, runs=runs)


def read(name: str) -> Text:
    """Read the scenario called *name*: a file, one of the catalogue, or ``-``, the input."""
    if name == STDIN:
        return Text(name, PIPED, decoded(sys.stdin.buffer.read(), PIPED), Path.cwd())
    path = _path_of(name)
    return Text(name, str(path), text_of(str(path)), path.parent.resolve())


def choose_from(
    written: Text, overrides: Sequence[str] = (), *, yes: bool = False, runs: int = 1
) -> Chosen:
    """Load a scenario that has been read; otherwise like :func:`choose`."""
    scenario = loads(written.text, written.source, overrides, folder=written.folder)
    _refuse_unknown_metrics(scenario, written.source)
    if not yes:
        refuse_large(scenario, written.source)
        _refuse_many(scenario, runs)
    return Chosen(written.name, tuple(overrides), scenario, written.folder)


def _refuse_many(scenario: Scenario, runs: int) -> None:
    events = estimate(scenario).events
    if events * runs > MOST_EVENTS:
        raise RefusedError(
            f"{runs:,} runs of about {events:.1e} events each; allowed are {MOST_EVENTS:.0e} in "
            "all. Take fewer --seeds; --yes runs them all the same"
        )


def _path_of(name: str) -> Path:
    """Return the file that is meant; what looks like a path is one, whether it exists or not."""
    path = Path(name)
    known = catalogue.names()
    if _exists(path) or path.suffix or len(path.parts) != 1:
        return path
    if name in known:
        return catalogue.path_of(name)
    near = hint(name, known) or "; rebalance scenarios lists what there is"
    reason = f"no such file, and no such scenario in the catalogue{near}"
    raise ScenarioError(name, [Problem("", reason)])


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return True  # what cannot even be looked up is refused when it is read


def _refuse_unknown_metrics(scenario: Scenario, source: str) -> None:
    problems = [
        Problem(f"expect[{name}]", unknown_metric(name))
        for name in scenario.expect
        if not is_expectable(name)
    ]
    if problems:
        raise ScenarioError(source, problems)
