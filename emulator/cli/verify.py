"""``rebalance verify``: compare captured runs of a real Kafka with their emulation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import MAX_SEEDS, Examples, JobsOption, with_examples
from emulator.cli.output import say_json, say_report
from emulator.cli.progress import Progress

if TYPE_CHECKING:
    from emulator.conformance.verifying import OnProgress

SOMETHING_OUTSIDE = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "verify",
        short_help="Compare captured runs of a real Kafka with the emulator.",
        help=with_examples(verify, EXAMPLES),
    )(verify)


EXAMPLES: Examples = (
    ("the captured run that comes with the package", "rebalance verify"),
    ("one JSON line for each run", "rebalance verify --json"),
)


def verify(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CAPTURE...",
            help="A captured run, a folder of runs, or a folder of such folders; by default the "
            "run that comes with the package.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            min=0,
            max=MAX_SEEDS,
            help="Largest number of seeds played for figures that the deterministic prediction misses.",
        ),
    ] = 200,
    jobs: JobsOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line for each run.")
    ] = False,
) -> None:
    """Compare captured runs of a real Kafka with the emulator, figure by figure.

    A scenario is built from each captured run and played. The compared figures are generations,
    assignments, listener calls, duplicates, losses and takeover times; for KIP-848 groups also
    epochs, target assignments and the steps of members; after broker failures also the stalls of
    partitions and the response times of commits. A real value that differs from the deterministic
    prediction is inside if it lies within the range of many seeds; they are played until every figure
    is inside. One run is shown figure by
    figure, several in a table. Of a long list only the parts that differ are shown: "7 equal" are
    those before or after them; --json has all.

    --json prints one line for each run: capture, inside, seeds (the number that was played; 0 if
    the deterministic prediction was sufficient), and figures, each with name, real, emulated,
    allowed, inside. For a run that cannot be compared, inside is null, and skipped is the reason.

    Exit status: 0 every compared figure is inside; 1 some figure is outside; 2 bad input: then
    nothing is printed.
    """
    from emulator.conformance import verifying

    with _progress() as progress:
        result = verifying.verify(
            captures or [verifying.EXAMPLE], seeds, jobs=jobs, progress=progress
        )
    if as_json:
        for verdict in result.verdicts:
            say_json(verdict.as_json())
    else:
        say_report(result.lines())
    if not result.ok:
        raise typer.Exit(SOMETHING_OUTSIDE)


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """Show progress; a new subject begins from the start."""
    subject = ""

    def show(what: str, done: int, total: int) -> None:
        nonlocal subject
        if what != subject:
            progress.begin(what)
            subject = what
        progress.show(done, total)

    with Progress("reading captures") as progress:
        yield show
