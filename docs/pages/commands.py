"""The page of the commands, printed from their help."""

from __future__ import annotations

from collections.abc import Mapping

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
    helps = {name: _help(name) for name in COMMANDS}
    parts = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps.items()]
    return "\n".join([_OPENING, _contents(helps), *parts])


def _contents(helps: Mapping[str, str]) -> str:
    """Return a table of the commands, with the first sentence of each help."""
    rows = []
    for name, text in helps.items():
        _usage, about, *_ = text.split("\n\n")
        rows.append(f"| [{name}](#{name}) | {' '.join(about.split())} |")
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def _help(name: str) -> str:
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, [name, "--help"]).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())
