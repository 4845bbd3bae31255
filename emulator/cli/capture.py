"""``rebalance capture``: run experiments on a real Kafka and write what happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import Examples, with_examples
from emulator.cli.output import say
from emulator.errors import RefusedError
from emulator.versions import KAFKA

if TYPE_CHECKING:
    from emulator.capturing.live import Made

RUN_FAILED = 1
MAX_RUNS = 1_000
MAX_JOBS = 64

EXAMPLES: Examples = (
    ("two runs of an experiment", "rebalance capture member-crashes --runs 2 -o captures"),
    ("compare them with the emulator", "rebalance verify captures"),
    ("play the same scenario", "rebalance run member-crashes"),
    ("a file of your own, to change and capture", "rebalance scenarios copy member-crashes"),
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "capture",
        short_help="Run experiments on a real Kafka, and write what happened.",
        help=with_examples(capture, EXAMPLES),
    )(capture)


def capture(
    experiments: Annotated[
        list[str],
        typer.Argument(
            metavar="EXPERIMENT...",
            help="Scenario files, or names of the catalogue; - cannot be given.",
        ),
    ],
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for the runs.")
    ],
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=MAX_RUNS, help="Runs of each experiment.")
    ] = 1,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", min=1, max=MAX_JOBS, help="Runs at a time, each on a cluster of its own."
        ),
    ] = 1,
    redo_noisy: Annotated[
        bool, typer.Option("--redo-noisy", help="Make runs again that the machine disturbed.")
    ] = False,
    kafka_version: Annotated[
        str, typer.Option("--kafka-version", help="Version of Kafka's published jars.")
    ] = KAFKA,
) -> None:
    """Run experiments on a real Kafka, and write what happened.

    An experiment is a scenario: rebalance run plays the same one. A KRaft cluster (one
    controller, and the brokers of the file) is started on the loopback interface from Kafka's
    published jars, which Maven resolves; members are processes of their own. Each run becomes the
    folder DIR/EXPERIMENT/run-NUMBER, which rebalance verify compares with the emulator. The number
    is the seed of the times given with between. Runs that exist already are skipped,
    but not those that turned out unusable.

    Needs a JDK of version 17 or newer, Apache Maven, the extra rebalance-emulator[capture], and
    about 2.5 GB of memory for each of the --jobs. All processes and temporary files are removed at the end, also after
    Ctrl-C. A run is marked as noisy if other work on the machine disturbed it.

    Exit status: 0 all runs are complete; 1 some run is not usable; 2 bad input, or the machine
    lacks something: then nothing is printed.
    """
    from emulator.capturing.capturing import capture as make
    from emulator.capturing.experiment import plan_of
    from emulator.loading import path_of

    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"--output {folder}: a file; name a folder for the runs")
    plans = [plan_of(path_of(name)) for name in experiments]
    failed = False
    captured = make(
        plans,
        folder,
        runs=runs,
        jobs=jobs,
        kafka=kafka_version,
        redo_noisy=redo_noisy,
        say=_progress,
    )
    for made in captured:
        say(_line(made))
        failed = failed or made.error is not None
    if failed:
        raise typer.Exit(RUN_FAILED)


def _progress(what: str) -> None:
    typer.echo(what, err=True)


def _line(made: Made) -> str:
    if made.error is not None:
        return f"{made.path}: not usable: {made.error}"
    return f"{made.path}: {'noisy' if made.noisy else 'quiet'}"
