"""What a user asks of ``rebalance study``, and the plan that it comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.comparison import NAMED
from emulator.errors import RefusedError
from emulator.loading import ScenarioText, load_text, read_text
from emulator.scenario.estimate import MOST_EVENTS, estimate
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint, listed
from emulator.study.model import Study, load, path_of
from emulator.study.plan import Plan, make_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of the command."""

    name: str
    output: Path | None
    engine: str
    master: str | None
    seeds: int | None
    jobs: int | None
    yes: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """A study that can be played."""

    plan: Plan
    folder: Path
    """Where it is kept."""

    scenario_folder: Path
    """Where the scenario is; an assignor of the user's own may be beside it."""


def planned(request: Request) -> Planned:
    """Return what is to be played; raise ScenarioError or RefusedError if it cannot be."""
    if request.output is None:
        raise RefusedError("-o DIR is missing: a folder for the study's rows, such as -o my-study")
    path = path_of(request.name)
    study = _with_seeds(load(path), request)
    written = _scenario_of(study, path)
    base = load_text(written, study.set, allow_large=request.yes).scenario
    protocols = _protocols(study, base, str(path))

    def load_cell(overrides: Sequence[str]) -> Scenario:
        return load_text(written, overrides, allow_large=request.yes).scenario

    plan = make_plan(study, protocols, load_cell, str(path))
    if not request.yes:
        _refuse_large(plan)
    return Planned(plan, request.output, written.folder)


def _with_seeds(study: Study, request: Request) -> Study:
    """Take another number of seeds; then no rule asks for more of them."""
    if request.seeds is None:
        return study
    seeds = study.seeds.model_copy(update={"count": request.seeds, "most": None})
    return study.model_copy(update={"seeds": seeds, "until": ()})


def _scenario_of(study: Study, path: Path) -> ScenarioText:
    beside = path.parent / study.scenario
    return read_text(str(beside) if beside.is_file() else study.scenario)


def _protocols(study: Study, base: Scenario, source: str) -> Mapping[str, Sequence[str]]:
    found = {}
    for name in study.protocols:
        if name not in NAMED:
            near = hint(name, NAMED) or f"; there are {listed(NAMED)}"
            raise ScenarioError(source, [Problem("protocols", f"no protocol {name!r}{near}")])
        found[name] = NAMED[name](base)
    return found


def _refuse_large(plan: Plan) -> None:
    events = sum(estimate(cell.scenario).events for cell in plan.cells)
    most = plan.study.seeds.most or plan.study.seeds.count
    if events * most > MOST_EVENTS:
        raise RefusedError(
            f"{len(plan.cells) * most:,} runs with about {events * most:.1e} events in all; allowed "
            f"are {MOST_EVENTS:.0e}. Take fewer --seeds or values; --yes plays them all the same"
        )
