"""Break one comparison or condition at a time, and count how often the tests of its room notice it.

``python -m benchmarks.mutations COUNT [SEED] [PATH…]`` draws places in ``protocols/`` and
``emulator/ledger/`` (or in PATHs), changes each in a copy of the tree, and prints the share that was
noticed, the survivors, and those whose tests did not end in time. A survivor is a test that is missing,
or a change without effect.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ROOMS = ("protocols", "emulator/ledger")
LIMIT_S = 300
"""Tests that run longer than this have noticed an endless loop, unless the machine is slow: each is printed."""

LIKELY = 3
"""How many files of tests are tried before the rest of the room."""

OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutation(NamedTuple):
    """One change of one file."""

    path: Path
    line: int
    before: str
    after: str
    source: str
    """The whole file, changed."""


def mutations(path: Path) -> Iterator[Mutation]:
    """Yield every change of one comparison, ``and``, ``or`` or ``not`` in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (new := _changed(node)) is not None:
            yield _mutation(path, node, new)


def _changed(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(ops=[op], left=left, comparators=[right]) if type(op) in OTHER:
            return f"({ast.unparse(ast.Compare(left, [OTHER[type(op)]()], [right]))})"
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            return f"({word.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"({ast.unparse(operand)})"
    return None


def _mutation(path: Path, node: ast.expr, new: str) -> Mutation:
    lines = path.read_bytes().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    whole = b"".join(lines)
    changed = (whole[:start] + new.encode() + whole[end:]).decode()
    return Mutation(path, node.lineno, whole[start:end].decode(), new, changed)


def tests_of(path: Path) -> str:
    """Return the folder of tests that mirrors a file's room, or the nearest one above it."""
    folder = ROOT / "tests" / path.relative_to(ROOT).parent
    while not folder.is_dir():
        folder = folder.parent
    return folder.relative_to(ROOT).as_posix()


def in_order(path: Path) -> list[str]:
    """Return the files of a room's tests: those that name a file's module most often come first.

    Tests stop at the first failure, so that a change is noticed sooner.
    """

    def named(test: Path) -> int:
        return len(re.findall(rf"\b{path.stem}\b", f"{test.stem} {test.read_text('utf-8')}"))

    tests = sorted((ROOT / tests_of(path)).rglob("test_*.py"))
    own = [test for test in tests if test.stem == f"test_{path.stem}"]
    others = sorted((test for test in tests if test not in own), key=named, reverse=True)
    return [test.relative_to(ROOT).as_posix() for test in (*own, *others)]


def is_noticed(mutation: Mutation, copy: Path) -> bool:
    """Return whether the tests of the room fail in a copy of the tree with this change.

    The files that are most likely to notice it are tried alone first: a room has many to load.
    """
    changed = copy / mutation.path.relative_to(ROOT)
    original = changed.read_text(encoding="utf-8")
    changed.write_text(mutation.source, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    tests = in_order(mutation.path)
    try:
        return any(
            _fails(each, copy, environment) for each in (tests[:LIKELY], tests[LIKELY:]) if each
        )
    except subprocess.TimeoutExpired:
        print(f"longer than {LIMIT_S} s: {_place(mutation)}", flush=True)
        return True
    finally:
        changed.write_text(original, encoding="utf-8")


def _fails(tests: list[str], copy: Path, environment: dict[str, str]) -> bool:
    """Return whether a test fails, or cannot be imported any more."""
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        env=environment,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode in (1, 2)


def main(count: int, seed: int, paths: list[str]) -> None:
    """Draw changes, try each, and print the score and the survivors."""
    files = [path for room in paths or ROOMS for path in _sources(ROOT / room)]
    every = [each for path in sorted(files) for each in mutations(path)]
    drawn = sorted(every, key=lambda each: _drawn(seed, each))[:count]
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build")
        shutil.copytree(ROOT, copy, ignore=left_out)
        for number, each in enumerate(drawn):
            if is_noticed(each, copy):
                noticed += 1
                continue
            print(f"survived, after {noticed} of {number} noticed: {_place(each)}", flush=True)
        print(f"{noticed} of {len(drawn)} were noticed (seed {seed}, of {len(every):,} places)")


def _place(mutation: Mutation) -> str:
    where = f"{mutation.path.relative_to(ROOT)}:{mutation.line}"
    return f"{where}: {mutation.before!r} as {mutation.after!r}"


def _drawn(seed: int, mutation: Mutation) -> str:
    """Return a key by which the changes are in another order for every seed."""
    place = f"{seed} {mutation.path.relative_to(ROOT)} {mutation.line} {mutation.before}"
    return hashlib.sha256(place.encode()).hexdigest()


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
        sys.argv[3:],
    )
