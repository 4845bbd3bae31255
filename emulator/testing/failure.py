"""What is printed and kept when a test fails: causes, one sequence, the seed, commands, a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from assignors.values import dataclass
from emulator.events import Event
from emulator.explanation import explain
from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.loading import LoadedScenario
from emulator.playing import run
from emulator.report.group_state import Describer
from emulator.report.screens.run import run_screen
from emulator.report.screens.verdict import first_lines
from emulator.report.timeline import Timeline
from emulator.report.wording import counted, file_width
from emulator.run_pages import RunPage
from emulator.scenario.model import Scenario
from emulator.scenario.toml import to_toml
from emulator.subjects import finished_run
from emulator.testing.figures import Claim
from emulator.testing.fixture import shown
from emulator.testing.playing import PlayedSeed, play_seeds
from emulator.testing.results import Results
from emulator.verdicts.verdict import Verdict

MAX_LINES = 40
"""Of a sequence on the screen; the file has all."""

LONGEST_NAME = 80
"""Of a folder, in characters."""

IN_ORDER = (EntryKind.LOST, EntryKind.REPROCESSED, EntryKind.TRUNCATED, EntryKind.PARTIAL)
"""The kinds of entries, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """Where the files of a failed test go, and how long a smaller scenario is searched for."""

    folder: Path
    """One folder for each failed test is made here."""

    cwd: Path
    """The folder in which pytest was started: paths are shown relative to it."""

    tests: Path
    """The folder of the test, which may hold the user's own assignors."""

    shrink_s: float
    """0: no smaller scenario is searched for."""

    is_stated: bool = False
    """Whether the test states by itself which comparisons failed: they are not printed again."""


def failure_lines(name: str, played: Sequence[Results], reporting: Reporting) -> Iterator[str]:
    """Write the files of a failed test, and yield the lines to print.

    *name*: of the test. *played*: what the test has played; shown are those whose comparisons
    failed or, if none failed, the last one.
    """
    failed = [results for results in played if results.claims] or list(played[-1:])
    for number, results in enumerate(failed, 1):
        folder = reporting.folder / _folder_name(name if len(failed) == 1 else f"{name}-{number}")
        yield from _one(results, _made(folder), reporting)


def _one(results: Results, folder: Path, reporting: Reporting) -> Iterator[str]:
    played = worst_run(results)
    scenario_file = folder / "scenario.toml"
    scenario_file.write_text(to_toml(results.scenario), encoding="utf-8")
    _write_run(results, played, folder)
    yield f"{results.scenario.title}, {results.named_seeds}"
    if not reporting.is_stated:
        yield from dict.fromkeys(f"  {claim.message}" for claim in results.claims)
    yield ""
    yield from first_lines(_unsaid(results, played, reporting))
    yield from _causes(played)
    entry = worst_entry(played.ledger)
    if entry is not None:
        yield from _sequence(results.scenario, played.seed, entry, folder)
    name = results.replay or quote(shown(scenario_file, reporting.cwd))
    yield ""
    yield f"replay:  rebalance run {name} --seed {played.seed}"
    if entry is not None:
        explained = _explained(name, entry.id)
        yield f"         rebalance explain {explained} --seed {played.seed}"
    yield f"kept in: {shown(folder, reporting.cwd)}"
    if results.claims and reporting.shrink_s > 0:
        yield from _smallest(results, results.claims[-1], played.seed, folder, reporting)


def _unsaid(results: Results, played: PlayedSeed, reporting: Reporting) -> tuple[Verdict, ...]:
    """Return the verdicts of a run without the reasons that the test itself has stated."""
    said = {each.why for each in results.expectations} if reporting.is_stated else set()
    return tuple(
        each
        for each in played.verdicts
        if each.problem or (each.inconclusive and each.sentence not in said)
    )


def _explained(name: str, entry: str) -> str:
    """Return the arguments of ``rebalance explain``: the entry stands after the scenario."""
    scenario, dashes, options = name.partition(" --set ")
    return f"{scenario} {entry}{dashes}{options}"


def worst_run(results: Results) -> PlayedSeed:
    """Return the run farthest outside the last comparison that failed.

    Without one, or among equals: the run with the most lost, then reprocessed records.
    """
    claims = results.claims[-1:]
    return max(
        results.runs,
        key=lambda played: (
            sum(claim.excess(played) for claim in claims),
            played.ledger.lost,
            played.ledger.reprocessed,
        ),
    )


def worst_entry(ledger: Ledger) -> Entry | None:
    """Return the largest entry of the worst kind that the ledger has; None: it is empty."""
    for kind in IN_ORDER:
        entries = list(ledger.of(kind))
        if entries:
            return max(entries, key=lambda entry: entry.count)
    return None


def _causes(played: PlayedSeed) -> Iterator[str]:
    """Yield the table of causes of one run."""
    ledger = played.ledger
    yield f"seed {played.seed}: {counted(ledger.reprocessed, 'record')} reprocessed, {ledger.lost:,} lost"
    for kind in IN_ORDER[:3]:
        for cause, count in ledger.by_cause(kind).items():
            yield f"{count:>9,}  {kind.value}: {cause}"


def _sequence(scenario: Scenario, seed: int, entry: Entry, folder: Path) -> Iterator[str]:
    """Yield the events that led to an entry, and write them to a file."""
    lines = explain(scenario, entry.id, seed).screen()[2:]
    (folder / f"{entry.id}.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    yield ""
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"  … and {len(lines) - MAX_LINES} more lines in {entry.id}.txt"


@file_width()
def _write_run(results: Results, played: PlayedSeed, folder: Path) -> None:
    """Write what ``rebalance run`` prints for one run, and its page."""
    timeline, describer, page = Timeline(), Describer(), RunPage(folder / "run.html")

    def feed(event: Event) -> None:
        timeline.feed(event)
        describer.feed(event)
        page.sink(event)

    scenario = results.scenario
    finished = run(scenario, played.seed, keep_events=False, sink=feed, each_commit=False)
    name = results.replay.partition(" --set ")[0] or "scenario.toml"
    loaded = LoadedScenario(name, (), scenario, Path())
    report = finished_run(loaded, finished, timeline, describer.groups)
    (folder / "run.txt").write_text("\n".join([*run_screen(report), ""]), encoding="utf-8")
    page.write(results.scenario, report)


def _smallest(
    results: Results, claim: Claim, seed: int, folder: Path, reporting: Reporting
) -> Iterator[str]:
    """Search a smaller scenario that fails; yield and write its file."""
    try:
        from emulator.testing.shrinking import smallest  # noqa: PLC0415  Hypothesis is optional
    except ModuleNotFoundError:
        yield "To see the smallest scenario that fails, install hypothesis."
        return

    def fails(scenario: Scenario, at_seed: int) -> bool:
        return not claim.holds(play_seeds(scenario, [at_seed]))

    if claim.holds([played for played in results.runs if played.seed == seed]):
        return
    found = smallest(
        results.scenario,
        seed,
        fails,
        folder=reporting.tests,
        limit_s=reporting.shrink_s,
        expect=dict([claim.bound] if claim.bound else []),
    )
    (folder / "smallest.toml").write_text(found.text, encoding="utf-8")
    more = "" if found.complete else f"; stopped after {reporting.shrink_s:g} s"
    yield ""
    yield f"The smallest scenario found that still fails, with seed {found.seed} ({found.tried} tried{more}):"
    yield ""
    yield from found.text.rstrip().splitlines()


def _made(folder: Path) -> Path:
    """Make a folder that git ignores."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder


def _folder_name(test: str) -> str:
    """Return the name of a test as the name of a folder.

    >>> _folder_name("tests/test_deploy.py::test_loss[member-crashes]")
    'tests-test_deploy.py-test_loss-member-crashes'
    """
    return re.sub(r"[^\w.]+", "-", test).strip("-.")[-LONGEST_NAME:].lstrip("-.")
