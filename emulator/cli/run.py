"""``rebalance run``: play a scenario and say what it cost, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.options import (
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
)

EXPECTATION_FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("run", short_help="Play a scenario: what is repeated, what is lost, and why.")(run)


def run(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Run so many seeds, and sum them up."),
    ] = None,
    jobs: JobsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    events: Annotated[
        Path | None,
        typer.Option("--events", metavar="FILE.parquet", help="Write every event to this file."),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Play a scenario: what is processed again, what is lost, and why, message by message.

    Example: rebalance run member-crashes --set 'group[billing].settings[session.timeout.ms]=10s'

    With --seeds 100: how the figures are spread over 100 seeds, and which seed is the worst.
    Exit status 1 if an expectation of the scenario fails.
    """
    from emulator.cli.choosing import choose

    if seeds is not None and events is not None:
        raise typer.BadParameter("--events is of one run, and --seeds of many; use one of them")
    chosen = choose(scenario, overrides or (), yes=yes)
    if seeds is None:
        from emulator.cli.run_one import run_one

        ok = run_one(chosen, seed, events, as_json=as_json)
    else:
        from emulator.cli.run_seeds import run_seeds

        ok = run_seeds(chosen, seed, seeds, jobs, as_json=as_json)
    if not ok:
        raise typer.Exit(EXPECTATION_FAILED)
