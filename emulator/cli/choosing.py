"""Which scenario a command is about: a file or a name of the catalogue, with ``--set`` applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from emulator.scenario.model import Scenario

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, or a name of the catalogue (rebalance scenarios).",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**64 - 1, help="Seed; by default the scenario's own."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a key, as in group[billing].settings[session.timeout.ms]=10s; repeatable.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Processes that share several runs; by default all cores."),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Run it even if it has more than a thousand million events.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scenario that may be run, and what it was called."""

    name: str
    scenario: Scenario
    path: Path


def choose(name: str, overrides: Sequence[str] | None, *, yes: bool = False) -> Chosen:
    """Load the scenario called *name*, with some keys changed.

    Raise ScenarioError if there is none, if it is not right, or if it expects something of a
    metric that does not exist; unless *yes*, also if it is too large to be meant.
    """
    from emulator.scenario.load import load_with  # noqa: PLC0415  --help needs none of these

    path = _path_of(name)
    scenario = load_with(path, tuple(overrides or ()))
    if scenario.expect:
        _refuse_unknown_metrics(scenario, path)
    if not yes:
        from emulator.scenario.estimate import refuse_large  # noqa: PLC0415

        refuse_large(scenario, str(path))
    return Chosen(name, scenario, path)


def _path_of(name: str) -> Path:
    path = Path(name)
    try:
        exists = path.exists()
    except (OSError, ValueError):
        exists = True  # what cannot even be looked up is told when it is read
    if exists or path.suffix or len(path.parts) != 1:
        return path
    from emulator.scenario import catalogue  # noqa: PLC0415
    from emulator.scenario.problems import Problem, ScenarioError, hint  # noqa: PLC0415

    known = catalogue.names()
    if name in known:
        return catalogue.path_of(name)
    near = hint(name, known) or "; rebalance scenarios lists what there is"
    reason = f"no such file, and no such scenario in the catalogue{near}"
    raise ScenarioError(name, [Problem("", reason)])


def _refuse_unknown_metrics(scenario: Scenario, path: Path) -> None:
    from emulator.measure.checks import is_expectable  # noqa: PLC0415
    from emulator.measure.metrics import unknown_metric  # noqa: PLC0415
    from emulator.scenario.problems import Problem, ScenarioError  # noqa: PLC0415

    problems = [
        Problem(f"expect[{name}]", unknown_metric(name))
        for name in scenario.expect
        if not is_expectable(name)
    ]
    if problems:
        raise ScenarioError(str(path), problems)
