"""Which scenario a command is about: a file or a name of the catalogue, with ``--set`` applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.measure.checks import is_expectable
from emulator.measure.metrics import unknown_metric
from emulator.scenario import catalogue
from emulator.scenario.estimate import refuse_large
from emulator.scenario.load import load_with
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scenario that may be run, and what it was called."""

    name: str
    overrides: tuple[str, ...]
    scenario: Scenario
    folder: Path
    """Where its file is; an assignor of the user's own may be beside it."""


def choose(name: str, overrides: Sequence[str] = (), *, yes: bool = False) -> Chosen:
    """Load the scenario called *name*, with some keys changed.

    Raise ScenarioError if there is none, if it is not right, or if it expects something of a
    metric that does not exist; unless *yes*, also if it is too large to be meant.
    """
    path = _path_of(name)
    scenario = load_with(path, overrides)
    _refuse_unknown_metrics(scenario, path)
    if not yes:
        refuse_large(scenario, str(path))
    return Chosen(name, tuple(overrides), scenario, path.parent.resolve())


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


def _refuse_unknown_metrics(scenario: Scenario, path: Path) -> None:
    problems = [
        Problem(f"expect[{name}]", unknown_metric(name))
        for name in scenario.expect
        if not is_expectable(name)
    ]
    if problems:
        raise ScenarioError(str(path), problems)
