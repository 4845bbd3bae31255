"""``rebalance compare``: the same scenario and seeds under several settings or protocols."""

from __future__ import annotations

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


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare", short_help="Compare protocols or settings under the same seeds.")(
        compare
    )


def compare(
    scenario: ScenarioArgument,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="SETTING",
            help="A column: eager, cooperative, static, as-written, or 'name: path=value, …', "
            "where the names may stand too. Repeatable.",
        ),
    ] = None,
    seed: SeedOption = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")] = 1,
    jobs: JobsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Compare settings or protocols: the same scenario and seeds under each of them.

    Example: rebalance compare rolling-restart-eager --with eager --with cooperative --with static

    Example: rebalance compare member-crashes --seeds 20
    --with 'short session: group[billing].settings[session.timeout.ms]=10s'

    eager is the range assignor, cooperative is cooperative-sticky alone, static is eager with
    instance ids; without --with, these three. One column alone is compared with the scenario as
    it is written. Differences are to the first column, seed by seed.
    """
    from emulator.cli.compare_variants import choose_variants, compare_variants

    chosen = choose_variants(scenario, variants or (), overrides or (), yes=yes)
    compare_variants(chosen, seed, seeds, jobs, as_json=as_json)
