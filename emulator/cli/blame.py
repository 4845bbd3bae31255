"""``rebalance blame``: search for the scenario that explains a real incident, from its logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.audit import ColumnsOption, TimeUnitOption
from emulator.cli.options import Examples, JsonOption, with_examples
from emulator.cli.output import say_json, say_report
from emulator.cli.progress import Progress, announce
from emulator.errors import RefusedError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("blame", help=with_examples(blame, EXAMPLES))(blame)


EXAMPLES: Examples = (
    (
        "what happened to a group, from what its consumers and the brokers wrote",
        """rebalance run client-librdkafka-crash --events events.parquet --write-log log
rebalance blame events.parquet log""",
    ),
    (
        "the best explanation as a scenario",
        "rebalance blame events.parquet log -o incident.toml; rebalance run incident.toml",
    ),
)

GroupOption = Annotated[
    str | None,
    typer.Option("--group", metavar="ID", help="The group; by default the only one of the log."),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Explain only what happened from this time on."),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Explain only what happened before it.")
]
SeedsOption = Annotated[
    int, typer.Option("--seeds", min=1, max=100, help="Runs of the best explanations.")
]
ScenarioOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE.toml", help="Write the best one as a scenario."),
]


def blame(
    processing: Annotated[
        list[Path],
        typer.Argument(
            metavar="PROCESSING_LOG... OFFSETS_LOG",
            help="What the consumers processed, as rebalance audit reads it; the last one: segments "
            "of __consumer_offsets, or a folder of them.",
        ),
    ],
    group: GroupOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    columns: ColumnsOption = None,
    unit: TimeUnitOption = None,
    seeds: SeedsOption = 2,
    output: ScenarioOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for the client, the commit policy and the fault that explain a real incident.

    Reads what consumers processed, and what the offsets log says of commits, members and
    generations. It finds where consumers stopped or restarted, plays clients with commit policies and
    faults or deploys at that time, and ranks them by how well duplicates, losses, commits, generations
    and stops agree. It names what does not fit, and what else would tell two explanations apart.

    Rates, work times, members and their settings are those of the logs. The time to explain is at
    most 30 minutes; it should begin some seconds before the incident.

    --json prints one line, one JSON object: group, onset_us, stops, seen, explanations (client,
    read_with, policy, alike: clients that fit about as well, happening, words, fit in percent,
    contradicted: figures that cannot be, figures: smallest, median, largest), figures.

    Exit status: 0 success; 2 bad input.
    """
    from emulator.blaming.incident import blame as explain_incident
    from emulator.logs.audit.request import column_names
    from emulator.logs.captured_run import refuse_captured_run
    from emulator.logs.imports.request import time_ms
    from emulator.output_files import put

    if len(processing) < 2:
        refuse_captured_run(processing[0])
        raise RefusedError("OFFSETS_LOG is missing: name the processing log, then the offsets log")
    begin_ms, end_ms = time_ms("from", begin), time_ms("to", end)
    with Progress("runs") as progress:
        explained = explain_incident(
            processing[:-1],
            processing[-1],
            group,
            begin_us=None if begin_ms is None else begin_ms * 1_000,
            end_us=None if end_ms is None else end_ms * 1_000,
            columns=column_names(columns or ()),
            unit=None if unit is None else unit.value,
            seeds=seeds,
            begin=lambda scenario, runs: progress.expect(announce(scenario, runs), runs),
            progress=progress.show,
        )
    if output is not None:
        put(output, explained.scenario().encode())
    if as_json:
        say_json(explained.as_dict())
    else:
        say_report(explained.screen())
