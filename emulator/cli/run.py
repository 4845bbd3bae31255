"""``rebalance run``: play a scenario and say what it cost, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.options import (
    MOST_SEEDS,
    Examples,
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)

EXPECTATION_FAILED = 1

SeedsOption = Annotated[
    int | None,
    typer.Option("--seeds", min=1, max=MOST_SEEDS, help="Run so many seeds, and sum them up."),
]
EventsOption = Annotated[
    Path | None,
    typer.Option("--events", metavar="FILE.parquet", help="Write every event to this file."),
]
WriteLogOption = Annotated[
    Path | None,
    typer.Option(
        "--write-log",
        metavar="DIR",
        help="Write the offsets log into this folder, as the segments a broker has.",
    ),
]

EXAMPLES: Examples = (
    ("a scenario of the catalogue", "rebalance run member-crashes"),
    (
        "the same with another setting",
        "rebalance run member-crashes --set 'group[billing].settings[session.timeout.ms]=10s'",
    ),
    ("how much it is a matter of luck", "rebalance run member-crashes --seeds 10"),
    (
        "a copy of your own",
        "rebalance scenarios copy member-crashes mine.toml; rebalance run mine.toml",
    ),
    (
        "every event of seed 7, for your own queries",
        "rebalance run member-crashes --seed 7 --events events.parquet",
    ),
    (
        "the bytes of its offsets log",
        "rebalance run member-crashes --write-log log; rebalance log log/* --table",
    ),
    ("a scenario from a pipe", "rebalance scenarios show quiet | rebalance run -"),
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "run",
        short_help="Play a scenario: what is repeated, what is lost, and why.",
        help=with_examples(run, EXAMPLES),
    )(run)


def run(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    events: EventsOption = None,
    write_log: WriteLogOption = None,
    yes: YesOption = False,
) -> None:
    """Play a scenario: what is processed again, what is lost, and why, message by message.

    With --seeds, how the figures are spread over so many seeds, from --seed on, and which seed
    is the worst; --jobs changes nothing but the time it takes.

    --json prints one line, one JSON object. Of one run: seed, digest, reprocessed, lost, truncated,
    partial, by_cause, rebalances, timeline (what was done and who fell out: at_us, what, times,
    last_us), hints (what would help), ledger, metrics, expectations, findings. With --seeds: seeds;
    worst_seed; runs, a list of the same for each seed, from seed to metrics, without the ledger;
    summary, with quantiles and their intervals; expectations over all seeds. Both:
    schema_version, kafka, scenario, scenario_hash, settings.

    --events writes every event as it happens, however long the run, to a file beside FILE that
    takes its name when all is written. A Parquet file of that name is replaced, nothing else is.

    --write-log writes a folder for each offsets partition that a group is on, as its leader has it
    at the end: __consumer_offsets-N/00000000000000000000.log and what follows, for rebalance log
    and for Kafka's own dump tool. DIR must not be there yet, or be empty; it is there when all is
    written.

    Exit status: 0 fine; 1 an expectation of the scenario failed; 2 bad input.
    """
    from emulator.cli.choosing import choose

    if seeds is not None:
        _refuse_files_of_many(events, write_log)
    chosen = choose(scenario, overrides or (), yes=yes, runs=seeds or 1)
    if seeds is None:
        from emulator.cli.run_one import Files, run_one

        ok = run_one(chosen, seed, Files(events, write_log), as_json=as_json)
    else:
        from emulator.cli.run_seeds import run_seeds

        ok = run_seeds(chosen, seed, seeds, jobs, as_json=as_json)
    if not ok:
        raise typer.Exit(EXPECTATION_FAILED)


def _refuse_files_of_many(events: Path | None, write_log: Path | None) -> None:
    for option, given in (("--events", events), ("--write-log", write_log)):
        if given is not None:
            raise typer.BadParameter(
                f"{option} is of one run, and --seeds of many; use one of them"
            )
