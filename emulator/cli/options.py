"""The arguments and options that commands share, so that all of them speak alike."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from inspect import getdoc
from textwrap import indent
from typing import Annotated, Any

import typer

MOST_SEEDS = 1_000_000
"""Of one command."""


class EngineName(StrEnum):
    """Who does what can be shared out."""

    AUTO = "auto"
    POOL = "pool"
    SPARK = "spark"


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, a name of the catalogue (rebalance scenarios), or - for the input.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**64 - 1, help="Seed; by default the scenario's own."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a key of the scenario: names of things and of Kafka's settings stand in "
        "brackets, as in group[billing].settings[session.timeout.ms]=10s, "
        "group[billing].member[billing-1].work=50ms, topic[orders].skew=[2, 1], "
        "fault[crash-1].at=2min; repeatable, the last one wins.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, max=1_024, help="Processes that share several runs; by default all cores."
    ),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Run it even if it has more than a thousand million events.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
MasterOption = Annotated[
    str | None, typer.Option("--master", help="Spark's master; by default this machine.")
]


VERBATIM = "\b"
"""Begins a paragraph whose lines stay as they are."""

Examples = tuple[tuple[str, str], ...]
"""What each is for, and the command as a shell takes it."""


def with_examples(command: Callable[..., Any], examples: Examples) -> str:
    """Return a command's docstring with examples after its first paragraph."""
    first, _, rest = (getdoc(command) or "").partition("\n\n")
    lines = [indent(f"# {what}\n{call}", "  ") for what, call in examples]
    return "\n\n".join([first, "\n".join([VERBATIM, "Examples:", *lines]), rest]).strip()
