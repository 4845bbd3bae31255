"""The options of ``rebalance run`` that write files, and the writing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from emulator.cli.output import on_github, say_commands
from emulator.errors import RefusedError, reason_of
from emulator.loading import LoadedScenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from emulator.events import Event
    from emulator.logs.offsets_log.writing import LogFolder
    from emulator.metrics.checks import Expected
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
JunitOption = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE.xml", help="Write the expectations to this file, for CI servers."
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

    def check(self, scenario: Scenario) -> None:
        """Raise RefusedError if a trace cannot be written or its window is wrong."""
        if self.window is not None and self.sequence is None:
            raise typer.BadParameter("--window selects a part for --sequence FILE.mmd; add it")
        if self.perfetto is not None or self.sequence is not None:
            from emulator.tracing import check_traces

            check_traces(scenario, self.perfetto, self.sequence, self.window)

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
    from emulator.playing import shared_assignors
    from emulator.run_files import open_events as opened

    shared = shared_assignors(scenario)
    return [stack.enter_context(opened(files.events, scenario, seed, shared)).write]


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


def check_junit(file: Path) -> None:
    """Raise RefusedError if the file for CI servers must not or cannot be written there."""
    from emulator.run_files import refuse_text

    refuse_text("--junit", file, ".xml", b"<testsuites")


# -- CI -------------------------------------------------------------------------------------------


def report_to_ci(
    loaded: LoadedScenario,
    expectations: Sequence[Expected],
    screen: Sequence[str],
    file: Path | None,
) -> None:
    """Write the JUnit file, if there is one to write, and GitHub's annotations on GitHub.

    Raise RefusedError if the file cannot be written. *screen*: the printed report; empty if JSON was
    printed, annotations then go to stderr.
    """
    if file is None and not on_github():
        return
    from emulator.output_files import put
    from emulator.report.ci import Suite, github_commands, junit

    path = Path(loaded.name)
    suite = Suite(
        name=loaded.name,
        title=loaded.scenario.title,
        expectations=expectations,
        screen=screen,
        file=path if path.is_file() else None,
    )
    if file is not None:
        try:
            put(file, junit(suite))
        except OSError as error:
            raise RefusedError(f"--junit {file}: cannot be written: {reason_of(error)}") from None
    if on_github() and screen:
        say_commands(github_commands(suite))
    elif on_github():
        sys.stderr.writelines(f"{line}\n" for line in github_commands(suite))
