"""``rebalance scenarios``: list, show and copy the scenarios of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from emulator.cli.options import Examples, catalogue_names, with_examples
from emulator.cli.output import say, say_all, say_report
from emulator.scenario.families import SUBJECTS, Family

if TYPE_CHECKING:
    from emulator.scenario.catalogue import Entry

Name = Annotated[str, typer.Argument(help="A name from the list.", autocompletion=catalogue_names)]


def register(app: typer.Typer) -> None:
    """Add the command and its two verbs to the application."""
    scenarios = typer.Typer(
        name="scenarios",
        cls=Searching,
        help=with_examples(list_all, EXAMPLES),
        short_help="List, show and copy the scenarios of the catalogue.",
        invoke_without_command=True,
    )
    scenarios.callback()(list_all)
    scenarios.command("list", short_help="List the scenarios; the default.")(list_again)
    scenarios.command("show")(show)
    scenarios.command("copy")(copy)
    app.add_typer(scenarios)


EXAMPLES: Examples = (
    ("all scenarios, each with the question it answers", "rebalance scenarios"),
    (
        "those about a word, or a family",
        "rebalance scenarios crash; rebalance scenarios --family deploys",
    ),
    ("those of a protocol, with a setting", "rebalance scenarios max.poll --protocol consumer"),
    ("one of them", "rebalance scenarios show member-crashes"),
    ("copy one, to change and run it", "rebalance scenarios copy member-crashes my-crash.toml"),
)
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON line per scenario.")]


FamilyOption = Annotated[
    Family | None,
    typer.Option("--family", metavar="FAMILY", help=f"Only a family: {', '.join(Family)}."),
]


class Protocol(StrEnum):
    """The values of group.protocol."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


ProtocolOption = Annotated[
    Protocol | None, typer.Option("--protocol", help="Only scenarios with this group.protocol.")
]


class Searching(TyperGroup):
    """A group of commands that takes other words as words to search for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, or the list with all words."""
        known = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if known else ["list", *args])


def list_all(
    context: typer.Context,
    family: FamilyOption = None,
    protocol: ProtocolOption = None,
    as_json: AsLines = False,
) -> None:
    """List, show and copy the scenarios of the catalogue; words after it search them.

    rebalance scenarios WORD... lists those whose name or file has all the words.
    """
    if context.invoked_subcommand is None:
        _list((), family, protocol, as_json)


def list_again(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words of the name or the file, all of them."),
    ] = None,
    family: FamilyOption = None,
    protocol: ProtocolOption = None,
    as_json: AsLines = False,
) -> None:
    """List the scenarios by family, each with the question it answers."""
    _list(words or (), family, protocol, as_json)


def _list(words: Sequence[str], family: Family | None, protocol: str | None, as_json: bool) -> None:
    from emulator.scenario import catalogue

    entries = catalogue.search(words, family, protocol)
    if as_json:
        say_all(json.dumps(asdict(entry)) for entry in entries)
    else:
        say_report(_for_people(entries))


def _for_people(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the entries below the headings of their families."""
    for family, members in groupby(entries, key=lambda entry: entry.family):
        yield f"{family}: {SUBJECTS[family]}"
        for entry in members:
            yield f"  {entry.name}"
            yield from (f"      {line}" for line in entry.about)


def show(name: Name) -> None:
    """Print a scenario of the catalogue."""
    from emulator.scenario import catalogue

    say(catalogue.read(name).removesuffix("\n"))


def copy(
    name: Name,
    destination: Annotated[Path, typer.Argument(help="A folder or a file.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Copy a scenario of the catalogue, to change it and run it.

    Prints its path. An existing file is replaced only with --force.
    """
    from emulator.scenario import catalogue

    say(str(catalogue.copy(name, destination, overwrite=force)))
