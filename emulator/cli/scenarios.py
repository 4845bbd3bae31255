"""``rebalance scenarios``: list, show and copy the scenarios of the catalogue."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import Examples, catalogue_names, with_examples
from emulator.cli.output import say

if TYPE_CHECKING:
    from emulator.scenario.catalogue import Entry

Name = Annotated[str, typer.Argument(help="A name from the list.", autocompletion=catalogue_names)]


def register(app: typer.Typer) -> None:
    """Add the command and its two verbs to the application."""
    scenarios = typer.Typer(
        name="scenarios",
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
    ("one of them", "rebalance scenarios show member-crashes"),
    ("copy one, to change and run it", "rebalance scenarios copy member-crashes my-crash.toml"),
)
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON line per scenario.")]


def list_all(
    context: typer.Context,
    as_json: AsLines = False,
) -> None:
    """List, show and copy the scenarios of the catalogue."""
    if context.invoked_subcommand is None:
        _list(as_json)


def list_again(as_json: AsLines = False) -> None:
    """List the scenarios, each with the question it answers."""
    _list(as_json)


def _list(as_json: bool) -> None:
    from emulator.scenario import catalogue

    entries = [catalogue.entry(name) for name in catalogue.names()]
    for entry in entries:
        say(json.dumps(asdict(entry)) if as_json else _for_people(entry))


def _for_people(entry: Entry) -> str:
    about = "\n".join(f"    {line}" for line in entry.about)
    return f"{entry.name}\n{about}"


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
