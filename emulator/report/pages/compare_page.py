"""The page of a comparison: differences of the variants, and the same timeline for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from assignors.values import dataclass
from emulator.ledger.entries import Entry
from emulator.metrics.distribution import Comparison, compare, summarise
from emulator.metrics.metrics import Metrics, pairs_of
from emulator.report.bands import beside_means
from emulator.report.comparison.columns import Column, reason_rows
from emulator.report.comparison.ranking import eligible, reasons, shared_overload
from emulator.report.comparison.table import comparison_screen, lag_unit_of, paired
from emulator.report.figures import NO_VALUE, shown
from emulator.report.merging import merged_entries
from emulator.report.pages.differences import Difference, draw_differences
from emulator.report.pages.history import History
from emulator.report.pages.marks import marks_of
from emulator.report.pages.page import Figure, Number, Page, Part, Table, render
from emulator.report.pages.run_page import CAPTION, WHAT, close_up, entry_details, table_of_entries
from emulator.report.pages.thinning import largest
from emulator.report.pages.timeline import View, draw_timeline
from emulator.report.subject import in_force
from emulator.report.wording import counted, figure, file_width, joined

MAX_ENTRIES: Final = 40
"""Entries of each variant."""

MAX_NUMBERS: Final = 5
MAX_NAMED: Final = 4
"""Variants that are named in the title and have a figure at the top; of more, the ends are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantHistory:
    """What the timeline of one variant shows: its run with the first seed."""

    history: History
    entries: Sequence[Entry]
    moment: Callable[[int], str]


@file_width()
def compare_page(
    seeds: Sequence[int], columns: Sequence[Column], runs: Sequence[VariantHistory], version: str
) -> str:
    """Return the page of a comparison as HTML; *runs*: of each column, with the first seed."""
    first = columns[0]
    named = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    facts = [first.subject.name, named, f"{first.subject.run_for} long"]
    return render(
        Page(
            title=f"{first.subject.title}: {_variants(columns)}",
            facts=" | ".join([*facts, f"Apache Kafka {first.subject.kafka}", version]),
            answer=list(_answer(columns)),
            numbers=_numbers(columns),
            parts=[_differences(seeds, columns), *_timelines(seeds, columns, runs)],
            text="\n".join(comparison_screen(seeds, columns)),
        )
    )


def _variants(columns: Sequence[Column]) -> str:
    if len(columns) > MAX_NAMED:
        return counted(len(columns), "variant")
    return joined([column.name for column in columns])


def _mean(column: Column, metric: str) -> float:
    return summarise([run[metric] for run in column.metrics]).mean.value


def _answer(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the order of the variants by reprocessed and by lost records; disqualified ones have none."""
    counted_columns = eligible(columns)
    yield from (f"For {reason}." for reason in shared_overload(columns))
    yield from (f"Not ranked: {reason}." for reason in reasons(columns))
    for metric, words in (("reprocessed", "Reprocessed"), ("lost", "Lost")):
        means = [(_mean(column, metric), column.name) for column in counted_columns]
        if not means:
            continue
        if not any(mean for mean, _ in means):
            yield f"{words}: no records, with {'any of them' if len(means) > 1 else means[0][1]}."
            continue
        if len(means) > 1 and len({figure(mean) for mean, _ in means}) == 1:
            yield f"{words}: {figure(means[0][0])} records with each of them."
            continue
        yield f"{words}: {_ranked(means)} (records)."


def _ranked(means: Sequence[tuple[float, str]]) -> str:
    """Return the variants from the least to the largest mean; of many, both ends."""
    ranked = sorted(means)
    if len(ranked) <= MAX_NAMED:
        return joined([f"{figure(mean)} with {name}" for mean, name in ranked])
    ends = []
    for end in dict.fromkeys(figure(mean) for mean in (ranked[0][0], ranked[-1][0])):
        names = [name for mean, name in ranked if figure(mean) == end]
        more = len(names) - MAX_NAMED
        ends.append(
            f"{end} with {joined([*names[:MAX_NAMED], *([f'{more} more'] if more > 0 else [])])}"
        )
    return f"from {' to '.join(ends)}"


def _numbers(columns: Sequence[Column]) -> list[Number]:
    """Return five figures: the reprocessed records of each variant, then what all variants span."""
    if len(columns) > MAX_NAMED:
        numbers = [Number(f"{len(columns)}", "variants")]
        numbers.append(_span(columns, "reprocessed", "records reprocessed"))
    else:
        values = [(_mean(column, "reprocessed"), _named(column)) for column in columns]
        numbers = [Number(figure(mean), f"reprocessed, {name}", mean > 0) for mean, name in values]
    spanned = (
        ("lost", "records lost"),
        ("downtime_max_s", "longest time without an owner (s)"),
        ("rebalances", "rebalances"),
    )
    return [*numbers, *(_span(columns, *each) for each in spanned)][:MAX_NUMBERS]


def _named(column: Column) -> str:
    return f"{column.name} ({column.mark})" if column.disqualified else column.name


def _span(columns: Sequence[Column], metric: str, label: str) -> Number:
    """Return the least and the largest mean of a metric among the variants."""
    means = sorted(_mean(column, metric) for column in columns)
    ends = dict.fromkeys(figure(mean) for mean in (means[0], means[-1]))
    is_bad = metric in ("lost", "reprocessed") and means[-1] > 0
    return Number(" to ".join(ends), label, is_bad)


def _differences(seeds: Sequence[int], columns: Sequence[Column]) -> Part:
    first = columns[0]
    rows: list[Sequence[str]] = [["metric", *_titles(columns)]]
    for label, (of_first, *said) in reason_rows(columns):
        rows.append([label, of_first, *chain.from_iterable((each, "") for each in said)])
    charted: list[Difference] = []
    for name, label in shown(
        [run for column in columns for run in column.metrics], lag_unit_of(columns)
    ):
        cells = [label]
        for place, column in enumerate(columns):
            having = [run[name] for run in column.metrics if run.has(name)]
            cells.append(figure(summarise(having).mean.value) if having else NO_VALUE)
            if place and (found := _paired(name, first.metrics, column.metrics)) is None:
                cells.append(NO_VALUE)
            elif place and found:
                cells.append(paired(found))
                charted.append(Difference(label, column.name, found.mean.value, *found.band))
        rows.append(cells)
    if len(columns) > MAX_NAMED:
        rows = list(_by_variant(rows))
    what = f"Means of {len(seeds)} seeds" if len(seeds) > 1 else f"Seed {seeds[0]}"
    caption = f"{what}; differences from {first.name}"
    if len(seeds) > 1:
        caption += f", seed by seed, with {beside_means(len(seeds))}"
    return Part(
        title="Differences",
        anchor="differences",
        tables=[Table(caption=caption, rows=rows)],
        charts=[draw_differences(charted, first.name, beside_means(len(seeds)))] if charted else [],
    )


def _by_variant(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield a table of metrics with a row for each variant, with differences in parentheses."""
    titles, *metrics = rows
    yield ("variant", *(name for name, *_ in metrics))
    yield (titles[1], *(row[1] for row in metrics))
    for place in range(2, len(titles), 2):
        cells = ((row[place], row[place + 1]) for row in metrics)
        together = (f"{value} ({change})" if change else value for value, change in cells)
        yield (titles[place], *together)


def _paired(name: str, first: Sequence[Metrics], second: Sequence[Metrics]) -> Comparison | None:
    """Return the paired differences of a metric; None: in no seed both have a value."""
    before, after = pairs_of(name, first, second)
    return compare(before, after) if before else None


def _titles(columns: Sequence[Column]) -> Iterator[str]:
    for place, column in enumerate(columns):
        yield column.name
        if place:
            yield "difference"


def _timelines(
    seeds: Sequence[int], columns: Sequence[Column], runs: Sequence[VariantHistory]
) -> Iterator[Part]:
    """Yield the timeline of each variant, all on one time axis, with its largest entries."""
    window = _window(runs)
    for place, (column, run) in enumerate(zip(columns, runs, strict=True)):
        prefix = f"v{place}-"
        every = merged_entries(run.entries)
        entries, left_out = largest(every, MAX_ENTRIES, lambda entry: entry.count)
        more = f" The {len(entries)} largest of {len(every):,} entries." if left_out else ""
        facts = "; ".join(in_force(group) for group in column.subject.groups[:3])
        yield Part(
            title=_named(column),
            anchor=f"variant-{place}",
            facts=f"Seed {seeds[0]}. {facts}.{more}",
            figures=list(_figures(column, run, window, prefix, 1 / len(runs))),
            tables=[table_of_entries(entries, run.moment, prefix)] if entries else [],
            entries=[
                entry_details(
                    each, None, run.moment, run.history.groups[each.leading.group].term, prefix
                )
                for each in entries
            ],
        )


def _window(runs: Sequence[VariantHistory]) -> tuple[int, int]:
    """Return the part of the runs that all timelines show: where anything happens in any of them."""
    end_us = max(run.history.end_us for run in runs)
    found = [
        close_up(group, run.history, [each for each in run.entries if each.group == group.name])
        for run in runs
        for group in run.history.groups.values()
    ]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return 0, end_us
    return min(begin for begin, _ in parts), max(end for _, end in parts)


def _figures(
    column: Column, run: VariantHistory, window: tuple[int, int], prefix: str, share: float
) -> Iterator[Figure]:
    groups = list(run.history.groups.values())[:2]
    for group in groups:
        mine = [entry for entry in run.entries if entry.group == group.name]
        view = View(
            name=f"Timeline of group {group.name} with {column.name}",
            window=window,
            share=share / len(groups),
            prefix=prefix,
        )
        drawing = draw_timeline(
            group, run.history, marks_of(merged_entries(mine)), run.moment, view
        )
        yield Figure(
            title=f"Group {group.name}, {column.name}{WHAT}", caption=CAPTION, drawing=drawing
        )
