"""``rebalance compare``: play several variants under the same seeds, and print the differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from emulator.cli.options import (
    MAX_SEEDS,
    Examples,
    HtmlOption,
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)
from emulator.cli.output import say_all, say_json, say_report
from emulator.cli.progress import Progress, announce, announce_overloads
from emulator.comparison import NAMED, Comparison, VariantRuns, load_variants, play_variants
from emulator.loading import read_text
from emulator.metrics.catalogue import VALUES
from emulator.metrics.checks import check_expectations
from emulator.metrics.distribution import compare as difference
from emulator.metrics.distribution import summarise
from emulator.metrics.metrics import pairs_of, values_of
from emulator.playing import bounds_of
from emulator.report.comparison.columns import Column
from emulator.report.comparison.markdown import comparison_markdown
from emulator.report.comparison.ranking import ranked
from emulator.report.comparison.table import comparison_screen, rows_screen
from emulator.scenario.writing import manifest
from emulator.subjects import columns_of
from emulator.sweeps import seeds_from
from emulator.verdicts.findings import cut_short
from emulator.versions import KAFKA, SCHEMA_VERSION


def _presets(incomplete: str) -> list[str]:
    """Return the names of presets that complete a word."""
    return [name for name in NAMED if name.startswith(incomplete)]


WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="SETTING",
        autocompletion=_presets,
        help="A variant: eager, cooperative, static, kip848, as-written, or 'name: path=value, …', "
        "where these names may be mixed with settings. Repeatable.",
    ),
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, max=MAX_SEEDS, help="Number of seeds.")]
RowsOption = Annotated[
    bool | None,
    typer.Option(
        "--rows/--columns",
        help="Show each variant as a row or as a column; by default rows for a scenario's variants.",
    ),
]
MarkdownOption = Annotated[
    bool,
    typer.Option("--markdown", help="Print one Markdown table of all metrics."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "compare",
        help=with_examples(compare, EXAMPLES),
    )(compare)


OVERLOAD_FIRST_S = 10.0
"""Before a longer comparison an overload is named; each column that has one names it in a warning."""

EXAMPLES: Examples = (
    ("eager, cooperative and static", "rebalance compare rolling-restart-eager"),
    (
        "the effect of one setting, over 10 seeds",
        """rebalance compare member-crashes --seeds 10 \\
    --with 'short: group[billing].settings[session.timeout.ms]=10s'""",
    ),
    (
        "four protocols in one table, for a design review",
        """rebalance compare kip848-slow-handover --seeds 5 --markdown \\
    --with eager --with cooperative --with static --with kip848""",
    ),
    (
        "the variants of the scenario, a row each",
        "rebalance compare coordinator-dies-at-a-step",
    ),
    (
        "names and keys together",
        """rebalance compare member-crashes --with eager \\
    --with 'fast: static, topic[orders].rate=50/s'""",
    ),
)


def compare(
    scenario: ScenarioArgument,
    variants: WithOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = 1,
    jobs: JobsOption = None,
    overrides: SetOption = None,
    rows: RowsOption = None,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Compare settings or protocols: the same scenario and seeds under each of them.

    eager is the range assignor, cooperative is cooperative-sticky alone, static is eager with
    instance ids, kip848 is group.protocol=consumer, whose timeouts are broker settings. Without
    --with: the [[variant]] tables of the scenario, a row each; without those, the first three.
    A single variant is compared with the scenario as written. Differences are to the first variant,
    seed by seed; with several seeds, their mean and its 95 % confidence interval are shown, and
    with fewer than 5 seeds, the smallest and the largest difference in its place.

    --markdown prints one table of every metric in which runs differ; significant differences are
    bold.

    --html writes one page that opens without a network: the differences, and for the first seed the
    timeline of each variant on one time axis.

    A variant is disqualified, that is, marked with the reason and never called best, if in some run
    the evidence is inconclusive, a deploy stopped, members died, a partition had no owner for a
    minute, or records stayed unprocessed. An overload that all variants have is said once, and they
    are ranked all the same.

    --json prints one line, one JSON object: seeds; ranked, the variants that are not disqualified,
    the best first; and variants, a list. Each has its name, set, settings; values, seed by seed;
    summary, with quantiles; differences; by_cause; expectations; missed, the faults that did not
    fire; disqualified, each reason with a sentence and the number of runs.

    Exit status: 0 success; 2 bad input. Failed expectations do not change it, because they were
    written for one setting.
    """
    if html is not None:
        from emulator.run_files import check_page

        check_page(html)
    loaded = load_variants(
        read_text(scenario), variants or (), overrides or (), allow_large=yes, seeds=seeds
    )
    first = next(iter(loaded.values())).scenario
    if rows is None:
        rows = not variants and bool(first.variant)
    expected_s = announce(first, seeds * len(loaded), jobs)
    if expected_s > OVERLOAD_FIRST_S:
        announce_overloads(first)
    with Progress("runs", expected_s=expected_s, total=seeds * len(loaded)) as progress:
        compared = play_variants(loaded, seeds_from(first, seed, seeds), jobs, progress.show)
    if html is not None:
        from emulator.run_pages import write_compare_page

        write_compare_page(html, compared)
    columns = columns_of(compared)
    if as_json:
        say_json(_document(compared, columns))
    elif markdown:
        say_all(comparison_markdown(compared.seeds, columns, transposed=rows))
    elif rows:
        say_report(rows_screen(compared.seeds, columns))
    else:
        say_report(comparison_screen(compared.seeds, columns))


def _document(compared: Comparison, columns: Sequence[Column]) -> dict[str, Any]:
    first = compared.variants[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "scenario": first.loaded.scenario.title,
        "seeds": list(compared.seeds),
        "ranked": [column.name for column in ranked(columns)],
        "variants": [
            {
                "name": variant.name,
                "set": list(variant.loaded.overrides),
                **manifest(variant.loaded.scenario),
                **_figures(first, variant),
                "expectations": _expectations(variant),
                "missed": variant.missed,
                "disqualified": [asdict(each) for each in variant.disqualified],
            }
            for variant in compared.variants
        ],
    }


def _figures(first: VariantRuns, variant: VariantRuns) -> dict[str, Any]:
    """Return a variant's figures: seed by seed, summarised, and compared with the first variant."""
    base = [run.metrics for run in first.runs]
    metrics = [run.metrics for run in variant.runs]
    names = [metric.name for metric in VALUES]
    pairs = {name: pairs_of(name, base, metrics) for name in names}
    return {
        "by_cause": [dict(run.by_cause) for run in variant.runs],
        "values": {name: [run.plain_value(name) for run in metrics] for name in names},
        "summary": {
            name: asdict(summarise(values_of(metrics, name)))
            for name in names
            if any(run.has(name) for run in metrics)
        },
        "differences": {name: asdict(difference(*both)) for name, both in pairs.items() if both[0]},
    }


def _expectations(variant: VariantRuns) -> list[dict[str, Any]]:
    """Check the scenario's expectations against a variant."""
    metrics = [run.metrics for run in variant.runs]
    cut = [cut_short(run.verdicts) for run in variant.runs]
    checked = check_expectations(bounds_of(variant.loaded.scenario), metrics, cut)
    return [asdict(expected) for expected in checked]
