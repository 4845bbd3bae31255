"""The order of compared settings, without those whose runs are disqualified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.metrics.distribution import summarise
from emulator.report.comparison.columns import Column
from emulator.report.wording import joined, paragraph
from emulator.verdicts.disqualifying import REASONS, sentences
from emulator.verdicts.verdict import VerdictId

RANKED_BY: Final = {
    "lost": "lost",
    "reprocessed": "reprocessed",
    "downtime_total_s": "summed downtime (s)",
}
"""The metrics that decide, in this order; less is better."""

MISSED: Final = REASONS[VerdictId.FAULT_MISSED]
"""The reason that comparisons warn of by themselves."""


def ranked(columns: Sequence[Column]) -> list[Column]:
    """Return the settings that are not disqualified, the best first; equal ones keep their order."""
    return sorted((each for each in columns if not each.disqualified), key=_figures)


def _figures(column: Column) -> list[float]:
    means = (summarise([run[name] for run in column.metrics]).mean.value for name in RANKED_BY)
    return [round(mean, 9) for mean in means]


def reasons(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a sentence for each reason that disqualifies a setting, but for the missed faults."""
    for column in columns:
        others = [each for each in column.disqualified if each.reason != MISSED]
        for sentence in sentences(others, len(column.metrics)):
            yield f"{column.name}: {sentence}"


def order_text(columns: Sequence[Column]) -> str:
    """Return a sentence with the order of the settings, and those that have no place in it."""
    found = ranked(columns)
    out = joined([column.name for column in columns if column.disqualified])
    if not found:
        return "None can be called best: the runs of each setting are disqualified."
    by = joined([*RANKED_BY.values()])
    groups: dict[tuple[float, ...], list[str]] = {}
    for column in found:
        groups.setdefault(tuple(_figures(column)), []).append(column.name)
    places = [" = ".join(names) for names in groups.values()]
    return f"Best first, by {by}: {'; '.join(places)}. Not ranked: {out}."


def ranking_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Yield what disqualifies settings, and the order of the others."""
    for reason in reasons(columns):
        yield from paragraph(reason, "warning: ", "         ")
    yield from paragraph(order_text(columns))
