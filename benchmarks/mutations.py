"""Break one comparison or condition at a time, and count how often the tests of its room notice it.

``python -m benchmarks.mutations COUNT [SEED] [PATH…]`` draws places in ``protocols/`` and
``emulator/ledger/`` (or in PATHs), changes each in a copy of the tree, and prints the share that was
noticed, the survivors, and those whose tests did not end in time. A survivor is a test that is missing,
or a change without effect. What a fork of the loaded tests does not notice is tried in a process of its own,
as a change may have its effect when a file is imported.

``python -m benchmarks.mutations all PATH… --tests FILE…`` changes every place of some modules, and tries
each with these tests alone: a few quick files are loaded in seconds, so that a module takes a minute or two.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.warm_tests import Change, Warm

ROOT = Path(__file__).parent.parent
ROOMS = ("protocols", "emulator/ledger")
LOADED = tuple(f"tests/{room}" for room in ROOMS)
"""Folders of tests that are loaded at once; a change is tried with those of its own room."""

LIMIT_S = 300
"""Tests that run longer than this have noticed an endless loop, unless the machine is slow: each is printed."""

FAILED = (1, 2)
"""Exit statuses of pytest: a test failed, or could not be imported."""

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


def in_order(path: Path, tree: Path) -> list[str]:
    """Return the files of a room's tests in a tree: those that name a file's module most often come first.

    Tests stop at the first failure, so that a change is noticed sooner.
    """

    def named(test: Path) -> int:
        return len(re.findall(rf"\b{path.stem}\b", f"{test.stem} {test.read_text('utf-8')}"))

    tests = sorted((tree / tests_of(path)).rglob("test_*.py"))
    own = [test for test in tests if test.stem == f"test_{path.stem}"]
    others = sorted((test for test in tests if test not in own), key=named, reverse=True)
    return [test.relative_to(tree).as_posix() for test in (*own, *others)]


class Trial:
    """A copy of the tree in which changes are tried, and the loaded tests of its rooms."""

    def __init__(self, copy: Path, tests: Sequence[str] = ()) -> None:
        """Take an unchanged copy of the tree; *tests*: those that try each change, not those of its room."""
        self._copy = copy
        self._tests = tuple(tests)
        self._rooms: dict[str, Warm] = {}

    def is_noticed(self, mutation: Mutation) -> bool:
        """Return whether the tests of the room fail with this change."""
        status = self._forked(mutation)
        if status is not None and status < 0:
            print(f"ended by signal {-status}: {_place(mutation)}", flush=True)
            return True
        if status is not None and self._tests:
            return status in FAILED
        return status in FAILED or self._alone(mutation)

    def _forked(self, mutation: Mutation) -> int | None:
        tests = "tests" if self._tests else tests_of(mutation.path)
        loaded = next((each for each in LOADED if f"{tests}/".startswith(f"{each}/")), tests)
        if loaded not in self._rooms:
            self._rooms[loaded] = Warm(self._copy, *(self._tests or (loaded,)))
        path = self._copied(mutation)
        change = Change(path, path.read_text(encoding="utf-8"), mutation.source, tests)
        return self._rooms[loaded].status(change)

    def _alone(self, mutation: Mutation) -> bool:
        """Return whether a new process, which imports the changed file, notices it."""
        changed = self._copied(mutation)
        original = changed.read_text(encoding="utf-8")
        changed.write_text(mutation.source, encoding="utf-8")
        try:
            return _fails(self._tests or in_order(mutation.path, self._copy), self._copy)
        except subprocess.TimeoutExpired:
            print(f"longer than {LIMIT_S} s: {_place(mutation)}", flush=True)
            return True
        finally:
            changed.write_text(original, encoding="utf-8")

    def _copied(self, mutation: Mutation) -> Path:
        return self._copy / mutation.path.relative_to(ROOT)


def _fails(tests: Sequence[str], copy: Path) -> bool:
    """Return whether a test fails, or cannot be imported any more."""
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode in FAILED


def every_of(paths: Sequence[str]) -> list[Mutation]:
    """Return all changes of some files and folders, by place."""
    files = [path for room in paths for path in _sources(ROOT / room)]
    return [each for path in sorted(files) for each in mutations(path)]


def main(drawn: list[Mutation], of: str, tests: Sequence[str] = ()) -> None:
    """Try each change, and print the score and the survivors; *of*: where they are from, in words."""
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build")
        shutil.copytree(ROOT, copy, ignore=left_out)
        trial = Trial(copy, tests)
        for number, each in enumerate(drawn):
            if trial.is_noticed(each):
                noticed += 1
                continue
            print(f"survived, after {noticed} of {number} noticed: {_place(each)}", flush=True)
        print(f"{noticed} of {len(drawn)} were noticed ({of})")


def _place(mutation: Mutation) -> str:
    where = f"{mutation.path.relative_to(ROOT)}:{mutation.line}"
    return f"{where}: {mutation.before!r} as {mutation.after!r}"


def _drawn(seed: int, mutation: Mutation) -> str:
    """Return a key by which the changes are in another order for every seed."""
    place = f"{seed} {mutation.path.relative_to(ROOT)} {mutation.line} {mutation.before}"
    return hashlib.sha256(place.encode()).hexdigest()


def _sources(path: Path) -> list[Path]:
    if not path.exists():
        raise SystemExit(f"{path.relative_to(ROOT)}: no such file or folder of the project")
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _command() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", help="a number of changes to draw, or `all`")
    parser.add_argument("words", nargs="*", help="SEED and PATHs; PATHs alone with `all`")
    parser.add_argument(
        "--tests", nargs="+", default=(), help="the files of tests to try them with"
    )
    given = parser.parse_args()
    if given.count == "all":
        main(every_of(given.words), f"all places of {', '.join(given.words)}", given.tests)
        return
    seed = int(given.words[0]) if given.words else 1
    every = every_of(given.words[1:] or ROOMS)
    drawn = sorted(every, key=lambda each: _drawn(seed, each))[: int(given.count)]
    main(drawn, f"seed {seed}, of {len(every):,} places", given.tests)


if __name__ == "__main__":
    _command()
