"""The two group protocols do not know each other, and what they share knows neither."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROTOCOLS = Path(__file__).parents[2] / "protocols"
STRANGERS = [
    ("classic", "protocols.kip848"),
    ("kip848", "protocols.classic"),
    ("client", "protocols.classic"),
    ("client", "protocols.kip848"),
]


def imported(path: Path) -> list[str]:
    """Return the modules a file imports, at any place."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


@pytest.mark.parametrize(("room", "stranger"), STRANGERS)
def test_a_protocol_does_not_know_its_neighbour(room, stranger):
    """No file of one package imports anything of the other."""
    files = sorted((PROTOCOLS / room).rglob("*.py"))
    known = [path.name for path in files if any(m.startswith(stranger) for m in imported(path))]

    assert files
    assert known == []
