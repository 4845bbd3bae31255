"""Proposals and trials in words, as columns of a table, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import ceil
from shlex import quote
from typing import Any, Final

from emulator.metrics.metrics import Metrics
from emulator.report.given_hints import hints_of
from emulator.report.proposals import JUDGED, LAG, RECORDS, Effect, Proposal, Trial, mean_of
from emulator.report.subject import FinishedRun
from emulator.report.wording import counted, difference, figure, joined, paragraph

COLUMNS: Final = {
    "reprocessed": "reprocessed",
    "lost": "lost",
    "truncated": "truncated",
    "compacted_unread": "compacted",
    "takeover_last_s": "takeover",
    "downtime_max_s": "downtime",
    "downtime_total_s": "summed",
    "rebalances": "rebalances",
    **LAG,
}
"""The titles of the columns; those without a change are left out, but never the first two.

Times are in seconds; downtime is the longest of one partition, and summed over partitions."""

ARROW: Final = " → "
ALWAYS: Final = ("reprocessed", "lost")
PAGE: Final = "docs/reference/advice.md"


def columns_of(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the metrics that the table of some trials shows, with the titles of their columns."""
    return {
        name: title
        for name, title in COLUMNS.items()
        if name in ALWAYS or any(_is_shown(trial, name) for trial in trials)
    }


def _is_shown(trial: Trial, name: str) -> bool:
    """Return whether a change moves a metric; lag counts where it is the problem."""
    return ARROW in cell(trial, name) and (name not in LAG or trial.of_lag)


def cell(trial: Trial, name: str) -> str:
    """Return a figure before and after a change; one figure if they are equal."""
    before, after = _mean(name, trial.before), _mean(name, trial.after)
    return before if before == after else f"{before}{ARROW}{after}"


def _mean(name: str, runs: Sequence[Metrics]) -> str:
    value = mean_of(name, runs)
    return "none" if value is None else figure(value)


def seeds_text(seeds: Sequence[int]) -> str:
    """Return a sentence about the seeds of trials."""
    if len(seeds) == 1:
        return f"Seed {seeds[0]} alone: a small difference may be chance; --advise --seeds 5 plays more."
    return f"Means of {len(seeds)} seeds, {seeds[0]} to {seeds[-1]}, the same with and without."


def paste_lines(proposal: Proposal) -> list[str]:
    """Return the settings of a change to paste, and the options that make it in the scenario."""
    return [*proposal.settings, *(f"--set {quote(each)}" for each in proposal.overrides)]


def verdict_of(trial: Trial) -> str:
    """Return what a change does, in words: also if it does nothing, or makes something worse."""
    differences = trial.differences()
    less = [JUDGED[name] for name, value in differences.items() if value < 0]
    more = [JUDGED[name] for name, value in differences.items() if value > 0]
    parts = [f"lower {joined(less)}"] if less else []
    price = "at the price of " if more and trial.effect is Effect.BETTER else ""
    parts += [f"{price}higher {joined(more)}"] if more else []
    end = "." if parts or trial.solved else " in these runs."
    effect = f"{trial.effect}{_but(trial)}"
    text = f"{effect}{': ' if parts else ''}{'; '.join(parts)}{end}"
    return " ".join([text, *_unclear(trial), *_remarks(trial)])


def _but(trial: Trial) -> str:
    """Return that a change must not be called best, with the reason; empty: it may be."""
    if trial.effect is Effect.DISQUALIFIED:
        return f" ({trial.mark})"
    return f", but disqualified ({trial.mark})" if trial.disqualified else ""


def _unclear(trial: Trial) -> Iterator[str]:
    for name, compared in trial.unclear().items():
        if name not in RECORDS and trial.effect is not Effect.UNCLEAR:
            continue
        yield (
            f"Seeds disagree on {JUDGED[name]}: lower in {compared.less}, higher in {compared.more} "
            f"of {compared.runs}, {difference(compared.mean.value)} on average."
        )


def _remarks(trial: Trial) -> Iterator[str]:
    for problem in trial.solved:
        yield f"Removes a problem: {problem}."
    for problem in trial.problems:
        yield f"New problem: {problem}."
    new = {each.reason for each in trial.new_reasons}
    for each in trial.disqualified:
        if each.sentence not in trial.problems:
            before = "" if each.reason in new else ", as without it"
            yield f"{each.reason.capitalize()}{before}: {each.sentence}."
    if trial.missed:
        yield f"A fault did not fire in {counted(trial.missed, 'run')} with it."


def not_tried(run: FinishedRun, cost_s: float) -> Iterator[str]:
    """Yield a line that names the changes that were not tried, and the command that tries them."""
    names = joined([f"{each.id} ({each.settings[0]})" for each in run.proposals])
    rest = f"{run.subject.options} --seed {run.seed} --advise"
    text = f"To try {names}, about {ceil(cost_s):,} s: rebalance run {run.subject.name}{rest}"
    yield from paragraph(text)


def advice_document(run: FinishedRun) -> dict[str, Any]:
    """Return the hints of a run with their ids, and the changes that they recommend."""
    tried = {trial.proposal.id: trial for trial in run.trials}
    return {
        "hints": [
            {
                "id": hint.id,
                "text": hint.text,
                "group": hint.group,
                "causes": list(hint.causes),
                "page": f"{PAGE}#{hint.id}",
            }
            for hint in hints_of(run)
        ],
        "changes": [_proposal(each, tried.get(each.id)) for each in run.proposals],
    }


def _proposal(proposal: Proposal, trial: Trial | None) -> dict[str, Any]:
    return {
        "id": proposal.id,
        "hint": proposal.hint,
        "page": f"{PAGE}#{proposal.id}",
        "group": proposal.group,
        "why": proposal.why,
        "settings": list(proposal.settings),
        "set": list(proposal.overrides),
        "trial": None if trial is None else _trial_document(trial),
    }


def _trial_document(trial: Trial) -> dict[str, Any]:
    return {
        "seeds": list(trial.seeds),
        "effect": trial.effect.value,
        "sentence": verdict_of(trial),
        "before": {name: mean_of(name, trial.before) for name in JUDGED},
        "after": {name: mean_of(name, trial.after) for name in JUDGED},
        "problems": list(trial.problems),
        "solved": list(trial.solved),
        "disqualified": [asdict(each) for each in trial.disqualified],
        "missed": trial.missed,
    }
