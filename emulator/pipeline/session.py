"""The one way to a Spark session: on this machine by default, unchanged on a user's cluster.

A master is set only where nobody else has decided it: ``spark-submit`` (which leaves the port of
its gateway in the environment) and Spark Connect (``SPARK_REMOTE``) have. On one machine, workers
are this very Python, everything listens on loopback alone, and what Spark leaves behind lies in a
folder that goes when the session does.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.pipeline.errors import SparkError
from emulator.pipeline.java import find_java, home_for_spark
from emulator.pipeline.masters import is_local, master_to_set
from emulator.pipeline.shipping import write_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_A_CORE = 3
"""A Python task costs some 50 ms of its own, and cores should end together."""

LOOPBACK = "127.0.0.1"

QUIET = """rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %p %c{1}: %m%n
"""
"""Log4j's settings: what goes wrong arrives as an exception, and is told once, by us."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that runs, and what is known of it."""

    spark: SparkSession
    java: str
    """Which Java it runs on; empty where another process started it."""

    cores: int

    @property
    def tasks(self) -> int:
        """Into how many tasks work should be cut."""
        return self.cores * TASKS_A_CORE

    def cancel(self) -> None:
        """Let nobody work on what nobody waits for."""
        if _is_connect(self.spark):
            self.spark.interruptAll()
        else:
            self.spark.sparkContext.cancelAllJobs()


@contextmanager
def open_session(
    name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Start Spark, and stop it at the end.

    *master*: by default all cores of this machine. *settings*: Spark's own, over ours.
    Raise SparkError if pyspark or Java is missing, or Spark does not start.
    """
    if find_spec("pyspark") is None:
        raise SparkError(
            "pyspark is not installed: pip install 'rebalance-emulator[spark]', or take --engine pool"
        )
    folder = Path(tempfile.mkdtemp(prefix="rebalance-spark-"))
    try:
        session = _started(name, master_to_set(os.environ, master), settings or {}, folder)
        try:
            _ship(session.spark, write_zip(folder / "rebalance_emulator.zip"))
            yield session
        finally:
            session.spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(name: str, master: str | None, settings: Mapping[str, str], folder: Path) -> Session:
    from py4j.protocol import Py4JError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.appName(name)
    java, home = "", None
    if master is not None:
        found = find_java(os.environ)
        java, home = str(found), home_for_spark(found, folder)
        builder = builder.master(master)
    for key, value in {**_settings(master, folder), **settings}.items():
        builder = builder.config(key, value)
    try:
        with _environment(_variables(master, home)):
            spark = builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        reason = next((line for line in str(error).splitlines() if "Exception: " in line), "")
        where = java or "as it was set up"
        told = reason.strip(": ") or str(error).rstrip(".")
        raise SparkError(f"Spark does not start ({where}): {told}") from None
    return Session(spark, java, _cores(spark))


def _settings(master: str | None, folder: Path) -> dict[str, str]:
    """Return what holds for every session; more on this machine, less where others decide."""
    common = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
    if master is None:
        return common
    log4j = folder / "log4j2.properties"
    log4j.write_text(QUIET)
    common |= {
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j}",
        "spark.sql.shuffle.partitions": "4",
    }
    if not is_local(master):
        return common
    return common | {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _variables(master: str | None, home: Path | None) -> dict[str, str | None]:
    if master is None:
        return {}
    variables: dict[str, str | None] = {"JAVA_HOME": str(home)}
    if is_local(master):
        variables |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
        variables["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return variables


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables, None takes one away; afterwards all is as before."""
    before = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _ship(spark: Any, archive: Path) -> None:
    """Send our packages to the executors, in Spark's classic way or through Spark Connect."""
    if _is_connect(spark):
        spark.addArtifacts(str(archive), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(archive))


def _cores(spark: Any) -> int:
    """Return how many tasks run at once; Spark Connect does not tell, so a guess."""
    return 8 if _is_connect(spark) else int(spark.sparkContext.defaultParallelism)


def _is_connect(spark: Any) -> bool:
    return "connect" in type(spark).__module__
