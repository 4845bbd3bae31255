"""``rebalance verify``: captured runs of a real Kafka, side by side with their emulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.options import MOST_SEEDS, Examples, JobsOption, with_examples

SOMETHING_OUTSIDE = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "verify",
        help=with_examples(verify, EXAMPLES),
    )(verify)


EXAMPLES: Examples = (
    ("one run, or a folder of runs, or one of such folders", "rebalance verify examples/captures"),
    ("for machines, a line a run", "rebalance verify examples/captures --json"),
)


def verify(
    captures: Annotated[
        list[Path],
        typer.Argument(
            metavar="CAPTURE...", help="A captured run, a folder of runs, or one of such folders."
        ),
    ],
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            min=0,
            max=MOST_SEEDS,
            help="How many seeds show the spread where it was a race.",
        ),
    ] = 200,
    jobs: JobsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a run.")] = False,
) -> None:
    """Hold captured runs of a real Kafka against the emulator, figure by figure.

    From each captured run a scenario is built and played; generations, assignments, listener
    calls, duplicates, losses and takeover times are put side by side; of the consumer protocol
    the group's epochs, targets and members' steps, too; where brokers failed, how long
    partitions stood still and commits waited for their answers. What the calm
    prediction misses is inside all the same if it lies within the spread of many seeds. One run
    is shown figure by figure; several are summed up in one table.

    --json prints a line a run: capture, inside, seeds (by how many it was judged; 0: the calm
    prediction was enough), and figures, each with name, real, emulated, allowed, inside. Of a
    run that cannot be compared, inside is null, and skipped says why.

    Exit status: 0 all that can be compared is inside; 1 something is outside; 2 bad input: then
    nothing is printed.
    """
    from emulator.cli.verify_runs import verify_runs

    if not verify_runs(captures, seeds, jobs, as_json=as_json):
        raise typer.Exit(SOMETHING_OUTSIDE)
