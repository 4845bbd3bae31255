"""``rebalance run``: one run, told on one screen or as one JSON document."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from emulator.cli.choosing import Chosen
from emulator.cli.describing import clock_of, subject_of
from emulator.cli.output import Progress, say_all, say_json
from emulator.errors import RefusedError, reason_of
from emulator.events import Event
from emulator.playing import Run, run
from emulator.report.chronicle import Chronicle
from emulator.report.describer import Describer
from emulator.report.told import Told
from emulator.scenario.manifest import manifest

Listener = Callable[[Event], None]
"""Is told each event as it happens."""


class Files(NamedTuple):
    """What is written besides what is printed, if it is wanted."""

    events: Path | None = None
    """A Parquet file of all events."""

    log: Path | None = None
    """A folder for the segments of the offsets log."""

    def __str__(self) -> str:
        given = (("--events", self.events), ("--write-log", self.log))
        return ", ".join(f"{option}: {path}" for option, path in given if path is not None)


def run_one(chosen: Chosen, seed: int | None, files: Files, *, as_json: bool) -> bool:
    """Play one seed and print it; return whether the scenario's expectations hold."""
    chronicle, describer = Chronicle(), Describer()
    finished = _play(chosen, seed, files, (chronicle.hear, describer.hear))
    told = Told(
        subject=subject_of(chosen),
        seed=finished.seed,
        digest=finished.digest,
        ledger=finished.ledger,
        metrics=finished.metrics,
        findings=finished.findings,
        expectations=finished.expectations(),
        chronicle=chronicle,
        groups=describer.groups,
    )
    if as_json:
        from emulator.report.run_document import run_document

        document = run_document(manifest(chosen.scenario), told, clock_of(chosen.scenario))
        say_json(document)
    else:
        from emulator.report.run_screen import run_screen

        say_all(run_screen(told))
    return finished.ok


def _play(chosen: Chosen, seed: int | None, files: Files, sinks: tuple[Listener, ...]) -> Run:
    """Play the run; nothing of it is kept but what is counted, told, or written to a file."""
    try:
        return _told(chosen, seed, files, sinks)
    except OSError as error:
        if not any(files):
            raise
        raise RefusedError(f"{files}: cannot be written: {reason_of(error)}") from None


def _told(chosen: Chosen, seed: int | None, files: Files, sinks: tuple[Listener, ...]) -> Run:
    """Play the run and tell each event to all who want to hear of it."""
    scenario = chosen.scenario
    with ExitStack() as stack:
        progress = stack.enter_context(Progress("simulated seconds"))
        listeners = [*sinks]
        if progress.seen:
            listeners.append(lambda event: progress.watch(event, scenario.run_for))
        if files.events is not None:
            from emulator.cli.events_file import open_events

            used = scenario.seed if seed is None else seed
            listeners.append(stack.enter_context(open_events(files.events, scenario, used)).write)
        log_files = None
        if files.log is not None:
            from emulator.cli.log_folder import open_log_folder

            log_files = stack.enter_context(open_log_folder(files.log))

        def tell(event: Event) -> None:
            for listen in listeners:
                listen(event)

        return run(scenario, seed, keep_events=False, sink=tell, log_files=log_files)
