"""``rebalance run``: play a scenario under one seed or many, and print the ledger and its causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from emulator.cli import run_screen
from emulator.cli.options import (
    MAX_SEEDS,
    AdviseOption,
    Examples,
    HtmlOption,
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)
from emulator.cli.output import say_json, say_notes, say_report
from emulator.cli.progress import Progress, announce, length_of
from emulator.cli.run_files import (
    EventsOption,
    Files,
    JunitOption,
    PerfettoOption,
    SequenceOption,
    WindowOption,
    WriteLogOption,
    check_junit,
    open_events,
    open_log,
    report_to_ci,
)
from emulator.errors import RefusedError, reason_of
from emulator.events import Event
from emulator.loading import LoadedScenario, load_named
from emulator.playing import Run
from emulator.playing import run as play
from emulator.report.group_state import Describer
from emulator.report.subject import FinishedRun
from emulator.report.timeline import Timeline
from emulator.scenario.resolution import contested_groups
from emulator.subjects import clock_of, finished_run

if TYPE_CHECKING:
    from emulator.sweeps import SeedRun, Sweep

EXPECTATION_FAILED = 1

SeedsOption = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=1, max=MAX_SEEDS, help="Play this many seeds; print the distribution."
    ),
]


class ModeName(StrEnum):
    """How the time between disturbances is computed."""

    FOLDED = "folded"
    EXACT = "exact"
    CHECK = "check"


ModeOption = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        help="folded: compute undisturbed members without events; exact: each poll and fetch is an "
        "event (slow); check: play both and compare the results.",
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
    (
        "what happened, in ui.perfetto.dev and as a sequence diagram",
        "rebalance run member-crashes --perfetto trace.json --sequence crash.mmd",
    ),
    ("a file with the expectations for CI", "rebalance run member-crashes --junit result.xml"),
    ("what helps, tried out", "rebalance run close-in-mid-batch --advise"),
    ("a page with a timeline", "rebalance run member-crashes --html crash.html"),
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
    perfetto: PerfettoOption = None,
    sequence: SequenceOption = None,
    window: WindowOption = None,
    html: HtmlOption = None,
    mode: ModeOption = ModeName.FOLDED,
    junit: JunitOption = None,
    advise: AdviseOption = None,
    yes: YesOption = False,
) -> None:
    """Play a scenario: what is reprocessed, what is lost, and why, message by message.

    --seeds N plays N seeds, from --seed on, and prints the distribution of the figures and the
    worst seed. --jobs does not change the result.

    --advise tries the first three changes that the hints recommend (docs/reference/advice.md), with values that
    follow from the scenario's numbers, under the same seeds: three to five, or those of --seeds. It
    prints reprocessed, lost, takeover and downtime before and after each, with the settings to
    paste. By default changes are tried on a terminal if about a second is enough.

    --json prints one line, one JSON object. Of one run: seed, digest, reprocessed, lost, truncated,
    partial, by_cause, rebalances, conclusive, why (it is not), verdicts, timeline (faults, acts and
    members removed: at_us, what, times, last_us), capacity (of each group and member; overload, if
    more arrives), hints (settings that would help), advice
    (the hints with their ids; changes with why, set, and trial with --advise), ledger,
    metrics, expectations, findings, folded (the share of the members' time that was computed
    without events; live: reasons and shares of the rest). With --seeds: seeds; worst_seed; runs, a
    list of the same for each seed, from seed to metrics, without the ledger; summary, with
    quantiles and their intervals; expectations over all seeds. Both: schema_version, kafka,
    scenario, scenario_hash, settings.

    A run is inconclusive if it ended before the consequences of its faults: while a rebalance or a
    session was running, a partition had no owner, or a fault had not fired. Expectations of what
    the end cut short are then inconclusive, too.

    --events writes every event during the run. The file appears when it is complete; it replaces
    an existing Parquet file, but no other file.

    --write-log writes a folder with the segments of each offsets partition of a group, as its
    leader has them at the end (__consumer_offsets-N/00000000000000000000.log, …), for rebalance
    log and for Kafka's own dump tool. DIR must be empty or not exist; it appears when it is
    complete.

    --junit writes one case for each expectation, and the printed report. On GitHub (GITHUB_ACTIONS is
    true), a failed expectation is also an annotation of the scenario file.

    --perfetto writes tracks of faults, phases, members, partitions, brokers and lag, with arrows from
    requests to responses and from a first processing to a duplicate. --sequence writes the messages
    and steps of a part of the run. Both play the run a second time, exactly (slow).

    --html writes one page that opens without a network: the answer, a timeline of owners, members,
    offsets and lag for each group, and each ledger entry with its sequence of events.

    --mode check plays each seed in folded and in exact mode and compares events, ledger, metrics,
    findings, offsets log and digest. It prints the first difference. With --json: mode, equal, and
    runs, a list with seed, digest, events, difference, folded for each seed.

    Exit status: 0 success; 1 an expectation of the scenario failed or is inconclusive, or the modes
    differ; 2 bad input.
    """
    files = Files(events, write_log, perfetto, sequence, window, html)
    if seeds is not None:
        files.refuse("--seeds plays many")
    if mode is ModeName.CHECK:
        files.refuse("--mode check plays two")
    if junit is not None:
        check_junit(junit)
    loaded = load_named(scenario, overrides or (), allow_large=yes, runs=seeds or 1)
    files.check(loaded.scenario)
    say_notes(loaded.notes)
    chosen = Chosen(seed, seeds, jobs, mode.value, junit, advise)
    if mode is ModeName.CHECK:
        from emulator.cli.run_modes import check

        ok = check(loaded, chosen.seed, seeds, jobs, as_json=as_json)
    elif seeds is None:
        ok = _run_one(loaded, chosen, files, as_json=as_json)
    else:
        ok = _run_seeds(loaded, chosen, seeds, as_json=as_json)
    if not ok:
        raise typer.Exit(EXPECTATION_FAILED)


class Chosen(NamedTuple):
    """The seeds to play, and how."""

    seed: int | None
    """The first seed; None: the scenario's own."""

    seeds: int | None
    """The number of seeds; None: one."""

    jobs: int | None
    mode: str
    junit: Path | None
    advise: bool | None
    """Whether changes are tried; None: cheap ones on a terminal."""


# -- one run ---------------------------------------------------------------------------------


def _run_one(loaded: LoadedScenario, chosen: Chosen, files: Files, *, as_json: bool) -> bool:
    """Play one seed and print it; return whether the scenario's expectations hold."""
    timeline, describer = Timeline(contested_groups(loaded.scenario)), Describer()
    page = files.open_page()
    opening = partial(run_screen.say_overload, loaded, chosen.seed, as_json=as_json)
    sinks = (timeline.feed, describer.feed, *([page.sink] if page else []))
    screen, finished = _play(loaded, chosen, files, sinks, opening)
    files.write_traces(loaded.scenario, finished.seed)
    groups = describer.groups
    report = finished_run(loaded, finished, timeline, groups)
    if not as_json:
        screen = run_screen.say_run(report, screen)
    report = _advised(loaded, report, [finished], None, chosen, as_json=as_json)
    if page is not None:
        page.write(loaded.scenario, report)
    if as_json:
        from emulator.report.run_document import run_document
        from emulator.scenario.writing import manifest

        say_json(run_document(manifest(loaded.scenario), report, clock_of(loaded.scenario)))
    report_to_ci(loaded, report.expectations, screen, chosen.junit)
    return finished.ok


def _advised(
    loaded: LoadedScenario,
    report: FinishedRun,
    known: Sequence[Run | SeedRun],
    seeds: Sequence[int] | None,
    chosen: Chosen,
    *,
    as_json: bool,
) -> FinishedRun:
    """Return the report with trials of its proposals if they are wanted, and print them."""
    says_why_not = chosen.advise and not as_json
    if chosen.advise is False or not (report.proposals or says_why_not):
        return report
    from emulator.cli.run_advice import advice_lines, with_trials

    advised = with_trials(
        loaded,
        report,
        known,
        seeds=seeds,
        advise=chosen.advise,
        jobs=chosen.jobs,
        as_json=as_json,
    )
    if not as_json:
        say_report(advice_lines(loaded, advised))
    return advised


def _play(
    loaded: LoadedScenario,
    chosen: Chosen,
    files: Files,
    sinks: Sequence[Callable[[Event], None]],
    opening: Callable[[], list[str]],
) -> tuple[list[str], Run]:
    """Play the run and write its files; return what *opening* printed before it, and the run.

    Raise RefusedError if a file cannot be written.
    """
    scenario, seed = loaded.scenario, chosen.seed
    try:
        with ExitStack() as stack:
            expected_s = announce(scenario)
            progress = stack.enter_context(Progress("simulated seconds", expected_s=expected_s))
            listeners: list[Callable[[Event], object]] = [*sinks]
            listeners.append(partial(progress.watch, length=length_of(scenario)))
            used = scenario.seed if seed is None else seed
            listeners += open_events(stack, files, scenario, used)
            log_files = open_log(stack, files)

            def emit(event: Event) -> None:
                for listen in listeners:
                    listen(event)

            return opening(), play(
                scenario,
                seed,
                keep_events=False,
                mode=chosen.mode,
                sink=emit,
                each_commit=files.events is not None,
                log_files=log_files,
            )
    except OSError as error:
        if not files.given():
            raise
        raise RefusedError(f"{files}: cannot be written: {reason_of(error)}") from None


# -- many seeds ------------------------------------------------------------------------------


def _run_seeds(loaded: LoadedScenario, chosen: Chosen, count: int, *, as_json: bool) -> bool:
    """Play the seeds and print the summary; return whether the expectations hold."""
    from emulator.report.screens.seeds import Tally
    from emulator.scenario.writing import manifest
    from emulator.sweeps import sweep

    screen = run_screen.say_overload_of_seeds(loaded, chosen.seed, count, as_json=as_json)
    expected_s = announce(loaded.scenario, count, chosen.jobs)
    with Progress("runs", expected_s=expected_s, total=count) as progress:
        swept = sweep(
            loaded.scenario,
            count,
            first=chosen.seed,
            jobs=chosen.jobs,
            progress=progress.show,
            folder=loaded.folder,
            mode=chosen.mode,
        )
    tally = Tally(
        seeds=swept.seeds,
        metrics=[run.metrics for run in swept.runs],
        causes=[run.by_cause for run in swept.runs],
        findings=[run.findings for run in swept.runs],
        expectations=swept.expectations,
        verdicts=[run.verdicts for run in swept.runs],
    )
    if not as_json:
        screen = run_screen.say_seeds(loaded, tally, screen)
    advice = _advice_over_seeds(loaded, swept, tally.worst_seed, chosen, as_json=as_json)
    if as_json:
        document = {**_document(swept, tally.worst_seed), **advice}
        say_json({**manifest(loaded.scenario), **document})
    report_to_ci(loaded, swept.expectations, screen, chosen.junit)
    return swept.ok


def _advice_over_seeds(
    loaded: LoadedScenario, swept: Sweep, worst_seed: int, chosen: Chosen, *, as_json: bool
) -> dict[str, object]:
    """Try the changes for the worst seed with all seeds, if asked for; return them for JSON."""
    if not chosen.advise:
        return {}
    from emulator.advising import reported
    from emulator.report.proposal_wording import advice_document

    _, report = reported(loaded, worst_seed)
    advised = _advised(loaded, report, swept.runs, swept.seeds, chosen, as_json=as_json)
    return {"advice": advice_document(advised)}


def _document(swept: Sweep, worst_seed: int) -> dict[str, object]:
    from emulator.report.run_document import conclusions

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
                **conclusions(run.verdicts),
                "metrics": run.metrics.plain_values(),
            }
            for run in swept.runs
        ],
        "summary": {name: asdict(summary) for name, summary in swept.summary().items()},
        "expectations": [asdict(expected) for expected in swept.expectations],
    }
