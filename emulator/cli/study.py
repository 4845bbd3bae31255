"""``rebalance study``: one scenario under many settings and seeds; curves, rankings, trade-offs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.options import (
    EngineName,
    Examples,
    JobsOption,
    JsonOption,
    MasterOption,
    YesOption,
    with_examples,
)

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        help="A study file, or a name of those that come along.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder for all rows and pictures."),
]
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Who plays the runs; auto: by their number.")
]
SeedsOption = Annotated[
    int | None,
    typer.Option("--seeds", min=1, help="Seeds of each cell, instead of the file's."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "study",
        help=with_examples(study, EXAMPLES),
    )(study)


EXAMPLES: Examples = (
    ("which studies there are to begin with", "rebalance study"),
    (
        "commit interval against repeats and commit load, over few seeds",
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
    """Play a study: vary settings of one scenario, every cell under the same seeds.

    Without STUDY, the studies that come along are listed. A study that was interrupted goes on
    where it was when the same command is given again. DIR gets runs, ledger entries and (if the
    study keeps them) events as Parquet, what they come to as Parquet and as a page with pictures
    (report.html), and manifest.json.

    --json prints one line, one JSON object: study, folder, engine, runs, failed, and the tables
    cells, answer, summary, differences, sensitivity, pareto.

    Exit status: 0 fine; 1 some runs failed, each a row with its error; 2 bad input, or no room.
    """
    from emulator.cli.study_playing import list_studies, play_study
    from emulator.cli.study_request import Request

    if name is None:
        list_studies()
        return
    request = Request(
        name=name,
        output=output,
        engine=engine.value,
        master=master,
        seeds=seeds,
        jobs=jobs,
        yes=yes,
    )
    if not play_study(request, as_json=as_json):
        raise typer.Exit(1)
