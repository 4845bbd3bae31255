"""``rebalance explain``: play the run again with all it has, and tell one entry's story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from emulator.cli.choosing import Chosen
from emulator.cli.describing import clock_of
from emulator.cli.output import say_all, say_json
from emulator.errors import RefusedError
from emulator.ledger.entries import Entry
from emulator.playing import Run, run
from emulator.report.described import DescribedGroup
from emulator.report.describer import describe
from emulator.report.entry_screen import entry_screen
from emulator.report.event_wording import term_of
from emulator.report.explain import explain
from emulator.report.group_screen import group_document, group_screen
from emulator.report.refrains import Line
from emulator.report.run_document import entry_document, timed
from emulator.scenario.manifest import manifest
from emulator.scenario.units import format_moment
from emulator.versions import KAFKA


def explain_entry(chosen: Chosen, name: str, seed: int | None, *, as_json: bool) -> None:
    """Print the story of the entry called *name*; raise RefusedError if there is none."""
    scenario = chosen.scenario
    finished = run(scenario, seed, polls=True)
    entry = _entry(finished, name)
    lines = explain(entry, finished.events)
    last = max((link.event for link in entry.chain), default=0)
    group = describe(entry.group, finished.events, last)
    if as_json:
        say_json(_document(chosen, finished, entry, lines, group))
        return
    title = f"{scenario.title} | seed {finished.seed} | Apache Kafka {KAFKA}"
    term = term_of(entry.group, finished.events)
    say_all(entry_screen(title, entry, lines, lambda at: format_moment(at, scenario.start), term))
    if group is not None:
        when = next(link.at_us for link in entry.chain if link.event == last)
        say_all(("", *group_screen(group, format_moment(when, scenario.start))))


def _entry(finished: Run, name: str) -> Entry:
    try:
        return finished.ledger.entry(name.upper())
    except KeyError as error:
        raise RefusedError(f"seed {finished.seed}: {error.args[0]}") from None


def _document(
    chosen: Chosen,
    finished: Run,
    entry: Entry,
    lines: Sequence[Line],
    group: DescribedGroup | None,
) -> dict[str, Any]:
    clock = clock_of(chosen.scenario)
    return {
        **manifest(chosen.scenario),
        "seed": finished.seed,
        "digest": finished.digest,
        "entry": entry_document(entry, clock),
        "lines": [
            {
                "event": line.event,
                **timed(line.at_us, clock),
                "text": line.text,
                "shown": line.shown,
                "began": None if line.began_us is None else timed(line.began_us, clock),
                "log": None if line.log is None else asdict(line.log),
            }
            for line in lines
        ],
        "described": None if group is None else group_document(group),
    }
