"""``rebalance explain``: one entry of a ledger as a sequence of what happened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.choosing import (
    Chosen,
    JsonOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    YesOption,
    choose,
)
from emulator.cli.refusals import RefusedError

if TYPE_CHECKING:
    from emulator.measure import Entry, Line
    from emulator.playing import Run


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explain")(explain)


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
    run is played again, so seed and settings must be the same.
    """
    from emulator.measure import explain as tell  # noqa: PLC0415  --help needs none of these
    from emulator.playing import run  # noqa: PLC0415

    chosen = choose(scenario, overrides, yes=yes)
    finished = run(chosen.scenario, seed, polls=True)
    found = _entry_of(finished, entry)
    lines = tell(found, finished.events)
    if as_json:
        print(json.dumps(_document(chosen, finished, found, lines), ensure_ascii=False))
    else:
        print(*_screen(chosen, finished, found, lines), sep="\n")


def _entry_of(finished: Run, name: str) -> Entry:
    try:
        return finished.ledger.entry(name.upper())
    except KeyError as error:
        raise RefusedError(f"seed {finished.seed}: {error.args[0]}") from None


def _screen(chosen: Chosen, finished: Run, entry: Entry, lines: Sequence[Line]) -> Iterator[str]:
    from emulator.report.entry_screen import entry_screen  # noqa: PLC0415
    from emulator.scenario.manifest import KAFKA  # noqa: PLC0415
    from emulator.scenario.units import format_moment  # noqa: PLC0415

    scenario = chosen.scenario
    title = f"{scenario.title} | seed {finished.seed} | Apache Kafka {KAFKA}"
    return entry_screen(title, entry, lines, lambda at_us: format_moment(at_us, scenario.start))


def _document(
    chosen: Chosen, finished: Run, entry: Entry, lines: Sequence[Line]
) -> dict[str, object]:
    from emulator.cli.describing import clock_of  # noqa: PLC0415
    from emulator.report.run_document import entry_document, timed  # noqa: PLC0415
    from emulator.scenario.manifest import manifest  # noqa: PLC0415

    clock = clock_of(chosen.scenario)
    return {
        **manifest(chosen.scenario),
        "seed": finished.seed,
        "digest": finished.digest,
        "entry": entry_document(entry, clock),
        "lines": [
            {
                "event": line.event,
                **timed(line.at_us, clock),
                "text": line.text,
                "shown": line.shown,
            }
            for line in lines
        ],
    }
