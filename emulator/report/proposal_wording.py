"""Proposals and trials in words, as columns of a table, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import ceil
from shlex import quote
from typing import Any, Final

from emulator.report.hints.given import hints_of
from emulator.report.proposals import JUDGED, LAG, RECORDS, Effect, Proposal, Trial
from emulator.report.subject import FinishedRun
from emulator.report.wording import counted, difference, figure, joined, paragraph

COLUMNS: Final = {
    "reprocessed": "reprocessed",
    "lost": "lost",
    "truncated": "truncated",
    "compacted_unread": "compacted",
    "processed_by_neither": "by neither",
    "processed_by_both": "by both",
    "commits_refused": "refused",
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
    """Return a figure before and after a change, of the same seeds; one figure if they are equal."""
    before, after = map(_figure, trial.means(name))
    return before if before == after else f"{before}{ARROW}{after}"


def _figure(value: float | None) -> str:
    return "none" if value is None else figure(value)


def compared_text(run: FinishedRun) -> str:
    """Return what the figures of the trials are, and those of the reported seed that differ from them."""
    seeds = run.trials[0].seeds
    if len(seeds) == 1:
        return (
            f"Seed {seeds[0]} alone, without → with each change alone: a small difference may be "
            "chance; --advise --seeds 5 plays more."
        )
    text = (
        f"Means of the same {len(seeds)} seeds, {seeds[0]} to {seeds[-1]}, without → with each "
        "change alone."
    )
    return " ".join([text, *_reported(run), *_more_seeds(run.trials)])


def _more_seeds(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield how to play more seeds, if an effect may be chance."""
    if any(trial.chances() for trial in trials):
        more = max(20, 4 * len(trials[0].seeds))
        yield f"Where an effect may be chance, --advise --seeds {more} tells more."


def _reported(run: FinishedRun) -> Iterator[str]:
    """Yield the figures, without a change, of the seed from whose report the changes follow."""
    first = run.trials[0]
    own = {name: run.metrics[name] if run.metrics.has(name) else None for name in COLUMNS}
    parts = [
        f"{title} {_figure(own[name])}"
        for name, title in columns_of(run.trials).items()
        if _figure(own[name]) != _figure(first.means(name)[0])
    ]
    if parts:
        yield (
            f"The changes follow from the report of seed {run.seed}; its own figures: "
            f"{', '.join(parts)}."
        )


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
    return " ".join(
        [text, *_unclear(trial), *_by_chance(trial), *_uncommon(trial), *_remarks(trial)]
    )


def _but(trial: Trial) -> str:
    """Return why a change is disqualified, or what it leaves as bad as it was; empty: neither."""
    if trial.effect is Effect.DISQUALIFIED:
        return f" ({trial.mark})"
    return f" ({trial.mark_of_both} as without it)" if trial.disqualified else ""


def _unclear(trial: Trial) -> Iterator[str]:
    for name, compared in trial.unclear().items():
        if name not in RECORDS and trial.effect is not Effect.UNCLEAR:
            continue
        yield (
            f"Seeds disagree on {JUDGED[name]}: lower in {compared.less}, higher in {compared.more} "
            f"of {compared.runs}, {difference(compared.mean.value)} on average."
        )


def _by_chance(trial: Trial) -> Iterator[str]:
    """Yield which effects are too few seeds' to be told from chance."""
    parts = [
        f"{JUDGED[name]} ({'lower' if each.less else 'higher'} in {max(each.less, each.more)})"
        for name, each in trial.chances().items()
    ]
    if parts:
        yield f"With {len(trial.seeds)} seeds this may be chance: {joined(parts)}."


def _uncommon(trial: Trial) -> Iterator[str]:
    """Yield which shown figures some seeds have only without the change, or only with it."""
    runs = len(trial.seeds)
    for name in columns_of([trial]):
        without, with_it, both = trial.seeds_with(name)
        if without == with_it == both:
            continue
        compared = f"; those {both} that have both are compared" if both else ""
        yield (
            f"{JUDGED[name].capitalize()}: a value in {without} of {runs} runs without it, in "
            f"{with_it} with it{compared}."
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


def not_tried(run: FinishedRun, cost_s: float, longest_s: float) -> Iterator[str]:
    """Yield a line that names the changes that were not tried, and the command that tries them.

    *cost_s*, *longest_s*: what that takes, without and with the seeds that are played where the first ones
    show no effect.
    """
    names = joined([f"{each.title} ({each.settings[0]})" for each in run.proposals])
    rest = f"{run.subject.options} --seed {run.seed} --advise"
    time = f"about {ceil(cost_s):,} s of CPU time"
    if longest_s > cost_s:
        time += f" (up to {ceil(longest_s):,} s if further seeds have to show an effect)"
    text = f"To try {names}, {time}: rebalance run {run.subject.name}{rest}"
    yield from paragraph(text)


def nothing_to_try(run: FinishedRun, *, has_variants: bool) -> Iterator[str]:
    """Yield why no change is tried, and the command that plays the scenario's own variants."""
    why = "the run has no hint, nothing in it calls for one"
    if hints_of(run):
        why = "no key of this scenario does what the hints recommend"
    yield from paragraph(f"No change to try: {why}.")
    if has_variants:
        yield f"Its variants side by side: rebalance compare {run.subject.name}"


def advice_document(run: FinishedRun) -> dict[str, Any]:
    """Return the hints of a run with their ids, and the changes that they recommend."""
    tried = {trial.proposal.title: trial for trial in run.trials}
    return {
        "hints": [
            {
                "id": hint.id,
                "text": hint.text,
                "group": hint.group,
                "causes": list(hint.causes),
                "records": hint.records,
                "page": f"{PAGE}#{hint.id}",
            }
            for hint in hints_of(run)
        ],
        "changes": [_proposal(each, tried.get(each.title)) for each in run.proposals],
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
    means = {name: trial.means(name) for name in JUDGED}
    return {
        "seeds": list(trial.seeds),
        "effect": trial.effect.value,
        "sentence": verdict_of(trial),
        "may_be_chance": list(trial.chances()),
        "before": {name: before for name, (before, _) in means.items()},
        "after": {name: after for name, (_, after) in means.items()},
        "compared": {name: trial.seeds_with(name)[-1] for name in JUDGED},
        "problems": list(trial.problems),
        "solved": list(trial.solved),
        "disqualified": [asdict(each) for each in trial.disqualified],
        "missed": trial.missed,
    }
