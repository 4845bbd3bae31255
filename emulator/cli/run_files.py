"""The options of ``rebalance run`` that write files, and the writing."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from emulator.errors import RefusedError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from emulator.events import Event
    from emulator.logs.offsets_log.writing import LogFolder
    from emulator.run_pages import RunPage
    from emulator.scenario.model import Scenario

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
PerfettoOption = Annotated[
    Path | None,
    typer.Option("--perfetto", metavar="FILE.json", help="Write a trace for ui.perfetto.dev."),
]
SequenceOption = Annotated[
    Path | None,
    typer.Option(
        "--sequence",
        metavar="FILE.mmd",
        help="Write a sequence diagram in the language of Mermaid.",
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="FROM..TO",
        help="The part of the run in --sequence, such as 60s..75s; by default that of the largest "
        "entry.",
    ),
]


class Files(NamedTuple):
    """The files to write besides the printed output."""

    events: Path | None = None
    log: Path | None = None
    perfetto: Path | None = None
    sequence: Path | None = None
    window: str | None = None
    html: Path | None = None

    def __str__(self) -> str:
        return ", ".join(f"{option}: {path}" for option, path in self.given())

    def given(self) -> list[tuple[str, Path]]:
        """Return the options that were given, with their paths."""
        options = (
            ("--events", self.events),
            ("--write-log", self.log),
            ("--perfetto", self.perfetto),
            ("--sequence", self.sequence),
            ("--html", self.html),
        )
        return [(option, path) for option, path in options if path is not None]

    def refuse(self, why: str) -> None:
        """Raise BadParameter if a file is to be written."""
        for option, _ in self.given():
            raise typer.BadParameter(f"{option} writes one run, and {why}; use one of them")

    def check(self) -> None:
        """Raise RefusedError if a trace cannot be written or its window is wrong."""
        if self.window is not None and self.sequence is None:
            raise typer.BadParameter("--window selects a part for --sequence FILE.mmd; add it")
        if self.perfetto is not None or self.sequence is not None:
            from emulator.tracing import check_traces

            check_traces(self.perfetto, self.sequence, self.window)

    def open_page(self) -> RunPage | None:
        """Return the page of the run that follows, if one is to be written; raise RefusedError."""
        if self.html is None:
            return None
        from emulator.run_pages import RunPage

        return RunPage(self.html)

    def write_traces(self, scenario: Scenario, seed: int) -> None:
        """Play the run again, exactly, and write its traces, if there are any to write."""
        if self.perfetto is not None or self.sequence is not None:
            from emulator.tracing import write_traces

            write_traces(scenario, seed, self.perfetto, self.sequence, self.window)


def open_events(
    stack: ExitStack, files: Files, scenario: Scenario, seed: int
) -> list[Callable[[Event], None]]:
    """Open the file of events, if one is to be written; return what takes the events."""
    if files.events is None:
        return []
    from emulator.run_files import open_events as opened

    return [stack.enter_context(opened(files.events, scenario, seed)).write]


def open_log(stack: ExitStack, files: Files) -> LogFolder | None:
    """Open the folder for the offsets log, if there is one; raise RefusedError if that fails."""
    path = files.log
    if path is None:
        return None
    from emulator.logs.offsets_log.writing import LogFolder
    from emulator.run_files import log_folder_objection

    try:
        reason = log_folder_objection(path)
        if reason is None:
            return stack.enter_context(LogFolder(path))
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"--write-log: {path}: cannot be written: {reason}")
