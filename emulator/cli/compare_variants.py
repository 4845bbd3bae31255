"""``rebalance compare``: every variant under the same seeds, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from emulator.cli.choosing import Chosen, choose_from, read
from emulator.cli.describing import subject_of
from emulator.cli.output import say_all, say_json
from emulator.cli.seeds import Task, play_all, seeds_from
from emulator.cli.variants import read_variants
from emulator.metrics.catalogue import VALUES
from emulator.metrics.checks import check_expectations
from emulator.metrics.distribution import compare, summarise
from emulator.metrics.laws import Finding, Law
from emulator.playing import bounds_of
from emulator.report.comparison_markdown import comparison_markdown
from emulator.report.comparison_rows import rows_screen
from emulator.report.comparison_screen import Column, comparison_screen
from emulator.scenario.manifest import manifest
from emulator.versions import KAFKA, SCHEMA_VERSION

Variants = Mapping[str, Chosen]
"""By name, in the order of the columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a comparison is printed."""

    rows: bool
    """A row for each variant instead of a column."""

    as_json: bool
    as_markdown: bool = False


def choose_variants(
    name: str, texts: Sequence[str], overrides: Sequence[str], *, yes: bool, seeds: int
) -> Variants:
    """Load the scenario once for each variant; its own overrides come after those of all."""
    written = read(name)
    variants = read_variants(texts, choose_from(written, overrides, yes=yes).scenario)
    runs = seeds * len(variants)
    return {
        variant.name: choose_from(written, [*overrides, *variant.overrides], yes=yes, runs=runs)
        for variant in variants
    }


def compare_variants(
    variants: Variants, first_seed: int | None, count: int, jobs: int | None, layout: Layout
) -> None:
    """Play the same seeds under each variant and print what came of them."""
    first = next(iter(variants.values()))
    seeds = seeds_from(first.scenario, first_seed, count)
    columns = play(variants, seeds, jobs)
    if layout.as_json:
        say_json(_document(variants, seeds, columns))
    elif layout.as_markdown:
        say_all(comparison_markdown(seeds, columns, turned=layout.rows))
    elif layout.rows:
        say_all(rows_screen(seeds, columns))
    else:
        say_all(comparison_screen(seeds, columns))


def play(variants: Variants, seeds: Sequence[int], jobs: int | None) -> list[Column]:
    """Play the same seeds under each variant; return a column for each, in order."""
    tasks = [Task(chosen.scenario, seed) for chosen in variants.values() for seed in seeds]
    runs = play_all(tasks, jobs, next(iter(variants.values())).folder)
    columns = []
    for name, chosen in variants.items():
        mine = [next(runs) for _ in seeds]
        column = Column(
            name=name,
            subject=subject_of(chosen),
            metrics=[run.metrics for run in mine],
            causes=[run.by_cause for run in mine],
            overrides=chosen.overrides,
            missed=[found.message for run in mine for found in run.findings if _missed(found)],
        )
        columns.append(column)
    return columns


def _missed(found: Finding) -> bool:
    return found.law is Law.FAULT_MISSED


def _document(
    variants: Variants, seeds: Sequence[int], columns: Sequence[Column]
) -> dict[str, Any]:
    first = columns[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "scenario": first.subject.title,
        "seeds": list(seeds),
        "variants": [
            {
                "name": column.name,
                "set": list(chosen.overrides),
                **manifest(chosen.scenario),
                **_figures(first, column),
                "expectations": _expectations(chosen, column),
                "missed": list(column.missed),
            }
            for chosen, column in zip(variants.values(), columns, strict=True)
        ],
    }


def _figures(first: Column, column: Column) -> dict[str, Any]:
    """Return the figures of a column: seed by seed, summed up, and against the first column."""
    base, values = (
        {metric.name: [run[metric.name] for run in each.metrics] for metric in VALUES}
        for each in (first, column)
    )
    return {
        "by_cause": [dict(causes) for causes in column.causes],
        "values": values,
        "summary": {name: asdict(summarise(values[name])) for name in values},
        "differences": {name: asdict(compare(base[name], values[name])) for name in values},
    }


def _expectations(chosen: Chosen, column: Column) -> list[dict[str, Any]]:
    """Hold the scenario's expectations against a column; they were written for one setting."""
    checked = check_expectations(bounds_of(chosen.scenario), column.metrics)
    return [asdict(expected) for expected in checked]
