"""Find the classes of the user that process the records of a group, and check what they need."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from assignors.errors import AssignorError, did_you_mean
from assignors.own_code import Sought, find_function
from emulator.errors import HandlerError
from emulator.scenario.checks.poison import forwards_problems
from emulator.scenario.model import Group, OwnHandler, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import commit_policy


def own_handler_problems(scenario: Scenario, folders: Iterable[Path] | None) -> Iterator[Problem]:
    """Yield the problems of handlers that are code of the user.

    *folders*: as in :func:`find_class`.
    """
    for group in scenario.group:
        if not isinstance(group.handler, OwnHandler):
            continue
        path = f"group[{group.id}].handler"
        try:
            find_class(group.handler, folders)
        except HandlerError as error:
            yield Problem(path, str(error))
        for number, rule in enumerate(group.poison):
            if rule.error is not None:
                reason = (
                    f"{group.handler.code} decides what happens to a record that fails: write it in "
                    "handle(), and leave this out"
                )
                yield Problem(f"group[{group.id}].poison[{number}].error", reason, rule.error)
        yield from _commit_problems(group, group.handler.code)
        yield from forwards_problems(group, group.handler, scenario)


def _commit_problems(group: Group, code: str) -> Iterator[Problem]:
    """Yield the first commit policy that would commit in the middle of the user's code."""
    for member in group.members:
        policy, path = commit_policy(group, member), f"group[{group.id}].commit"
        if policy.when in ("record", "before"):
            reason = (
                f'{code} commits where it yields Commit(); allowed are "batch" (after handle() has '
                'returned) and "every"'
            )
            yield Problem(f"{path}.when", reason, policy.when)
            return
        if policy.on_refusal == "discard":
            reason = (
                f"{code} has the records already; yield Commit() returns the exception, and the code "
                "decides"
            )
            yield Problem(f"{path}.on_refusal", reason, policy.on_refusal)
            return


def find_class(given: OwnHandler, folders: Iterable[str | Path] | None) -> Callable[..., object]:
    """Return the class that a handler names.

    *folders*: as in :func:`assignors.own_code.find_function`. Raises :class:`HandlerError` if its module
    is not allowed, fails, or has no such class, or if the class has no method ``handle``.
    """
    try:
        found = find_function(
            Sought(given.code, "handler", "class", "has a method handle(records)"), folders
        )
    except AssignorError as error:
        raise HandlerError(str(error)) from error.__cause__
    if not callable(getattr(found, "handle", None)):
        own = [name for name in vars(found) if not name.startswith("_")]
        near = did_you_mean("handle", own)
        raise HandlerError(
            f"The handler {given.code!r} has no method handle(records).{near} "
            "Give the class one that yields actions (docs/how-to/own-handlers.md)."
        )
    _check_yields(given, found)
    _check_arguments(given, found)
    return found


def _check_yields(given: OwnHandler, found: Callable[..., object]) -> None:
    """Refuse a method that reads its records and gives no action: without ``yield`` or a result."""
    method = getattr(found, "handle", None)
    if not inspect.isfunction(method) or inspect.isgeneratorfunction(method):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError):  # no source: its calls say what is wrong
        return
    nodes = [*ast.walk(tree)]
    *_, records = inspect.signature(method).parameters
    reads = any(isinstance(node, ast.Name) and node.id == records for node in nodes)
    results = any(isinstance(node, ast.Return) and node.value for node in nodes)
    if reads and not results:
        raise HandlerError(
            f"The handler {given.code!r} does nothing: its method handle(records) has no yield. Each action "
            "is a yield: `for record in records: yield Process(record)` (docs/how-to/own-handlers.md)."
        )


def _check_arguments(given: OwnHandler, found: Callable[..., object]) -> None:
    try:
        inspect.signature(found).bind(object(), **given.arguments)
    except TypeError as error:
        raise HandlerError(
            f"The handler {given.code!r} cannot be made: {error}. It is called with the consumer, and "
            "with the keys of arguments by name."
        ) from None
    except ValueError:  # no signature: its call says what is wrong
        return
