"""``rebalance schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import json

import typer

from emulator.cli.options import Examples, with_examples
from emulator.cli.output import say


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "schema",
        help=with_examples(schema, EXAMPLES),
    )(schema)


EXAMPLES: Examples = (
    ("write a schema file for your editor", "rebalance schema > scenario.schema.json"),
)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check them.

    JSON Schema, draft 2020-12, of the content of a TOML file.
    """
    from emulator.scenario.schema import file_schema

    say(json.dumps(file_schema(), indent=2))
