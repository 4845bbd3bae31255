"""``rebalance explain``: print one entry of a ledger as a sequence of events."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.options import (
    Examples,
    HtmlOption,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)
from emulator.cli.output import say_all, say_json
from emulator.cli.progress import Progress, announce
from emulator.explanation import explain as explain_run
from emulator.loading import load_named


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "explain",
        help=with_examples(explain, EXAMPLES),
    )(explain)


EXAMPLES: Examples = (
    ("the first entry of rebalance run", "rebalance explain member-crashes D1"),
    (
        "an entry of another run",
        "rebalance explain member-crashes D2 --seed 7 --set 'topic[orders].rate=50/s'",
    ),
)


def explain(
    scenario: ScenarioArgument,
    entry: Annotated[
        str, typer.Argument(metavar="ENTRY", help="An entry of the ledger, such as D3 or L1.")
    ],
    seed: SeedOption = None,
    overrides: SetOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Explain one entry of a ledger: owners, polls, and the commit that was lost, with times.

    D entries were reprocessed, L lost, P in flight at the kill; rebalance run lists the entries.
    The run is played again, so seed and settings must be the same. For an unknown entry, the
    existing ones are listed.

    Commits and changes of the coordinator are shown with their position in the offsets log: log
    offset, high watermark (records below it are replicated), leader epoch, broker.

    --html writes the entry as one page that opens without a network, with the timeline around it.

    --json prints one line, one JSON object: entry as in rebalance run --json, and lines, each
    with event (its number), at_us, text, shown (whether it is evidence of the cause), began, and
    log (the position in the offsets log, or null).

    Exit status: 0 success; 2 bad input.
    """
    if html is not None:
        from emulator.run_files import check_page

        check_page(html)
    loaded = load_named(scenario, overrides or (), allow_large=yes)
    run_for, expected_s = loaded.scenario.run_for, announce(loaded.scenario)
    with Progress("simulated seconds", expected_s=expected_s) as progress:
        explained = explain_run(
            loaded.scenario, entry, seed, sink=lambda event: progress.watch(event, run_for)
        )
    if html is not None:
        from emulator.run_pages import write_explain_page

        write_explain_page(html, explained)
    if as_json:
        say_json(explained.as_dict())
    else:
        say_all(explained.screen())
