"""``rebalance explain``: one entry of a ledger as a sequence of what happened."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.options import (
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explain", short_help="Tell how one entry of a ledger came about.")(explain)


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

    Example: rebalance explain member-crashes D1

    D is for processed again, L for lost, P for cut off; rebalance run names the entries. The
    run is played again, so seed and settings must be those it had.
    """
    from emulator.cli.choosing import choose
    from emulator.cli.explain_entry import explain_entry

    explain_entry(choose(scenario, overrides or (), yes=yes), entry, seed, as_json=as_json)
