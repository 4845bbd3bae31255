"""The limits of a document of TOML: how deep its tables are, and how many there are in one list."""

from __future__ import annotations

from typing import Any, Final

from emulator.limits import beyond, most
from emulator.scenario.part import Document
from emulator.scenario.problems import Problem

MEMBERS: Final = ("member", "members")
"""Lists whose entries are looked at once, and that have a limit of their own."""


def problem_of_long_lists(document: Document) -> Problem | None:
    """Return the problem of a list with more tables than the limit; some are compared with all others.

    Without a limit a file of a few megabytes would keep the checks busy for minutes.
    """
    longest, layer = most("entries"), [document]
    while layer:
        for key, value in ((key, value) for node in layer for key, value in _lists(node)):
            if len(value) > longest and isinstance(value[0], dict) and key not in MEMBERS:
                return Problem(key, f"{len(value):,} entries; {beyond('entries')}")
        layer = [below for node in layer for below in _below(node)]
    return None


def _lists(node: Any) -> list[tuple[str, list[Any]]]:
    pairs = node.items() if isinstance(node, dict) else ()
    return [(key, value) for key, value in pairs if isinstance(value, list)]


def depth(document: Document, deepest: int) -> int:
    """Return the depth of nested tables and lists, without recursion: there can be thousands.

    It is not counted beyond *deepest*.
    """
    depth, layer = 0, [document]
    while layer and depth <= deepest:
        depth += 1
        layer = [below for node in layer for below in _below(node)]
    return depth


def _below(node: Any) -> list[Any]:
    inside = node.values() if isinstance(node, dict) else node
    return [value for value in inside if isinstance(value, dict | list)]
