"""``rebalance explain`` and ``rebalance ledger``: one entry of a ledger, and all of them."""

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
from emulator.cli.output import say_json, say_report
from emulator.cli.progress import Progress, announce, length_of
from emulator.explanation import explain as explain_run
from emulator.ledger.entries import EntryKind
from emulator.loading import load_named
from emulator.playing import run
from emulator.subjects import clock_of, subject_of


def register(app: typer.Typer) -> None:
    """Add the two commands to the application."""
    app.command(
        "explain",
        help=with_examples(explain, EXAMPLES),
    )(explain)
    app.command("ledger", help=with_examples(ledger, LEDGER_EXAMPLES))(ledger)


EXAMPLES: Examples = (
    ("the first entry of rebalance run", "rebalance explain member-crashes D1"),
    ("why one record was reprocessed", "rebalance explain member-crashes orders-3:1450"),
    (
        "an entry of another run",
        "rebalance explain member-crashes D2 --seed 7 --set 'topic[orders].rate=50/s'",
    ),
)


def explain(
    scenario: ScenarioArgument,
    entry: Annotated[
        str | None,
        typer.Argument(
            metavar="ENTRY",
            help="An entry of the ledger, such as D3 or L1, or a record, such as orders-2:1650; left "
            "out: the example that rebalance run shows first.",
            show_default=False,
        ),
    ] = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Explain one entry of a ledger: owners, polls, and the commit that was lost, with times.

    D entries were reprocessed, L lost, P in flight when a process ended; rebalance ledger lists them all.
    The run is played again, so seed and settings must be the same. For an unknown entry, the
    existing ones are listed. Of a record in several entries the first is explained, the others are
    named.

    Commits and changes of the coordinator are shown with their position in the offsets log: log
    offset, high watermark (records below it are replicated), leader epoch, broker.

    --html writes the entry as one page that opens without a network, with the timeline around it.

    --json prints one line, one JSON object: entry as in rebalance run --json, others, the names of
    other entries with the record, and lines, each
    with event (its number), at_us, text, shown (whether it is evidence of the cause), began, and
    log (the position in the offsets log, or null).

    Exit status: 0 success; 2 bad input.
    """
    if html is not None:
        from emulator.run_files import check_page

        check_page(html)
    loaded = load_named(scenario, overrides or (), allow_large=yes)
    length, expected_s = length_of(loaded.scenario), announce(loaded.scenario)
    with Progress("simulated seconds", expected_s=expected_s) as progress:
        explained = explain_run(
            loaded.scenario, entry, seed, sink=lambda event: progress.watch(event, length)
        )
    if html is not None:
        from emulator.run_pages import write_explain_page

        write_explain_page(html, explained)
    if as_json:
        say_json(explained.as_dict())
    else:
        say_report(explained.screen())


# -- all entries -----------------------------------------------------------------------------

LEDGER_EXAMPLES: Examples = (
    ("every range that was reprocessed, lost or in flight", "rebalance ledger member-crashes"),
    (
        "only what was lost, under seed 3",
        "rebalance ledger commit-before-work --kind lost --seed 3",
    ),
)
KindOption = Annotated[
    list[EntryKind] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only entries of this kind: reprocessed, lost, truncated or partial; repeatable.",
    ),
]


EachOption = Annotated[
    bool,
    typer.Option("--each", help="List every entry by itself, also many with the same cause."),
]


def ledger(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    overrides: SetOption = None,
    kinds: KindOption = None,
    each: EachOption = False,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """List all entries of a ledger: records, partition, offsets, cause, owners and root.

    One entry is one range of offsets with one cause; rebalance explain shows the events that led to
    it. rebalance run counts them by cause. Of more than 40 entries of a kind, those of one partition
    with the same cause and owners are shown together; --each lists every one.

    --json prints one line, one JSON object: seed, digest, reprocessed, lost, truncated, partial,
    by_cause, and ledger, a list of entries as in rebalance run --json: those shown together as one,
    with entries (their number) and last_id, unless --each is given.

    Exit status: 0 success; 2 bad input.
    """
    loaded = load_named(scenario, overrides or (), allow_large=yes)
    finished = run(loaded.scenario, seed, keep_events=False)
    chosen = frozenset(kinds or EntryKind)
    if as_json:
        from emulator.report.run_document import ledger_document, totals
        from emulator.scenario.writing import manifest

        clock = clock_of(loaded.scenario)
        entries = [entry for entry in finished.ledger.entries if entry.kind in chosen]
        say_json(
            {
                **manifest(loaded.scenario),
                "seed": finished.seed,
                "digest": finished.digest,
                **totals(finished.ledger),
                "ledger": ledger_document(entries, clock, each=each),
            }
        )
    else:
        from emulator.report.screens.ledger import ledger_screen

        subject = subject_of(loaded)
        say_report(ledger_screen(subject, finished.seed, finished.ledger, chosen, each=each))
