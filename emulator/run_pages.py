"""Pages of runs: play what their timelines and sequences need, and write the HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import emulator
from emulator.comparison import Comparison
from emulator.events import Event
from emulator.explanation import Explanation
from emulator.ledger.entries import Entry
from emulator.playing import run
from emulator.report.explain import explain
from emulator.report.merging import merged_entries
from emulator.report.pages.automation import add_automation
from emulator.report.pages.compare_page import VariantHistory, compare_page
from emulator.report.pages.explain_page import ExplainedEntry, explain_page
from emulator.report.pages.history import Historian, History
from emulator.report.pages.page import GENERATOR
from emulator.report.pages.run_page import RunContent, Sequences, run_page
from emulator.report.pages.thinning import largest
from emulator.report.subject import FinishedRun
from emulator.report.traces.sequence import window_of
from emulator.report.wording import file_width
from emulator.run_files import check_page, write_text
from emulator.scenario.model import Scenario
from emulator.scenario.units import format_moment
from emulator.subjects import columns_of
from emulator.versions import KAFKA

MAX_SEQUENCES: Final = 24
"""Entries of a page with every event that explains them; the others show the chain of evidence."""

MAX_EVENTS: Final = 400_000
"""Runs with more events are not played again for the sequences: they would be held in memory."""

VERSION: Final = f"{GENERATOR} {emulator.__version__}"


class RunPage:
    """The page of a run that is about to be played."""

    def __init__(self, path: Path) -> None:
        """Check that the page can be written; raise RefusedError if not."""
        check_page(path)
        self._path = path
        self._historian = Historian()

    @property
    def sink(self) -> Callable[[Event], None]:
        """Takes every event of the run."""
        return self._historian.feed

    def write(self, scenario: Scenario, finished: FinishedRun) -> None:
        """Write the page of the finished run."""
        history = self._historian.close()
        add_automation(history, finished.metrics)
        entries = finished.ledger.entries
        sequences = sequences_of(scenario, finished.seed, history, entries)
        content = RunContent(history=history, sequences=sequences, version=VERSION)
        write_text("--html", self._path, [run_page(finished, content)])


def write_compare_page(path: Path, compared: Comparison) -> None:
    """Write the page of a comparison; play each variant again with the first seed for its timeline."""
    runs = [_variant(variant.loaded.scenario, compared.seeds[0]) for variant in compared.variants]
    content = compare_page(compared.seeds, columns_of(compared), runs, VERSION)
    write_text("--html", path, [content])


def _variant(scenario: Scenario, seed: int) -> VariantHistory:
    historian = Historian()
    played = run(scenario, seed, keep_events=False, sink=historian.feed, each_commit=False)
    history = historian.close()
    add_automation(history, played.metrics)
    return VariantHistory(
        history=history,
        entries=played.ledger.entries,
        moment=lambda at_us: format_moment(at_us, scenario.start),
    )


@file_width()
def write_explain_page(path: Path, explained: Explanation) -> None:
    """Write the page of one entry."""
    played, entry = explained.run, explained.entry
    scenario, historian = played.scenario, Historian()
    for event in played.events:
        historian.feed(event)
    history = historian.close()
    add_automation(history, played.metrics)
    shown = ExplainedEntry(
        title=scenario.title,
        facts=f"seed {played.seed} | Apache Kafka {KAFKA} | {VERSION}",
        entry=entry,
        lines=explained.lines,
        history=history,
        window=_with_time_before(*window_of(played.events, [entry])),
        moment=lambda at_us: format_moment(at_us, scenario.start),
        screen=explained.screen(),
    )
    write_text("--html", path, [explain_page(shown)])


def _with_time_before(begin_us: int, end_us: int) -> tuple[int, int]:
    """Return a part of a run with as much before it as shows who owned the partitions at its beginning."""
    return max(begin_us - (end_us - begin_us) // 8, 0), end_us


def sequences_of(
    scenario: Scenario, seed: int, history: History, entries: Iterable[Entry]
) -> Sequences:
    """Play a run again and return the sequences of events of its largest entries."""
    merged, _ = largest(merged_entries(entries), MAX_SEQUENCES, lambda entry: entry.count)
    shown = [each.leading for each in merged]
    if not shown or history.events > MAX_EVENTS:
        return {}
    played = run(scenario, seed, polls=True)
    again = {entry.id: entry for entry in played.ledger.entries}
    return {entry.id: explain(again[entry.id], played.events) for entry in shown}
