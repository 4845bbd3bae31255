"""``rebalance run``: play a scenario and say what it cost, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from emulator.playing import Run
    from emulator.report.chronicle import Chronicle

EXPECTATION_FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("run")(run)


def run(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Run so many seeds, and sum them up."),
    ] = None,
    jobs: JobsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    events: Annotated[
        Path | None,
        typer.Option("--events", metavar="FILE.parquet", help="Write every event to this file."),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Play a scenario: what is processed again, what is lost, and why, message by message.

    Example: rebalance run member-crashes --set 'group[billing].settings[session.timeout.ms]=10s'

    With --seeds 100: how the figures are spread over 100 seeds, and which seed is the worst.
    Exit status 1 if an expectation of the scenario fails.
    """
    chosen = choose(scenario, overrides, yes=yes)
    if seeds is not None:
        from emulator.cli.run_seeds import run_seeds  # noqa: PLC0415  most runs are of one seed

        _refuse_events(events)
        ok = run_seeds(chosen, overrides or [], seed, seeds, jobs, as_json=as_json)
    else:
        ok = _run_one(chosen, overrides or [], seed, events, as_json=as_json)
    if not ok:
        raise typer.Exit(EXPECTATION_FAILED)


def _refuse_events(events: Path | None) -> None:
    if events is not None:
        raise typer.BadParameter("--events is of one run; leave --seeds away, or name one --seed")


def _run_one(
    chosen: Chosen, overrides: list[str], seed: int | None, events: Path | None, *, as_json: bool
) -> bool:
    """Play one seed and print it; return whether the scenario's expectations hold."""
    from emulator.report.chronicle import Chronicle  # noqa: PLC0415  --help needs none of it

    chronicle = Chronicle()
    finished = _play(chosen, seed, events, chronicle)
    if as_json:
        print(json.dumps(_document(chosen, finished), ensure_ascii=False))
    else:
        print(*_screen(chosen, overrides, finished, chronicle), sep="\n")
    return finished.ok


def _play(chosen: Chosen, seed: int | None, events: Path | None, chronicle: Chronicle) -> Run:
    from emulator.cli.progress import Progress  # noqa: PLC0415
    from emulator.events import Event  # noqa: PLC0415
    from emulator.playing import run as play  # noqa: PLC0415

    scenario = chosen.scenario
    with ExitStack() as stack:
        progress = stack.enter_context(Progress("simulated seconds"))
        sinks = [chronicle.hear]
        if progress.seen:
            sinks.append(lambda event: progress.watch(event, scenario.run_for))
        if events is not None:
            from emulator.cli.events_file import open_events  # noqa: PLC0415

            used = scenario.seed if seed is None else seed
            sinks.append(stack.enter_context(open_events(events, scenario, used)).write)

        def sink(event: Event) -> None:
            for each in sinks:
                each(event)

        return play(scenario, seed, keep_events=False, sink=sink)


def _document(chosen: Chosen, finished: Run) -> dict[str, object]:
    from emulator.cli.describing import clock_of  # noqa: PLC0415
    from emulator.report.run_document import run_document  # noqa: PLC0415
    from emulator.scenario.manifest import manifest  # noqa: PLC0415

    return run_document(
        manifest(chosen.scenario),
        clock_of(chosen.scenario),
        seed=finished.seed,
        digest=finished.digest,
        ledger=finished.ledger,
        metrics=finished.metrics,
        findings=finished.findings,
        expectations=finished.expectations(),
    )


def _screen(
    chosen: Chosen, overrides: list[str], finished: Run, chronicle: Chronicle
) -> Iterator[str]:
    from emulator.cli.describing import subject_of  # noqa: PLC0415
    from emulator.report.run_screen import Told, run_screen  # noqa: PLC0415

    told = Told(
        subject=subject_of(chosen.name, chosen.scenario, overrides),
        seed=finished.seed,
        digest=finished.digest,
        ledger=finished.ledger,
        metrics=finished.metrics,
        findings=finished.findings,
        expectations=finished.expectations(),
        chronicle=chronicle,
    )
    return run_screen(told)
