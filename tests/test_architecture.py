"""The house keeps its shape: who may import whom, how long things are, what names are not used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("assignors", "protocols", "emulator")
LONGEST_FILE = 350
LONGEST_FUNCTION = 40

ARROWS = {
    "assignors": set(),
    "protocols": {"assignors"},
    "emulator.events": {"assignors"},
    "emulator.outputs": set(),
    "emulator.scenario": {"assignors", "protocols", "emulator.outputs"},
    "emulator.world": {"assignors", "protocols", "emulator.events", "emulator.scenario"},
    "emulator.measure": {"assignors", "emulator.events"},
    "emulator.report": {"assignors", "emulator.events", "emulator.measure"},
    "emulator.playing": {
        "assignors",
        "emulator.events",
        "emulator.scenario",
        "emulator.world",
        "emulator.measure",
    },
    "emulator.verify": {
        "assignors",
        "protocols",
        "emulator",
        "emulator.events",
        "emulator.scenario",
        "emulator.world",
        "emulator.measure",
        "emulator.playing",
    },
    "emulator.study": {
        "assignors",
        "protocols",
        "emulator",
        "emulator.events",
        "emulator.scenario",
        "emulator.world",
        "emulator.measure",
        "emulator.report",
        "emulator.playing",
        "emulator.outputs",
        "emulator.tables",
    },
    "emulator.pipeline": {
        "assignors",
        "protocols",
        "emulator",
        "emulator.study",
        "emulator.imported",
        "emulator.audit",
    },
}
"""Each room, and what it may know besides itself; rooms that are not named may know all."""


def sources() -> list[Path]:
    """Return every file of the product."""
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def everything_python() -> list[Path]:
    """Return the product's files, its tests, examples and benchmarks."""
    more = ("tests", "examples", "benchmarks")
    return sources() + sorted(path for room in more for path in (ROOT / room).rglob("*.py"))


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room a module stands in: a package of ``emulator``, or a top level one."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "emulator" else parts[0]


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a file imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "emulator":
            yield from (f"emulator.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def named(path: Path) -> str:
    """Return a path as people write it."""
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a file, at any depth."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


def lines_below_docstring(function: ast.FunctionDef) -> int:
    """Return how many lines a function's statements take."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_imports_follow_the_arrows():
    """A room imports from the rooms it may know and from no other."""
    against = []
    for path in sources():
        room = room_of(module_of(path))
        for module in imported(ast.parse(path.read_text())):
            target = room_of(module)
            known = target.split(".")[0] not in ROOMS or target == room
            if not known and target not in ARROWS.get(room, {target}):
                against.append(f"{named(path)} imports {module}")
    assert against == []


def test_spark_is_known_in_the_pipeline_alone():
    """``pyspark`` is imported nowhere else."""
    assert [] == [
        named(path)
        for path in sources()
        for module in imported(ast.parse(path.read_text()))
        if module.split(".")[0] == "pyspark" and room_of(module_of(path)) != "emulator.pipeline"
    ]


def test_a_run_loads_nothing_heavy():
    """Spark, Parquet and plotting are loaded by what needs them, not by every start."""
    program = """
import sys
import emulator.cli.main
import emulator
from emulator.cli.choosing import choose
emulator.run(choose("quiet").scenario)
heavy = {"pyspark", "pyarrow", "pandas", "numpy", "plotly", "matplotlib", "kafka"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"


def test_files_fit_on_a_few_screens():
    """A file has one subject and at most so many lines."""
    lengths = {named(path): len(path.read_text().splitlines()) for path in everything_python()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_functions_fit_on_one_screen():
    """A function has one level of abstraction and at most so many lines below its docstring."""
    assert {} == {
        f"{named(path)}: {function.name}": lines
        for path in sources()
        for function in functions(path)
        if (lines := lines_below_docstring(function)) > LONGEST_FUNCTION
    }


def test_names_say_what_a_thing_is():
    """No file and no function is called by a word that fits anything."""
    vague = re.compile(r"(^|_)(utils?|helpers?|manager|maybe)(_|$)")
    names = {path.stem for path in everything_python()}
    names |= {function.name for path in everything_python() for function in functions(path)}
    assert {name for name in names if vague.search(name)} == set()


def test_nothing_is_left_for_later_and_no_machine_shows():
    """Kept files hold no mark of unfinished work and no path of somebody's machine."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: the list of kept files comes from git")
    later = "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X"))
    marks = re.compile(rf"\b({later})\b|/(home|work|root|Users)/\w|(?<!\w)/tmp/\w")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [] == [
        f"{named(path)}:{number}: {line.strip()[:80]}"
        for path in paths
        if path.suffix not in {".gz", ".png"} and path.is_file()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    ]
