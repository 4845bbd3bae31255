"""Play a run with every poll, record and message, and write it as a trace for other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.events.messages import MessageCarried
from emulator.playing import EXACT, Run, run
from emulator.report.traces.perfetto import lay_out
from emulator.report.traces.sequence import Window, diagram_of, mermaid, window_of
from emulator.report.traces.tracks import as_json
from emulator.run_files import refuse_text, write_text
from emulator.scenario.model import Scenario
from emulator.scenario.units import US_PER_S, format_duration, format_moment, parse_duration
from emulator.scenario.writing import manifest
from emulator.world.run import Replay

GENERATOR: Final = "rebalance-emulator"
"""Written near the beginning of each file, so that it may be replaced later."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that was played exactly, with its messages."""

    run: Run
    messages: tuple[MessageCarried, ...]
    """Requests and responses of the group protocol, and others that change something."""

    fetches: tuple[MessageCarried, ...]
    """Fetches and their responses."""

    def sequence(self, window: Window | None = None) -> Iterator[str]:
        """Yield the lines of a Mermaid diagram; *window*: by default that of the largest entry."""
        events, scenario = self.run.events, self.run.scenario
        shown = window or window_of(events, self.run.ledger.entries)
        diagram = diagram_of(events, self.messages, shown)
        title = f"{scenario.title}, seed {self.run.seed}"
        yield from mermaid(diagram, title, lambda at_us: format_moment(at_us, scenario.start))

    def perfetto(self) -> Iterator[str]:
        """Yield the trace as JSON that ui.perfetto.dev opens, in pieces."""
        tracks = lay_out(self.run.events, (*self.messages, *self.fetches), self.run.ledger.entries)
        head = {**manifest(self.run.scenario), "seed": self.run.seed}
        yield from as_json(tracks, {"generator": GENERATOR, **head})


def trace(scenario: Scenario, seed: int | None = None) -> Trace:
    """Play a scenario exactly: no period is computed by arithmetic, each record has its event.

    It gives the same control events and the same ledger as ``run``, takes longer, and holds every
    event in memory.
    """
    messages: list[MessageCarried] = []
    fetches: list[MessageCarried] = []
    replay = Replay(by_record=True, carried=messages.append, fetched=fetches.append)
    played = run(scenario, seed, polls=True, replay=replay, mode=EXACT)
    return Trace(played, tuple(messages), tuple(fetches))


def check_traces(
    scenario: Scenario, perfetto: Path | None, sequence: Path | None, window: str | None
) -> None:
    """Raise RefusedError if a trace cannot be written there, or the window is wrong or beyond the run."""
    mark = GENERATOR.encode()
    if perfetto is not None:
        refuse_text("--perfetto", perfetto, ".json", mark)
    if sequence is not None:
        refuse_text("--sequence", sequence, ".mmd", mark)
    if window is not None:
        begin_us, end_us = read_window(window)
        _within(window, begin_us if scenario.until_settled else end_us, scenario.run_for)


def _within(window: str, at_us: int, ends_us: int) -> None:
    """Raise RefusedError if a time in a window lies behind the end of the run."""
    if at_us > ends_us:
        ends = format_duration(ends_us)
        raise RefusedError(
            f"--window {window!r}: the run ends at {ends}; write FROM..TO up to {ends}"
        )


def write_traces(
    scenario: Scenario,
    seed: int,
    perfetto: Path | None,
    sequence: Path | None,
    window: str | None = None,
) -> None:
    """Play a run exactly, and write the traces whose paths are given; raise RefusedError."""
    traced = trace(scenario, seed)
    part = None if window is None else read_window(window)
    if window is not None and part is not None:
        _within(window, part.begin_us, round(traced.run.metrics["run_s"] * US_PER_S))
    if perfetto is not None:
        write_text("--perfetto", perfetto, traced.perfetto())
    if sequence is not None:
        lines = traced.sequence(part)
        write_text("--sequence", sequence, (f"{line}\n" for line in lines))


def read_window(text: str) -> Window:
    """Return a part of a run written as ``60s..75s``; raise RefusedError for anything else."""
    begin, dots, end = text.partition("..")
    try:
        window = Window(parse_duration(begin), parse_duration(end))
    except ValueError as error:
        raise RefusedError(f"--window {text!r}: {error}; write it as 60s..75s") from None
    if not dots or window.begin_us >= window.end_us:
        raise RefusedError(f"--window {text!r}: the end is not after the beginning; write 60s..75s")
    return window
