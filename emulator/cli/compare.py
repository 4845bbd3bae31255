"""``rebalance compare``: the same scenario and seeds under several settings or protocols."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.options import (
    MOST_SEEDS,
    Examples,
    JobsOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)

WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="SETTING",
        help="A column: eager, cooperative, static, kip848, as-written, or 'name: path=value, …', "
        "where the names may stand too. Repeatable.",
    ),
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, max=MOST_SEEDS, help="How many seeds.")]
RowsOption = Annotated[
    bool | None,
    typer.Option(
        "--rows/--columns",
        help="A row or a column for each; without either, rows for a scenario's variants.",
    ),
]
MarkdownOption = Annotated[
    bool,
    typer.Option("--markdown", help="One table of all metrics, to paste into a review."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "compare",
        short_help="Compare protocols or settings under the same seeds.",
        help=with_examples(compare, EXAMPLES),
    )(compare)


EXAMPLES: Examples = (
    ("eager, cooperative and static", "rebalance compare rolling-restart-eager"),
    (
        "what one setting would change, over 10 seeds",
        """rebalance compare member-crashes --seeds 10 \\
    --with 'short: group[billing].settings[session.timeout.ms]=10s'""",
    ),
    (
        "four protocols in one table, for a design review",
        """rebalance compare kip848-slow-handover --seeds 5 --markdown \\
    --with eager --with cooperative --with static --with kip848""",
    ),
    (
        "the variants that a scenario brings along, a row each",
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
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Compare settings or protocols: the same scenario and seeds under each of them.

    eager is the range assignor, cooperative is cooperative-sticky alone, static is eager with
    instance ids, kip848 is group.protocol=consumer, whose times are settings of brokers. Without
    --with: the [[variant]] tables of the scenario, a row each; where it has none, the first three.
    One alone is compared with the scenario as it is written. Differences are to the first column,
    seed by seed; with several seeds, their mean, and the interval that holds the true mean with
    95 % confidence.

    --markdown prints one table, however wide, with every metric in which runs differ, and bold
    what is no chance.

    --json prints one line, one JSON object: seeds, and variants, a list. Each has its name, set,
    settings; values, seed by seed; summary, with quantiles; differences; by_cause; expectations;
    missed, what never struck.

    Exit status: 0 fine; 2 bad input. Expectations, which were written for one setting, do not
    change it.
    """
    from emulator.cli.compare_variants import Layout, choose_variants, compare_variants

    chosen = choose_variants(scenario, variants or (), overrides or (), yes=yes, seeds=seeds)
    if rows is None:
        rows = not variants and bool(next(iter(chosen.values())).scenario.variant)
    layout = Layout(rows=rows, as_json=as_json, as_markdown=markdown)
    compare_variants(chosen, seed, seeds, jobs, layout)
