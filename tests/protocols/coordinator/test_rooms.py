"""The group types do not know each other, and what they share knows neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROTOCOLS = Path(__file__).parents[3] / "protocols"
KNOW_BOTH = {"machine", "requests", "waking", "queries", "replay", "afterwards", "invariants"}
"""The files of the shared package that put the types together."""


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def against(paths: list[Path], *rooms: str) -> list[str]:
    return [
        f"{path.relative_to(PROTOCOLS)} imports {name}"
        for path in paths
        for name in imports_of(path)
        if name.startswith(tuple(f"protocols.{room}." for room in rooms))
    ]


@pytest.mark.parametrize(("room", "other"), [("classic", "kip848"), ("kip848", "classic")])
def test_the_protocols_do_not_know_each_other(room, other):
    """Only the migration, beside them, knows both."""
    assert [] == against(sorted((PROTOCOLS / room).rglob("*.py")), other)


def test_what_is_shared_knows_no_type():
    """But for the files that choose between them."""
    shared = [
        path
        for path in sorted((PROTOCOLS / "coordinator").glob("*.py"))
        if path.stem not in KNOW_BOTH
    ]

    assert shared
    assert [] == against(shared, "classic", "kip848")


def test_no_type_knows_the_machine():
    """It is put together above them."""
    paths = [*sorted((PROTOCOLS / "classic").glob("*.py"))]
    paths += sorted((PROTOCOLS / "kip848").glob("*.py"))

    assert [] == against(paths, *(f"coordinator.{name}" for name in sorted(KNOW_BOTH)))
