"""The order of compared settings, without those whose runs are disqualified.

An overload that all of them have does not tell one from another: it is said once, and they are ranked all
the same. If only some have it, these are ranked among themselves, apart from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.metrics.distribution import summarise
from emulator.report.comparison.columns import Column
from emulator.report.wording import joined, paragraph
from emulator.verdicts.disqualifying import REASONS, Disqualified, sentences
from emulator.verdicts.verdict import VerdictId

RANKED_BY: Final = {
    "lost": "lost",
    "reprocessed": "reprocessed",
    "downtime_total_s": "summed downtime (s)",
}
"""The metrics that decide, in this order; less is better."""

MISSED: Final = REASONS[VerdictId.FAULT_MISSED]
"""The reason that comparisons warn of by themselves."""


OVERLOAD: Final = REASONS[VerdictId.OVERLOAD]


def ranked(columns: Sequence[Column]) -> list[Column]:
    """Return the settings that are not disqualified, the best first; equal ones keep their order."""
    return sorted(eligible(columns), key=_figures)


def eligible(columns: Sequence[Column]) -> list[Column]:
    """Return the settings with a place in the order: none is disqualified, but for a shared overload."""
    shared = {OVERLOAD} if _all_overloaded(columns) else set()
    return [each for each in columns if {one.reason for one in each.disqualified} <= shared]


def _all_overloaded(columns: Sequence[Column]) -> bool:
    """Return whether several settings are compared, each of which is overloaded."""
    return len(columns) > 1 and all(map(_overload_of, columns))


def _overload_of(column: Column) -> list[Disqualified]:
    return [each for each in column.disqualified if each.reason == OVERLOAD]


def _figures(column: Column) -> list[float]:
    means = (summarise([run[name] for run in column.metrics]).mean.value for name in RANKED_BY)
    return [round(mean, 9) for mean in means]


def reasons(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a sentence for each reason that disqualifies a setting, but for missed faults and a shared overload."""
    known = {MISSED, OVERLOAD} if _all_overloaded(columns) else {MISSED}
    for column in columns:
        others = [each for each in column.disqualified if each.reason not in known]
        for sentence in sentences(others, len(column.metrics)):
            yield f"{column.name}: {sentence}"


def shared_overload(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the overload that all settings have, if so; the first one's if they differ."""
    if not _all_overloaded(columns):
        return
    said = [_overload_of(column)[0].sentence for column in columns]
    which = "all variants" if len(set(said)) == 1 else f"all variants, such as {columns[0].name}"
    yield f"{which}: {OVERLOAD}: {said[0]}"


def overloaded(columns: Sequence[Column]) -> list[Column]:
    """Return the settings that nothing but an overload keeps out of the order, the best first.

    Empty for fewer than two: one has no other to be compared with.
    """
    names = {column.name for column in eligible(columns)}
    found = [
        column
        for column in columns
        if column.name not in names and {each.reason for each in column.disqualified} == {OVERLOAD}
    ]
    return sorted(found, key=_figures) if len(found) > 1 else []


def _overloaded_text(columns: Sequence[Column]) -> str:
    """Return the order of such settings among themselves, with a space before it."""
    found = overloaded(columns)
    return f" Best first among overloaded variants: {_places(found)}." if found else ""


def not_ranked(columns: Sequence[Column]) -> str:
    """Return which settings have no place in an order, with a space before it; empty: all have one."""
    names = {column.name for column in (*eligible(columns), *overloaded(columns))}
    out = joined([column.name for column in columns if column.name not in names])
    return f" Not ranked: {out}." if out else ""


def order_text(columns: Sequence[Column]) -> str:
    """Return a sentence with the order of the settings, and those that have no place in it."""
    found = ranked(columns)
    if not found:
        none = "None can be called best: the runs of each setting are disqualified."
        return f"{none}{_overloaded_text(columns)}"
    by = joined([*RANKED_BY.values()])
    among = "Best first among overloaded variants" if found[0].disqualified else "Best first"
    order = f"{among}, by {by}: {_places(found)}."
    return f"{order}{_overloaded_text(columns)}{not_ranked(columns)}"


def _places(found: Sequence[Column]) -> str:
    """Return the names of settings in their order; equal ones share a place."""
    groups: dict[tuple[float, ...], list[str]] = {}
    for column in found:
        groups.setdefault(tuple(_figures(column)), []).append(column.name)
    return "; ".join(" = ".join(names) for names in groups.values())


def ranking_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Yield what disqualifies settings, and the order of the others."""
    for reason in (*shared_overload(columns), *reasons(columns)):
        yield from paragraph(reason, "warning: ", "         ")
    yield from paragraph(order_text(columns))
