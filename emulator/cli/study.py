"""``rebalance study``: one scenario under many settings and seeds; curves, sensitivities, trade-offs."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.options import (
    EngineName,
    Examples,
    JobsOption,
    JsonOption,
    MasterOption,
    YesOption,
    studies,
    with_examples,
)
from emulator.cli.output import say, say_json, say_report
from emulator.cli.progress import Progress
from emulator.errors import RefusedError

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        autocompletion=studies,
        help="A study file, or the name of a built-in study.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder for all rows and charts, or its URI, such as s3a://bucket/study, for Spark; "
        "needed to run a study.",
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="Processes (pool) or Spark; auto: processes, Spark if it has a master."
    ),
]
SeedsOption = Annotated[
    int | None,
    typer.Option("--seeds", min=1, help="Number of seeds per cell; overrides the study file."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "study",
        help=with_examples(study, EXAMPLES),
    )(study)


EXAMPLES: Examples = (
    ("list the built-in studies", "rebalance study"),
    (
        "duplicates and commit load by commit interval, over few seeds",
        "rebalance study f3-commit-interval --seeds 2 -o commit-interval",
    ),
)


def study(
    name: StudyArgument = None,
    output: OutputOption = None,
    engine: EngineOption = EngineName.AUTO,
    master: MasterOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Run a study: vary settings of one scenario, with the same seeds for every combination.

    Without STUDY, the built-in studies are listed; docs/how-to/studies.md describes study files. An
    interrupted study continues when the same command is given again. DIR gets runs, ledger entries
    and (if the study stores them) events as Parquet, the tables of the report as Parquet, the
    report as a page with charts (report.html), and manifest.json.

    --json prints one line, one JSON object: study, folder, engine, runs, failed, and the tables
    cells, answer, summary, differences, sensitivity, pareto.

    Exit status: 0 success; 1 some runs failed, each a row with its error; 2 bad input, or disk full.
    """
    if name is None:
        _list_studies()
        return
    from emulator.study.model import path_of

    path_of(name)
    if output is None:
        raise RefusedError("-o DIR is missing: a folder for the study's rows, such as -o my-study")
    from emulator.engines import EngineRequest
    from emulator.study.planning import plan_study
    from emulator.study.running import run_study

    with Progress("checking the scenario of every cell"):
        planned = plan_study(name, seeds=seeds, allow_large=yes)
    request = EngineRequest(engine.value, master, jobs)
    expected_s = _announce(planned.plan.work_s, jobs)
    with Progress("runs", expected_s=expected_s, total=planned.plan.runs) as progress:
        result = run_study(
            planned, output, engine=request, progress=progress.show, notify=progress.note
        )
    if as_json:
        say_json(result.as_json())
    else:
        say_report(result.lines())
    if not result.ok:
        raise typer.Exit(1)


def _announce(work_s: float, jobs: int | None) -> float:
    """Return the estimated time on this machine in seconds; print a warning if it is long."""
    from emulator.processes import cores
    from emulator.scenario.estimates.cost_text import approximately
    from emulator.scenario.estimates.cpu_time import LONG_S

    seconds = work_s / (jobs or cores())
    if seconds > LONG_S:
        typer.echo(
            f"This takes about {approximately(seconds)} on this machine. Less with fewer --seeds, "
            "fewer values or protocols in the study, a shorter run_for, or --engine spark with a "
            "--master of more cores",
            err=True,
        )
    return seconds


def _list_studies() -> None:
    """Print the built-in studies, each with its question."""
    from emulator.study.model import load, names, path_of

    for name in names():
        study = load(path_of(name))
        say(name, f"    {study.title}", *([f"    {study.question}"] if study.question else []))
