"""Examples of pages that are not run: Java is compiled, shell is parsed, and its options are checked."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest
import typer

import emulator
from docs.pages.shown import ROOT
from emulator.cli.main import app

BLOCK = re.compile(r"^```(java|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = [
    (kind, text, f"{page.relative_to(ROOT)} {number}")
    for page in PAGES
    for number, (kind, text) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]
FRAME = """
class Snippet {{
    interface Histogram {{ void record(long nanoseconds); }}
    static <T> void run(java.util.function.Consumer<T> handler, T record, Histogram workTime,
            Histogram lateness) throws InterruptedException {{
        {}
    }}
}}
"""
"""Names that the snippets take from the application."""


def of(kind):
    return [pytest.param(text, id=where) for each, text, where in BLOCKS if each == kind]


@pytest.mark.long
@pytest.mark.parametrize("text", of("java"))
def test_java_compiles(text, tmp_path):
    """Inside a method that has what the snippet does not declare."""
    if shutil.which("javac") is None:
        pytest.skip("no javac: the Java snippets are not compiled")
    source = tmp_path / "Snippet.java"
    source.write_text(FRAME.format(text))

    done = subprocess.run(
        ["javac", "-Werror", "-d", tmp_path, source], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("text", of("sh"))
def test_shell_is_parsed_and_its_options_exist(text):
    """Also those of commands that need a cluster, a network or much time."""
    parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    group = typer.main.get_command(app)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("rebalance ")]

    assert (0, "") == (parsed.returncode, parsed.stderr)
    for _, name, *words in commands:
        with click.Context(group, info_name="rebalance") as context:
            group.get_command(context, name).make_context(name, words, parent=context)


def test_every_kind_of_example_is_known():
    """A new one needs a test, or a reason why it has none."""
    kinds = {
        kind
        for page in PAGES
        for kind in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert kinds <= {
        "console",
        "csv",
        "java",
        "python",
        "sh",
        "sql",
        "text",
        "toml",
        "pycon",
        "json",
    }


GROUP = """title = "an example"
run_for = "1min"
topic = [{ name = "orders", partitions = 6, rate = "1/s" }]
"""


@pytest.mark.parametrize("page", ["reference/clients.md", "explanation/measuring.md"])
def test_tables_of_scenarios_are_accepted(page, tmp_path):
    """Those of ``measuring`` are two ways to write one key of a group."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (tmp_path / "work-times.txt").write_text("1ms\n2ms\n")
    (tables,) = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    group = '[[group]]\nid = "billing"\ntopics = ["orders"]\nmembers = 2\n'
    ways = [tables] if "[[group]]" in tables else [group + way for way in tables.splitlines()]

    for way in ways:
        assert emulator.loads(GROUP + way, folder=tmp_path).group


def test_the_program_of_the_api_page_runs():
    """The one at its beginning; the others are doctests of the functions."""
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    programs = [
        block
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if block.startswith("import ")
    ]
    done = subprocess.run(
        [sys.executable, "-c", *programs], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert 1 == len(programs)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("D1 orders-")
