"""``rebalance run``: play a scenario under one seed or many, and print the ledger and its causes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from emulator.cli.output import Progress, say_all, say_json
from emulator.errors import RefusedError, reason_of
from emulator.events import Event
from emulator.loading import LoadedScenario, load_named
from emulator.playing import Run
from emulator.playing import run as play
from emulator.report.group_state import Describer
from emulator.report.subject import FinishedRun
from emulator.report.timeline import Timeline
from emulator.subjects import clock_of, subject_of

if TYPE_CHECKING:
    from emulator.logs.offsets_log.writing import LogFolder
    from emulator.sweeps import Sweep

EXPECTATION_FAILED = 1

SeedsOption = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=1, max=MOST_SEEDS, help="Play this many seeds; print the distribution."
    ),
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
        help="Write the offsets log into this folder, as segments of a broker.",
    ),
]

EXAMPLES: Examples = (
    ("a scenario of the catalogue", "rebalance run member-crashes"),
    (
        "the same with another setting",
        "rebalance run member-crashes --set 'group[billing].settings[session.timeout.ms]=10s'",
    ),
    ("the spread over 10 seeds", "rebalance run member-crashes --seeds 10"),
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
    app.command("run", help=with_examples(run, EXAMPLES))(run)


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
    """Play a scenario: what is reprocessed, what is lost, and why, message by message.

    --seeds N plays N seeds, from --seed on, and prints the distribution of the figures and the
    worst seed. --jobs does not change the result.

    --json prints one line, one JSON object. Of one run: seed, digest, reprocessed, lost, truncated,
    partial, by_cause, rebalances, timeline (faults, acts and members removed: at_us, what, times,
    last_us), hints (settings that would help), ledger, metrics, expectations, findings. With
    --seeds: seeds; worst_seed; runs, a list of the same for each seed, from seed to metrics,
    without the ledger; summary, with quantiles and their intervals; expectations over all seeds.
    Both: schema_version, kafka, scenario, scenario_hash, settings.

    --events writes every event during the run. The file appears when it is complete; it replaces
    an existing Parquet file, but no other file.

    --write-log writes a folder with the segments of each offsets partition of a group, as its
    leader has them at the end (__consumer_offsets-N/00000000000000000000.log, …), for rebalance
    log and for Kafka's own dump tool. DIR must be empty or not exist; it appears when it is
    complete.

    Exit status: 0 success; 1 an expectation of the scenario failed; 2 bad input.
    """
    files = Files(events, write_log)
    if seeds is not None:
        _refuse_files_of_many(files)
    loaded = load_named(scenario, overrides or (), allow_large=yes, runs=seeds or 1)
    if seeds is None:
        ok = _run_one(loaded, seed, files, as_json=as_json)
    else:
        ok = _run_seeds(loaded, seed, seeds, jobs, as_json=as_json)
    if not ok:
        raise typer.Exit(EXPECTATION_FAILED)


class Files(NamedTuple):
    """The files to write besides the printed output."""

    events: Path | None = None
    log: Path | None = None

    def __str__(self) -> str:
        return ", ".join(f"{option}: {path}" for option, path in self.given())

    def given(self) -> list[tuple[str, Path]]:
        """Return the options that were given, with their paths."""
        options = (("--events", self.events), ("--write-log", self.log))
        return [(option, path) for option, path in options if path is not None]


def _refuse_files_of_many(files: Files) -> None:
    for option, _ in files.given():
        raise typer.BadParameter(
            f"{option} writes one run, and --seeds plays many; use one of them"
        )


# -- one run ---------------------------------------------------------------------------------


def _run_one(loaded: LoadedScenario, seed: int | None, files: Files, *, as_json: bool) -> bool:
    """Play one seed and print it; return whether the scenario's expectations hold."""
    timeline, describer = Timeline(), Describer()
    finished = _play(loaded, seed, files, (timeline.feed, describer.feed))
    report = FinishedRun(
        subject=subject_of(loaded),
        seed=finished.seed,
        digest=finished.digest,
        ledger=finished.ledger,
        metrics=finished.metrics,
        findings=finished.findings,
        expectations=finished.expectations(),
        timeline=timeline,
        groups=describer.groups,
    )
    if as_json:
        from emulator.report.run_document import run_document
        from emulator.scenario.writing import manifest

        say_json(run_document(manifest(loaded.scenario), report, clock_of(loaded.scenario)))
    else:
        from emulator.report.run_screen import run_screen

        say_all(run_screen(report))
    return finished.ok


def _play(
    loaded: LoadedScenario,
    seed: int | None,
    files: Files,
    sinks: tuple[Callable[[Event], None], ...],
) -> Run:
    """Play the run and write its files; raise RefusedError if one cannot be written."""
    scenario = loaded.scenario
    try:
        with ExitStack() as stack:
            progress = stack.enter_context(Progress("simulated seconds"))
            listeners = [*sinks]
            if progress.seen:
                listeners.append(lambda event: progress.watch(event, scenario.run_for))
            if files.events is not None:
                from emulator.run_files import open_events

                used = scenario.seed if seed is None else seed
                opened = open_events(files.events, scenario, used)
                listeners.append(stack.enter_context(opened).write)
            log_files = None if files.log is None else stack.enter_context(_log_folder(files.log))

            def emit(event: Event) -> None:
                for listen in listeners:
                    listen(event)

            return play(scenario, seed, keep_events=False, sink=emit, log_files=log_files)
    except OSError as error:
        if not files.given():
            raise
        raise RefusedError(f"{files}: cannot be written: {reason_of(error)}") from None


def _log_folder(path: Path) -> LogFolder:
    """Open a folder for the offsets log; raise RefusedError if it cannot be written."""
    from emulator.logs.offsets_log.writing import LogFolder
    from emulator.run_files import log_folder_objection

    try:
        reason = log_folder_objection(path)
        if reason is None:
            return LogFolder(path)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"--write-log: {path}: cannot be written: {reason}")


# -- many seeds ------------------------------------------------------------------------------


def _run_seeds(
    loaded: LoadedScenario, first: int | None, count: int, jobs: int | None, *, as_json: bool
) -> bool:
    """Play the seeds and print the summary; return whether the expectations hold."""
    from emulator.report.seeds_screen import Tally, seeds_screen
    from emulator.scenario.writing import manifest
    from emulator.sweeps import sweep

    with Progress("runs") as progress:
        swept = sweep(
            loaded.scenario,
            count,
            first=first,
            jobs=jobs,
            progress=progress.show,
            folder=loaded.folder,
        )
    tally = Tally(
        seeds=swept.seeds,
        metrics=[run.metrics for run in swept.runs],
        causes=[run.by_cause for run in swept.runs],
        findings=[run.findings for run in swept.runs],
        expectations=swept.expectations,
    )
    if as_json:
        say_json({**manifest(loaded.scenario), **_document(swept, tally.worst_seed)})
    else:
        say_all(seeds_screen(subject_of(loaded), tally))
    return swept.ok


def _document(swept: Sweep, worst_seed: int) -> dict[str, object]:
    return {
        "seeds": list(swept.seeds),
        "worst_seed": worst_seed,
        "runs": [
            {
                "seed": run.seed,
                "digest": run.digest,
                "reprocessed": run.metrics["reprocessed"],
                "lost": run.metrics["lost"],
                "truncated": run.metrics["truncated"],
                "partial": run.metrics["partial"],
                "by_cause": run.by_cause,
                "rebalances": run.metrics["rebalances"],
                "metrics": dict(run.metrics.values),
            }
            for run in swept.runs
        ],
        "summary": {name: asdict(summary) for name, summary in swept.summary().items()},
        "expectations": [asdict(expected) for expected in swept.expectations],
    }
