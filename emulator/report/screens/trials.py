"""The changes that were tried: a table of their effects, and how to make and to repeat each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from rich import box
from rich.table import Table

from emulator.report.comparison.columns import DISQUALIFIED
from emulator.report.figures import as_lines, cells
from emulator.report.proposal_wording import (
    cell,
    columns_of,
    compared_text,
    paste_lines,
    verdict_of,
)
from emulator.report.proposals import Effect, Trial
from emulator.report.subject import FinishedRun
from emulator.report.wording import WIDTH, paragraph, width

WITHOUT_HELP = (Effect.NONE, Effect.DISQUALIFIED, Effect.WORSE)

NOTHING_HELPS = "None of the changes that the hints of this run recommend helps here."


def trials_screen(run: FinishedRun) -> Iterator[str]:
    """Yield the lines about the trials of a run, none of them wider than the report."""
    trials = run.trials
    seeds = trials[0].seeds
    table = _table(trials) if width() == WIDTH else []
    yield from ("", "Changes tried", *table)
    yield from paragraph(f"{compared_text(run)} Times in seconds.")
    if all(trial.effect in WITHOUT_HELP for trial in trials):
        yield from paragraph(NOTHING_HELPS)
    for trial in trials:
        yield ""
        yield from paragraph(f"{trial.proposal.title}: {verdict_of(trial)}", "  ", "    ")
        if not table:
            yield from paragraph(_figures(trial, trials), "    ")
        yield from paragraph(trial.proposal.why, "    ")
        yield from (f"      {line}" for line in paste_lines(trial.proposal))
    yield ""
    yield from (f"{line}" for line in _repeat(run, seeds))


def _figures(trial: Trial, trials: Sequence[Trial]) -> str:
    """Return a row of the table as text."""
    parts = [f"{title} {cell(trial, name)}" for name, title in columns_of(trials).items()]
    return f"{', '.join(parts)}."


def _table(trials: Sequence[Trial]) -> list[str]:
    """Return the table with as many columns as there is room for; empty: for no figure is room."""
    shown = columns_of(trials)
    while shown:
        lines = list(as_lines(_columns(trials, shown)))
        if max(map(len, lines)) <= WIDTH:
            return lines
        shown.popitem()
    return []


def _columns(trials: Sequence[Trial], shown: Mapping[str, str]) -> Table:
    table = Table(box=box.MARKDOWN)
    marked = [DISQUALIFIED] if any(trial.mark for trial in trials) else []
    texts = ["change", *marked]
    for title in (*texts, *shown.values()):
        table.add_column(title, justify="left" if title in texts else "right")
    for trial in trials:
        marks = [trial.mark] if marked else []
        table.add_row(*cells(trial.proposal.title, *marks, *(cell(trial, name) for name in shown)))
    return table


def _repeat(run: FinishedRun, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the command that plays the same runs again, an option a line."""
    yield "The same runs again"
    words = [f"rebalance compare {run.subject.name}{run.subject.options}"]
    words += [f"--seed {seeds[0]} --seeds {len(seeds)}"]
    words += ["--with as-written"]
    for trial in run.trials:
        text = f"{trial.proposal.title}: {', '.join(trial.proposal.overrides)}"
        words.append(f"--with {quote(text)}")
    first, *rest = words
    yield f"  {first} \\"
    yield from (f"    {word} \\" for word in rest[:-1])
    yield f"    {rest[-1]}"
