"""``rebalance schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("schema", short_help="Print the JSON Schema of scenario files.")(schema)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check them.

    Example: rebalance schema > scenario.schema.json
    """
    from emulator.scenario.schema import file_schema

    print(json.dumps(file_schema(), indent=2, ensure_ascii=False))
