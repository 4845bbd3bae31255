"""The examples of ``docs/how-to/`` run, in the order of their page: commands, files, Python, queries.

Their outputs are compared where the page shows them. Of the commands for a cluster of Spark one is run, on
a local master; of the others the options are checked. ``pytest.md`` and ``offsets-log.md`` have tests of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import click
import pytest
import typer

import emulator
from docs.pages.shown import ROOT, example_folder, output
from emulator.cli.main import app

FOLDER = ROOT / "docs" / "how-to"
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted(FOLDER.glob("*.md"))}
EXAMPLE = re.compile(r"^```(console|python|sql|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLUSTER = re.compile(r"spark-submit|SPARK_REMOTE|spark://")
QUICKER = {"compare": "--seeds 2", "run --seeds": "--seeds 2"}
"""Options after a command with these words, which take less time than its own."""


def examples(page, *kinds):
    return [text for kind, text in EXAMPLE.findall(PAGES[page]) if kind in kinds]


COMMANDS = [
    (page, line.removeprefix("$ "))
    for page in PAGES
    for text in examples(page, "console")
    for line in text.splitlines()
    if line.startswith("$ ")
]


def arguments(command):
    """The words after ``rebalance``, also of a program that stands for it."""
    words = shlex.split(command, comments=True)
    start = words.index("rebalance") if "rebalance" in words else words.index("play.py")
    return words[start + 1 :]


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[one for _, one in COMMANDS])
def test_a_command_has_only_options_that_exist(page, command):
    """Also those that need a cluster."""
    name, *words = arguments(command)
    group = typer.main.get_command(app)
    with click.Context(group, info_name="rebalance") as context:
        group.get_command(context, name).make_context(name, words, parent=context)


TABLES = [
    pytest.param(text, id=f"{page} {number}")
    for page in sorted({*PAGES} - {"studies", "own-handlers"})  # these have tests of their own
    for number, text in enumerate(examples(page, "toml"))
]
TOPIC = '[[topic]]\nname = "{}"\npartitions = 12\nrate = "20/s"\n'
GROUP = '[[group]]\nid = "billing"\ntopics = ["orders"]\nmembers = 3\n'


@pytest.mark.parametrize("text", TABLES)
def test_tables_of_a_page_are_part_of_a_scenario(text):
    """With the tables that they leave out: keys of a group alone are put into one."""
    keys = tomllib.loads(text)
    if not {*keys} & {"title", "group", "topic", "act", "fault", "variant"}:
        text, keys = GROUP + text, {"group": []}
    begin = "" if "title" in keys else 'title = "an example"\nrun_for = "30min"\n'
    wanted = {topic for group in keys.get("group", ()) for topic in group.get("topics", ())}
    topics = "" if "topic" in keys else "".join(map(TOPIC.format, sorted(wanted | {"orders"})))
    group = "" if "group" in keys else GROUP

    assert emulator.loads(f"{begin}{text}\n{topics}{group}").group


def play(command, shown=""):
    words = arguments(command)
    quicker = [more for each, more in QUICKER.items() if {*each.split()} <= {*words}]
    printed = output(" ".join([*map(shlex.quote, words), *quicker]))
    if shown:
        assert shown.splitlines() == printed.splitlines(), command


def play_console(text):
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        if not CLUSTER.search(command):
            play(command, shown)


def play_python(text):
    Path("example.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "example.py"], check=True, env=environment, stdout=subprocess.DEVNULL
    )


@pytest.mark.long
def test_the_examples_of_workers():
    """Four runs."""
    with example_folder():
        for text in examples("workers", "console"):
            play_console(text)


@pytest.mark.long
@pytest.mark.parametrize("page", ["deduplication", "failing-records", "frameworks"])
def test_the_examples_with_scenarios_of_the_catalogue(page):
    """Each command ends well."""
    with example_folder():
        for text in examples(page, "console"):
            play_console(text)


@pytest.mark.long
def test_the_example_of_an_incident():
    """The search gets the logs of a run, and finds the fault that was in it."""
    with example_folder():
        (text,) = examples("explain-an-incident", "toml")
        Path("incident.toml").write_text(text, encoding="utf-8")
        for text in examples("explain-an-incident", "console"):
            play_console(text)


@pytest.mark.long
def test_the_examples_of_studies():
    """Python runs the study of the commands; the file of the page is planned."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: queries not run")
    with example_folder():
        (study,) = examples("studies", "toml")
        Path("my-study.toml").write_text(study, encoding="utf-8")
        assert emulator.plan_study("my-study.toml")
        play("rebalance study")
        for text in examples("studies", "python"):
            play_python(text)
        for query in examples("studies", "sql"):
            assert duckdb.sql(query).fetchall()


@pytest.fixture
def cluster():
    """A folder with the offsets log of a group, and the processing logs of its consumers."""
    with example_folder():
        play(
            "rebalance run member-crashes --write-log kafka --events events.parquet --set start=2026-05-04T09:00:00Z"
        )
        Path("processed").mkdir()
        Path("events.parquet").rename("processed/events.parquet")
        Path("ends.txt").write_text("".join(f"orders:{number}:100000\n" for number in range(6)))
        yield


def at_home(text):
    """An example with files of the fixture instead of those of a cluster."""
    return text.replace(
        "/var/kafka/__consumer_offsets-4", "/var/kafka/__consumer_offsets-9"
    ).replace("/var/kafka", "kafka")


@pytest.mark.long
def test_the_examples_of_imports_and_audits(cluster):
    """An import, its group as a scenario, and an audit with its commits."""
    for text in examples("imported-groups", "console"):
        play_console(at_home(text))
    for page in ("imported-groups", "audits"):
        for text in examples(page, "python"):
            if "import_log" in text:
                shutil.rmtree("imported")
            play_python(at_home(text))


@pytest.mark.soak
@pytest.mark.long
def test_a_command_of_spark_submit_runs_on_a_local_master(cluster):
    """With the program of the page, and files of this machine."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: spark-submit is not run")
    (command,) = (one for page, one in COMMANDS if "imported-groups" == page and "submit" in one)
    for there, here in (
        ("s3a://bucket/kafka", "kafka"),
        ("--master yarn", "--master local[1]"),
        ("/shared/imported", "imported"),
    ):
        assert there in command
        command = command.replace(there, here)
    (program,) = re.findall(r"^  ```python\n(.*?)^  ```$", PAGES["spark"], re.MULTILINE | re.DOTALL)
    Path("play.py").write_text(textwrap.dedent(program), encoding="utf-8")
    submit, *words = shlex.split(command)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    subprocess.run(
        [Path(sys.executable).with_name(submit), *words],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    assert [*Path("imported", "groups").glob("*.parquet")]
