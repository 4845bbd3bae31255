"""``rebalance explain``: one entry of a ledger as a sequence of what happened."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.options import (
    Examples,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    with_examples,
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "explain",
        short_help="Tell how one entry of a ledger came about.",
        help=with_examples(explain, EXAMPLES),
    )(explain)


EXAMPLES: Examples = (
    ("the first entry that rebalance run shows", "rebalance explain member-crashes D1"),
    (
        "of another run",
        "rebalance explain member-crashes D2 --seed 7 --set 'topic[orders].rate=50/s'",
    ),
)


def explain(
    scenario: ScenarioArgument,
    entry: Annotated[
        str, typer.Argument(metavar="ENTRY", help="An entry of the ledger, as D3 or L1.")
    ],
    seed: SeedOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Explain one entry of a ledger: who owned, who polled, which commit was lost, and when.

    D is for processed again, L for lost, P for cut off; rebalance run names the entries. The
    run is played again, so seed and settings must be those it had. An entry that does not exist
    is refused with those that do.

    Commits and changes of the coordinator are told with their place in the offsets log: log
    offset, high watermark (below it everything is safe), leader epoch, broker.

    --json prints one line, one JSON object: entry as in rebalance run --json, and lines, each
    with its time, the number of its event, text, shown, whether it shows the cause, and log, its
    place in the offsets log or null.

    Exit status: 0 fine; 2 bad input.
    """
    from emulator.cli.choosing import choose
    from emulator.cli.explain_entry import explain_entry

    explain_entry(choose(scenario, overrides or (), yes=yes), entry, seed, as_json=as_json)
