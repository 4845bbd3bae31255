"""The page of the commands, printed from their help."""

from __future__ import annotations

from typer.testing import CliRunner

from emulator.cli.main import app

_OPENING = """\
# Commands

What `rebalance COMMAND --help` prints, for each command. It is printed from the code by `python -m
docs.pages`.
"""

COMMANDS = (
    "run",
    "explain",
    "ledger",
    "compare",
    "study",
    "scenarios",
    "init",
    "schema",
    "import",
    "audit",
    "blame",
    "log",
    "assign",
    "capture",
    "verify",
)


def commands_page() -> str:
    """Return the page as text."""
    return "\n".join(
        [_OPENING, *(f"## {name}\n\n```text\n{_help(name)}\n```\n" for name in COMMANDS)]
    )


def _help(name: str) -> str:
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, [name, "--help"]).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())
