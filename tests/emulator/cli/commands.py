"""The command line as tests call it, and a small scenario to call it with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from emulator.cli.main import app

CRASH = """
title = "one of two crashes"
run_for = "40s"

[[topic]]
name = "orders"
partitions = 4
rate = "20/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "range"
"session.timeout.ms" = "6s"

[[fault]]
crash = "billing-1"
at = "18s"

[expect]
lost = 0
"""
"""Repeats what billing-1 did since its last commit; half a second to run."""


class Answer(NamedTuple):
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def rebalance(*arguments: object, given: str | bytes = "") -> Answer:
    """Call ``rebalance`` with these arguments; *given* is its input."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def written(folder: Path, text: str = CRASH, name: str = "crash.toml") -> Path:
    """Write a scenario file and return where it is."""
    path = folder / name
    path.write_text(text)
    return path


def changed(*changes: tuple[str, str], more: str = "") -> str:
    """Return the small scenario with some of its text replaced, and more text at its end."""
    text = CRASH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return f"{text}\n{more}"
