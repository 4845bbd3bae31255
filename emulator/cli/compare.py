"""``rebalance compare``: the same scenario and seeds under several settings or protocols."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.cli.choosing import (
    Chosen,
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    choose,
)

if TYPE_CHECKING:
    from emulator.cli.variants import Variant
    from emulator.report.comparison_screen import Column


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare")(compare)


def compare(
    scenario: ScenarioArgument,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="A column: eager, cooperative, static, 'as written', or "
            "'name: path=value, …' (each may also be one of the names). Repeatable.",
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
    --with 'short: group[billing].settings[session.timeout.ms]=10s'

    eager is the range assignor, cooperative is cooperative-sticky alone, static is eager with
    instance ids; left out: these three. A column alone is compared with the scenario as written.
    Differences are to the first column, seed by seed.
    """
    from emulator.cli.seeds import seeds_from  # noqa: PLC0415  --help needs none of these
    from emulator.cli.variants import read_variants  # noqa: PLC0415
    from emulator.report.comparison_screen import comparison_screen  # noqa: PLC0415

    base = choose(scenario, overrides, yes=yes)
    chosen = {
        variant: choose(scenario, [*(overrides or []), *variant.overrides], yes=yes)
        for variant in read_variants(variants or [], base.scenario)
    }
    used = seeds_from(base.scenario, seed, seeds)
    columns = _play(chosen, used, jobs, overrides or [])
    if as_json:
        print(json.dumps(_document(chosen, used, columns), ensure_ascii=False))
    else:
        print(*comparison_screen(used, columns), sep="\n")


def _play(
    chosen: dict[Variant, Chosen], seeds: Sequence[int], jobs: int | None, overrides: Sequence[str]
) -> list[Column]:
    """Play all seeds of all variants and return them as columns."""
    from emulator.cli.describing import subject_of  # noqa: PLC0415
    from emulator.cli.seeds import Task, play_all  # noqa: PLC0415
    from emulator.measure import check_expectations  # noqa: PLC0415
    from emulator.playing import bounds_of  # noqa: PLC0415
    from emulator.report.comparison_screen import Column  # noqa: PLC0415

    tasks = [Task(each.scenario, seed) for each in chosen.values() for seed in seeds]
    runs = play_all(tasks, jobs)
    columns = []
    for variant, each in chosen.items():
        mine = [next(runs) for _ in seeds]
        metrics = [run.metrics for run in mine]
        column = Column(
            name=variant.name,
            subject=subject_of(each.name, each.scenario, [*overrides, *variant.overrides]),
            metrics=metrics,
            causes=[run.by_cause for run in mine],
            expectations=check_expectations(bounds_of(each.scenario), metrics),
        )
        columns.append(column)
    return columns


def _document(
    chosen: dict[Variant, Chosen], seeds: Sequence[int], columns: Sequence[Column]
) -> dict[str, Any]:
    from emulator.measure import compare as pair  # noqa: PLC0415
    from emulator.measure import summarise  # noqa: PLC0415
    from emulator.measure.catalogue import VALUES  # noqa: PLC0415
    from emulator.scenario.manifest import manifest  # noqa: PLC0415

    base = columns[0].metrics
    variants = []
    for (variant, each), column in zip(chosen.items(), columns, strict=True):
        by_name = {metric.name: [run[metric.name] for run in column.metrics] for metric in VALUES}
        variants.append(
            {
                "name": variant.name,
                "set": list(variant.overrides),
                **manifest(each.scenario),
                "values": by_name,
                "by_cause": [dict(causes) for causes in column.causes],
                "summary": {name: asdict(summarise(values)) for name, values in by_name.items()},
                "differences": {
                    name: asdict(pair([run[name] for run in base], values))
                    for name, values in by_name.items()
                },
                "expectations": [asdict(expected) for expected in column.expectations],
            }
        )
    head = manifest(next(iter(chosen.values())).scenario)
    return {
        "schema_version": head["schema_version"],
        "kafka": head["kafka"],
        "scenario": head["scenario"],
        "seeds": list(seeds),
        "variants": variants,
    }
