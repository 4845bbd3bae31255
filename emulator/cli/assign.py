"""``rebalance assign``: ask an assignor who gets what, without running anything.

One question a line goes in, one answer a line comes out; the format is that of the golden steps
of Kafka's own classes (:mod:`assignors.question`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.cli.refusals import BAD_INPUT, RefusedError

if TYPE_CHECKING:
    from assignors.answer import Outcome


def assign_lines(lines: Iterable[str | bytes]) -> Iterator[str]:
    r"""Yield one line of JSON for each question, in order; blank lines are passed over.

    >>> question = '''{"assignor": "range", "input": {"partitionsPerTopic": {"t": 3},
    ... "members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]}}'''
    >>> print(*assign_lines([question, "{}"]), sep="\n")
    {"assignment": {"A": [["t", 0], ["t", 1]], "B": [["t", 2]]}}
    {"error": "line 2: assignor: Field required"}
    """
    from assignors.answer import outcomes

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

    Example: echo '{"assignor": "range", "input": {"partitionsPerTopic": {"t": 3}, "members":
    [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]}}' | rebalance assign --table

    Exit status 2 if a line cannot be read or an assignor of your own fails. Where Kafka's own
    class would fail, the answer says so, and that is no bad input.
    """
    from assignors.answer import outcomes

    show = _table_printer() if table else _print_json
    bad = False
    for outcome in outcomes(_read_lines(file)):
        show(outcome)
        bad = bad or outcome.is_bad_input
    if bad:
        raise typer.Exit(BAD_INPUT)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("assign", short_help="Ask an assignor who gets what.")(assign)


def _read_lines(file: str) -> Iterator[bytes]:
    if file == "-":
        yield from sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as opened:
            yield from opened
    except OSError as error:
        raise RefusedError(f"{file}: cannot be read: {error.strerror}") from None


def _print_json(outcome: Outcome) -> None:
    print(as_json(outcome))


def _table_printer() -> Callable[[Outcome], None]:
    from emulator.cli.assign_table import print_table

    return print_table
