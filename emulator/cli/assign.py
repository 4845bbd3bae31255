"""``rebalance assign``: ask an assignor who gets what, without running anything.

One question a line goes in, one answer a line comes out; the format is that of the golden steps
of Kafka's own classes (:mod:`assignors.question`).
"""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.cli.options import Examples, with_examples
from emulator.cli.output import BAD_INPUT, say
from emulator.errors import RefusedError, reason_of

if TYPE_CHECKING:
    from assignors.question import Outcome


def assign_lines(lines: Iterable[str | bytes]) -> Iterator[str]:
    r"""Yield one line of JSON for each question, in order; blank lines are passed over.

    >>> question = '''{"assignor": "range", "input": {"partitionsPerTopic": {"t": 3},
    ... "members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]}}'''
    >>> print(*assign_lines([question, "{}"]), sep="\n")
    {"assignment": {"A": [["t", 0], ["t", 1]], "B": [["t", 2]]}}
    {"error": "line 2: assignor: Field required"}
    """
    from assignors.question import outcomes

    return map(as_json, outcomes(lines))


def as_json(outcome: Outcome) -> str:
    """Return *outcome* as one line of JSON."""
    result: dict[str, Any] = {}
    if outcome.answer is not None:
        result["assignment"] = outcome.answer.checked.assignment
        if twice := outcome.answer.checked.given_twice:
            result["given_twice"] = [one.partition for one in twice]
    else:
        result["error"] = outcome.error
        if outcome.defect is not None:
            result["defect"] = outcome.defect
    return json.dumps(result)


def assign(
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Questions, one a line; - is the input.")
    ] = "-",
    table: Annotated[
        bool, typer.Option("--table", help="Show who gets what, what moved, how balanced.")
    ] = False,
) -> None:
    """Ask an assignor who gets what.

    A question is one line of JSON: assignor and input. In input stand partitionsPerTopic, and
    members, each with id and topics; if need be with ownedPartitions, generation, rack,
    groupInstanceId; and topicIds, partitionRacks. The assignors are range, roundrobin, sticky,
    cooperative-sticky, server-range, server-uniform, or "module:function" for your own.

    An answer is one line of JSON, in order of the questions: {"assignment": …} or {"error": …}.
    A line that cannot be read is answered with an error that names it, and the rest is answered
    all the same; only blank lines have no answer. given_twice names partitions that two members
    got from an assignor that did not declare exclusive = False.

    Exit status: 0 fine; 2 a line cannot be read, or an assignor of your own fails. Where Kafka's
    own class would fail, the answer says which defect it is, and that is no bad input.
    """
    from assignors.question import outcomes

    show = _table_printer() if table else _print_json
    bad = False
    for outcome in outcomes(_read_lines(file)):
        bad = bad or outcome.is_bad_input
        if not show(outcome):
            break
    if bad:
        raise typer.Exit(BAD_INPUT)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        "assign",
        short_help="Ask an assignor who gets what.",
        help=with_examples(assign, EXAMPLES),
    )(assign)


EXAMPLES: Examples = (
    (
        "one question, for people",
        """printf '%s' '{"assignor": "range", "input": {"partitionsPerTopic": {"t": 3}, ' \\
    '"members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]}}' |
    rebalance assign --table""",
    ),
)


def _read_lines(file: str) -> Iterator[bytes]:
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as opened:
            yield opened.readline().removeprefix(BOM_UTF8)
            yield from opened
    except (OSError, ValueError) as error:
        raise RefusedError(f"{file or repr(file)}: cannot be read: {reason_of(error)}") from None


def _print_json(outcome: Outcome) -> bool:
    return say(as_json(outcome))


def _table_printer() -> Callable[[Outcome], bool]:
    from emulator.cli.assign_table import print_table

    return print_table
