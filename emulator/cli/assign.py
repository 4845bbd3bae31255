"""``rebalance assign``: compute assignments; one JSON question per line, one answer per line.

The format is that of the golden steps of Kafka's own classes (:mod:`assignors.question`).
"""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from assignors.question import outcomes
from emulator.assignment import as_json
from emulator.cli.options import Examples, with_examples
from emulator.cli.output import BAD_INPUT, say
from emulator.errors import RefusedError, reason_of
from emulator.input_files import lines_of


def assign(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE|-]", help="Questions, one per line; - is standard input."),
    ] = "-",
    table: Annotated[
        bool, typer.Option("--table", help="Print a table of assignments, moves and balance.")
    ] = False,
) -> None:
    """Ask an assignor which member gets which partition.

    A question is one line of JSON: assignor and input. input has partitionsPerTopic, and members,
    each with id and topics, and optionally ownedPartitions, generation, rack, groupInstanceId, userData
    (what its assignor tells the leader, in base64; left out: what that assignor would send).
    topicIds and partitionRacks are optional. The assignors are range, roundrobin, sticky,
    cooperative-sticky, server-range, server-uniform, or "module:function" for your own, with --plugin module.

    An answer is one line of JSON, in the order of the questions: {"assignment": …} or {"error": …}.
    A line that cannot be read is answered with an error that names it; the other lines are still
    answered. Blank lines are skipped. given_twice names partitions that two members got from an
    assignor that did not declare exclusive = False; userData is what members' assignors get back.

    Exit status: 0 success; 2 a line cannot be read, or an assignor of your own fails. Where Kafka's
    own class would fail, the answer names the defect, and the status stays 0.
    """
    bad = False
    for outcome in outcomes(_read_lines(file)):
        bad = bad or outcome.is_bad_input
        if table:
            from emulator.report.screens.assignment import table_lines

            connected = say(*table_lines(outcome))
        else:
            connected = say(as_json(outcome))
        if not connected:
            break
    if bad:
        raise typer.Exit(BAD_INPUT)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        "assign",
        help=with_examples(assign, EXAMPLES),
    )(assign)


EXAMPLES: Examples = (
    (
        "one question, as a table",
        """printf '%s' '{"assignor": "range", "input": {"partitionsPerTopic": {"t": 3}, ' \\
    '"members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]}}' |
    rebalance assign --table""",
    ),
)


def _read_lines(file: str) -> Iterator[bytes]:
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as opened:
            lines = lines_of(opened, "standard input" if file == "-" else file)
            yield next(lines, b"").removeprefix(BOM_UTF8)
            yield from lines
    except (OSError, ValueError) as error:
        raise RefusedError(f"{file or repr(file)}: cannot be read: {reason_of(error)}") from None
