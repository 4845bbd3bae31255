"""The layout holds: which room may import which, how long things are, what names are not used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("assignors", "protocols", "emulator")
PLUGIN = ROOT / "pytest_rebalance.py"
"""The pytest plugin, in no package."""

LONGEST_FILE = 400
LONGEST_FUNCTION = 40

FLOOR = {
    "assignors",
    "protocols.facts",
    "protocols.java_maps",
    "protocols.machine",
    "protocols.messages",
    "protocols.settings",
    "protocols.values",
}
"""What the group side and the client side both import."""

OFFSETS_TOPIC = {
    "protocols.offsets_topic",
    "protocols.offsets_topic.records",
    "protocols.offsets_topic.replay",
    "protocols.offsets_topic.segments",
}

GROUP_SIDE = FLOOR | OFFSETS_TOPIC | {"protocols.groups"}

MEASURED = {"assignors", *(f"emulator.{x}" for x in ("events", "ledger", "metrics", "verdicts"))}
PLAYED = MEASURED | {"protocols", "emulator.scenario", "emulator.world", "emulator.playing"}
PLAYED |= {"emulator.input_files"}
LIBRARY = {f"emulator.{x}" for x in ("advice", "advising", "comparison", "explanation")}
LIBRARY |= {"emulator.loading", "emulator.modes", "emulator.sweeps"}
ADVICE = PLAYED | {f"emulator.{x}" for x in ("loading", "processes", "report", "sweeps")}
FILES = {"emulator.limits", "emulator.output_files", "emulator.parquet_file", "emulator.versions"}
LOGS = FILES | {f"emulator.{x}" for x in ("metrics", "tables", "engines", "logs", "spark")}
LOGS |= {"assignors", "emulator.input_files", "emulator.processes", "emulator.report"}
WRITTEN = {"emulator.run_files", "emulator.run_pages", "emulator.tracing"}
"""What a run writes besides its report."""

ARROWS: Mapping[str, set[str]] = {
    "assignors": set(),
    "protocols.java_maps": {"assignors"},
    "protocols.messages": {"assignors", "protocols.values"},
    "protocols.settings": {"assignors"},
    "protocols.values": {"assignors"},
    "protocols.offsets_topic": {
        "assignors",
        "protocols.java_maps",
        "protocols.offsets_topic.records",
    },
    "protocols.offsets_topic.records": {"assignors"},
    "protocols.offsets_topic.segments": {"assignors", "protocols.offsets_topic.records"},
    "protocols.offsets_topic.replay": {
        "assignors",
        "protocols.java_maps",
        "protocols.offsets_topic",
        "protocols.offsets_topic.records",
        "protocols.values",
    },
    "protocols.facts": {"assignors", "protocols.messages", "protocols.values"},
    "protocols.machine": {
        "assignors",
        "protocols.facts",
        "protocols.messages",
        "protocols.offsets_topic.records",
        "protocols.values",
    },
    "protocols.groups": FLOOR | OFFSETS_TOPIC,
    "protocols.groups.classic": GROUP_SIDE,
    "protocols.groups.kip848": GROUP_SIDE,
    "protocols.groups.migration": GROUP_SIDE
    | {"protocols.groups.classic", "protocols.groups.kip848"},
    "protocols.coordinator": GROUP_SIDE
    | {"protocols.groups.classic", "protocols.groups.kip848", "protocols.groups.migration"},
    "protocols.consumer": FLOOR,
    "protocols.consumer.classic": FLOOR | {"protocols.consumer"},
    "protocols.consumer.kip848": FLOOR | {"protocols.consumer"},
    **{f"emulator.{x}": {"assignors"} for x in ("assignment", "errors", "processes")},
    **{f"emulator.{x}": {"assignors"} for x in ("input_files", "output_files")},
    **{f"emulator.{x}": set() for x in ("versions", "tables")},
    "emulator.limits": {"assignors"},
    "emulator.parquet_file": {"emulator.limits", "emulator.output_files"},
    "emulator.events": {"assignors", "protocols.facts", "protocols.messages", "protocols.values"}
    | {"emulator.parquet_file"},
    "emulator.scenario": FILES | {"assignors", "protocols", "emulator.input_files"},
    "emulator.world": {"assignors", "protocols", "emulator.events", "emulator.scenario"},
    "emulator.ledger": {"assignors", "emulator.events"},
    "emulator.metrics": {"assignors", "emulator.events", "emulator.ledger"},
    "emulator.verdicts": MEASURED | {"emulator.scenario"},
    "emulator.report": MEASURED,
    "emulator.report.wording": set(),
    "emulator.playing": PLAYED | {"emulator.loading", "emulator.tables"},
    "emulator.loading": PLAYED,
    "emulator.advice": ADVICE,
    "emulator.advising": ADVICE | {"emulator.advice", "emulator.subjects", "emulator.tables"},
    "emulator.handlers": {"emulator.world"},
    "emulator.sweeps": PLAYED | {"emulator.loading", "emulator.processes", "emulator.tables"},
    "emulator.modes": PLAYED | {"emulator.logs", "emulator.processes", "emulator.sweeps"},
    "emulator.comparison": ADVICE - {"emulator.report"} | {"emulator.tables"},
    "emulator.commit_facts": PLAYED | {"emulator.report"},
    "emulator.handler_facts": PLAYED | {"emulator.report"},
    "emulator.subjects": PLAYED
    | {"emulator.advice", "emulator.commit_facts", "emulator.comparison"}
    | {"emulator.handler_facts", "emulator.loading", "emulator.report"},
    "emulator.explanation": PLAYED | {"emulator.loading", "emulator.report", "emulator.subjects"},
    "emulator.run_files": {"emulator.events", "emulator.output_files", "emulator.scenario"},
    "emulator.run_pages": PLAYED
    | {"emulator", "emulator.report", "emulator.run_files", "emulator.subjects"}
    | LIBRARY
    | FILES,
    "emulator.tracing": PLAYED | {"emulator.report", "emulator.run_files"},
    "emulator.blaming": PLAYED | LOGS | {"emulator.logs.importing"},
    "emulator.conformance": PLAYED
    | {"emulator.limits", "emulator.processes", "emulator.report", "emulator.tables"},
    "emulator.capturing": PLAYED | {"emulator.output_files", "emulator.versions"},
    "emulator.study": PLAYED | FILES | {"emulator", "emulator.report"},
    "emulator.study.planning": PLAYED
    | {"emulator.comparison", "emulator.engines", "emulator.loading"}
    | {"emulator.output_files", "emulator.processes", "emulator.spark", "emulator.study"},
    "emulator.study.running": PLAYED
    | FILES
    | {"emulator.engines", "emulator.report", "emulator.study", "emulator.study.planning"}
    | {"emulator.tables"},
    "emulator.logs": MEASURED
    | FILES
    | {"protocols", "emulator", "emulator.scenario", "emulator.report", "emulator.study"}
    | {"emulator.input_files"},
    "emulator.engines": {"assignors", "emulator.processes", "emulator.spark"},
    "emulator.logs.importing": LOGS,
    "emulator.logs.group_scenario": LOGS | {"emulator.logs.importing"},
    "emulator.logs.auditing": LOGS,
    "emulator.spark": {"assignors", "protocols", "emulator", "emulator.logs", "emulator.study"},
    "emulator.cli": {"assignors", "protocols", "emulator", "emulator.spark", "emulator.logs"}
    | {"emulator.engines", "emulator.logs.importing", "emulator.logs.group_scenario"}
    | {"emulator.logs.auditing", "emulator.study.planning", "emulator.study.running"}
    | {"emulator.study", "emulator.conformance", "emulator.report", "emulator.processes"}
    | {"emulator.assignment", "emulator.blaming", "emulator.capturing", "emulator.subjects"}
    | {*WRITTEN, *LIBRARY}
    | PLAYED
    | FILES,
    "emulator.__main__": {"emulator.cli"},
    "emulator.testing": PLAYED
    | {"emulator.explanation", "emulator.loading", "emulator.report", "emulator.subjects"}
    | {"assignors", "emulator.run_pages", "emulator.sweeps"},
    "emulator.strategies": {"assignors", "emulator.scenario"},
    "pytest_rebalance": {"emulator.testing"},
    "emulator": {
        "assignors",
        "emulator.assignment",
        "emulator.events",
        "emulator.playing",
        "emulator.scenario",
    }
    | {"emulator.conformance", "emulator.study.planning", "emulator.study.running"}
    | {"emulator.logs.auditing", "emulator.logs.group_scenario", "emulator.logs.importing"}
    | {"emulator.blaming", *LIBRARY},
}
"""Each room, and the rooms it may import besides itself; a package includes all below it."""


def sources() -> list[Path]:
    """Return every file of the product."""
    return [PLUGIN, *sorted(path for room in PACKAGES for path in (ROOT / room).rglob("*.py"))]


def everything_python() -> list[Path]:
    """Return the product's files, its tests, examples, benchmarks and page scripts."""
    more = ("tests", "examples", "benchmarks", "docs")
    return sources() + sorted(path for room in more for path in (ROOT / room).rglob("*.py"))


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Return every module of the product, by its dotted name."""
    return {module_of(path): path for path in sources()}


def room_of(module: str) -> str:
    """Return the room of a module: the longest of its packages that has arrows of its own."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((name for name in names if name in ARROWS), names[-1])


def may_import(room: str, target: str) -> bool:
    """Return whether *room* may import from the room *target*."""
    allowed = ARROWS[room]
    if room == target or target in allowed:
        return True
    if target in {"emulator.errors", "emulator.versions", "emulator.report.wording"}:
        return room.startswith("emulator")
    packages = [name for name in allowed if name in PACKAGES[:2]]
    return any(target.startswith(f"{name}.") for name in packages)


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Return every statement of a file, at any depth; much faster than all nodes."""
    found = list[ast.AST](ast.parse(path.read_text()).body)
    for node in found:  # grows while it is read
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(node, name, ())
    return tuple(found)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, in any form and at any place."""
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(path)} imports relatively"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules() else str(node.module)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def named(path: Path) -> str:
    """Return a path as people write it."""
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a file, at any depth."""
    return (node for node in statements(path) if isinstance(node, ast.FunctionDef))


def lines_below_docstring(function: ast.FunctionDef) -> int:
    """Return how many lines a function's statements take."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_imports_follow_the_arrows():
    """A room imports from the rooms it may import and from no other."""
    against = [
        f"{named(path)} imports {target}"
        for path in sources()
        for target in imported(path)
        if target.split(".")[0] in PACKAGES
        and not may_import(room_of(module_of(path)), room_of(target))
    ]
    assert against == []


def test_every_room_has_its_arrows():
    """A new package or top level module must say what it may import."""
    for package in PACKAGES[1:]:
        for path in (ROOT / package).iterdir():
            if path.suffix == ".py" or (path / "__init__.py").is_file():
                assert room_of(module_of(path)) == module_of(path)


def test_no_import_runs_in_a_circle():
    """No file imports another that, by whatever way, imports it; type checking included."""
    graph = {
        module: {target for target in imported(path) if target in modules() and target != module}
        for module, path in modules().items()
        if path.name != "__init__.py"
    }
    files = {name: targets & graph.keys() for name, targets in graph.items()}
    assert cycles(files) == []


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("from protocols import coordinator", "protocols.coordinator"),
        ("import protocols.coordinator.machine", "protocols.coordinator.machine"),
        (
            "def f():\n    from protocols.coordinator import machine",
            "protocols.coordinator.machine",
        ),
    ],
)
def test_every_form_of_import_is_seen(tmp_path, text, target):
    """A package can be imported by name, from its parent, or inside a function."""
    path = tmp_path / "importing.py"
    path.write_text(text)
    assert [*imported(path)] == [target]


def test_spark_is_imported_in_its_room_alone():
    """``pyspark`` is imported nowhere else."""
    assert [] == [
        named(path)
        for path in sources()
        for target in imported(path)
        if target.split(".")[0] == "pyspark" and room_of(module_of(path)) != "emulator.spark"
    ]


def test_a_run_loads_nothing_heavy():
    """Spark, Parquet and plotting are loaded by what needs them, not by every start."""
    program = """
import sys
import emulator.cli.main
import emulator
emulator.run(emulator.load("quiet"))
heavy = {"pyspark", "pyarrow", "pandas", "numpy", "plotly", "matplotlib", "kafka"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


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
    begin = re.compile(r"^\s*(?:async )?def (\w+)", re.MULTILINE)
    names = {path.stem for path in everything_python()}
    names |= {name for path in everything_python() for name in begin.findall(path.read_text())}
    assert not [n for n in names if re.search(r"(^|_)(utils?|helpers?|manager|maybe)(_|$)", n)]


def test_nothing_is_left_for_later_and_no_machine_shows():
    """Files have no mark of unfinished work and no path of a machine."""
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
        if path.suffix not in {".gz", ".parquet", ".png"} and path.is_file()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    ]
