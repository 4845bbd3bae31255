"""``rebalance ledger``: list all entries of a run's ledger."""

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
from emulator.cli.output import say_all, say_json
from emulator.ledger.entries import EntryKind
from emulator.loading import load_named
from emulator.playing import run
from emulator.subjects import clock_of, subject_of

KindOption = Annotated[
    list[EntryKind] | None,
    typer.Option("--kind", help="Only entries of this kind; repeatable."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("ledger", help=with_examples(ledger, EXAMPLES))(ledger)


EXAMPLES: Examples = (
    ("every range that was reprocessed, lost or in flight", "rebalance ledger member-crashes"),
    (
        "only what was lost, under seed 3",
        "rebalance ledger commit-before-work --kind lost --seed 3",
    ),
)


def ledger(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    overrides: SetOption = None,
    kinds: KindOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """List all entries of a ledger: records, partition, offsets, cause, owners and root.

    One entry is one range of offsets with one cause; rebalance explain shows the events that led to
    it. rebalance run counts them by cause.

    --json prints one line, one JSON object: seed, digest, reprocessed, lost, truncated, partial,
    by_cause, and ledger, a list of entries as in rebalance run --json.

    Exit status: 0 success; 2 bad input.
    """
    loaded = load_named(scenario, overrides or (), allow_large=yes)
    finished = run(loaded.scenario, seed, keep_events=False)
    chosen = frozenset(kinds or EntryKind)
    if as_json:
        from emulator.report.run_document import entry_document, totals
        from emulator.scenario.writing import manifest

        clock = clock_of(loaded.scenario)
        entries = [each for each in finished.ledger.entries if each.kind in chosen]
        say_json(
            {
                **manifest(loaded.scenario),
                "seed": finished.seed,
                "digest": finished.digest,
                **totals(finished.ledger),
                "ledger": [entry_document(entry, clock) for entry in entries],
            }
        )
    else:
        from emulator.report.ledger_screen import ledger_screen

        say_all(ledger_screen(subject_of(loaded), finished.seed, finished.ledger, chosen))
