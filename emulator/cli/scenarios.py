"""``rebalance scenarios``: list, show and copy the scenarios of the catalogue."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from emulator.scenario.catalogue import Entry

Name = Annotated[str, typer.Argument(help="A name from the list.")]


def register(app: typer.Typer) -> None:
    """Add the command and its two verbs to the application."""
    scenarios = typer.Typer(
        name="scenarios",
        help="List, show and copy the scenarios that come with the emulator.\n\n"
        "Example: rebalance scenarios",
        short_help="List, show and copy the scenarios that come with the emulator.",
        invoke_without_command=True,
    )
    scenarios.callback()(list_all)
    scenarios.command("show")(show)
    scenarios.command("copy")(copy)
    app.add_typer(scenarios)


def list_all(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a scenario.")] = False,
) -> None:
    """List the scenarios that come with the emulator, each with the question it answers.

    Example: rebalance scenarios
    """
    if context.invoked_subcommand is not None:
        return
    from emulator.scenario import catalogue

    entries = [catalogue.entry(name) for name in catalogue.names()]
    for entry in entries:
        print(json.dumps(asdict(entry), ensure_ascii=False) if as_json else _for_people(entry))


def _for_people(entry: Entry) -> str:
    about = "\n".join(f"    {line}" for line in entry.about)
    return f"{entry.name}\n{about}"


def show(name: Name) -> None:
    """Print a scenario of the catalogue.

    Example: rebalance scenarios show member-crashes
    """
    from emulator.scenario import catalogue

    print(catalogue.read(name), end="")


def copy(
    name: Name,
    destination: Annotated[Path, typer.Argument(help="A folder or a file.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Copy a scenario of the catalogue, to change it and run it.

    Example: rebalance scenarios copy member-crashes my-crash.toml
    """
    from emulator.scenario import catalogue

    print(catalogue.copy(name, destination, overwrite=force))
