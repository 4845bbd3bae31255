"""Open a Spark session: on this machine by default, unchanged on a user's cluster.

A master is set only if ``spark-submit`` (which sets the port of its gateway in the environment) or
Spark Connect (``SPARK_REMOTE``) has not decided it. On one machine, workers use the same Python,
all ports listen on loopback only, and Spark's files are in a folder that is deleted with the
session.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import assignors
import emulator
import protocols
from assignors.values import dataclass
from emulator.spark.environment import (
    CONNECT,
    PATIENCE_S,
    REMOTE,
    find_java,
    is_local,
    java_home_for_spark,
    master_to_set,
)
from emulator.spark.errors import SparkError, translated_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


TASKS_A_CORE = 3
"""Tasks per core: a Python task costs about 50 ms, and cores should finish together."""

EXECUTOR_PATIENCE_S = 120.0
"""Timeout for a cluster's first task, in seconds; Spark itself would wait for ever."""

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
"""Log4j's settings: errors arrive as exceptions, which ``translated_errors`` reports once."""


@dataclass(frozen=True, slots=True)
class Session:
    """A running Spark session, with its environment."""

    spark: SparkSession
    java: str
    """The Java it runs on; empty if another process started it."""

    cores: int

    @property
    def tasks(self) -> int:
        """Return the number of tasks to divide work into."""
        return self.cores * TASKS_A_CORE

    def cancel(self) -> None:
        """Cancel all jobs; do nothing if Spark has died."""
        with _dead_or_alive():
            if _is_connect(self.spark):
                self.spark.interruptAll()
            else:
                self.spark.sparkContext.cancelAllJobs()

    def stop(self) -> None:
        """Stop the session, unless Spark has died."""
        with _dead_or_alive():
            self.spark.stop()


@contextmanager
def _dead_or_alive() -> Iterator[None]:
    """Ignore errors of a Spark process that has ended."""
    from py4j.protocol import Py4JError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    with suppress(Py4JError, PySparkException, ConnectionError, EOFError):
        yield


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
            "pyspark is not installed: pip install 'rebalance-emulator[spark]', or use `engine=pool`"
        )
    folder = Path(tempfile.mkdtemp(prefix="rebalance-spark-"))
    try:
        session = _started(name, master_to_set(os.environ, master), settings or {}, folder)
        try:
            _ship(session.spark, write_zip(folder / "rebalance_emulator.zip"))
            if not _has_workers(session.spark):
                _await_executor(session, master)
            yield session
        finally:
            session.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(name: str, master: str | None, settings: Mapping[str, str], folder: Path) -> Session:
    from py4j.protocol import Py4JError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.appName(name)
    java, java_home = "", None
    if master is not None:
        found = find_java(os.environ)
        java, java_home = str(found), java_home_for_spark(found, folder)
        builder = builder.master(master)
    for key, value in {**_settings(master, folder), **settings}.items():
        builder = builder.config(key, value)
    try:
        _greet(os.environ.get(REMOTE, ""))
        with _environment(_variables(master, java_home)):
            spark = builder.getOrCreate()
    except (Py4JError, PySparkException, ImportError, OSError) as error:
        where = java or "as it was set up"
        raise SparkError(f"Spark does not start ({where}): {_no_start(error, master)}") from None
    return Session(spark, java, _cores(spark))


def _greet(remote: str) -> None:
    """Check that the address is a Connect server; Spark's client would retry for ten minutes."""
    if not remote.startswith(CONNECT):
        return
    import grpc  # noqa: PLC0415
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415  needs [connect]

    with DefaultChannelBuilder(remote).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(PATIENCE_S)
        except grpc.FutureTimeoutError:
            raise SparkError(
                f"{REMOTE}={remote.partition(';')[0]}: the port is open, but no Spark Connect "
                "server accepted the connection"
            ) from None


def _no_start(error: Exception, master: str | None) -> str:
    """Return why Spark did not start, and a remedy if one is known."""
    text = str(error)
    if "PACKAGE_NOT_INSTALLED" in text or isinstance(error, ImportError):
        return f"{text.rstrip('.')}; Spark Connect needs pip install 'pyspark[connect]'"
    if "stopped SparkContext" in text:
        return f"{master} rejected the connection; it must be a master of Spark {_version()}"
    reason = next((line for line in text.splitlines() if "Exception: " in line), "")
    return reason.strip(": ") or text.rstrip(".")


def _version() -> str:
    import pyspark  # noqa: PLC0415  only where Spark is used

    return pyspark.__version__


def _await_executor(session: Session, master: str | None) -> None:
    """Wait until a cluster has run a task; raise SparkError after the timeout."""
    with ThreadPoolExecutor(1, "first-task") as aside:
        first = aside.submit(lambda: session.spark.range(0, 1, 1, 1).collect())
        try:
            with translated_errors():
                first.result(EXECUTOR_PATIENCE_S)
        except TimeoutError:
            session.cancel()
            raise SparkError(
                f"{master or 'the cluster'} provided no executor within {EXECUTOR_PATIENCE_S:.0f} s: "
                "it needs a live worker with a free core and enough memory "
                "(spark.executor.memory). If it is busy, try again later"
            ) from None
        except BaseException:
            session.cancel()
            raise


def _settings(master: str | None, folder: Path) -> dict[str, str]:
    """Return the settings of every session, and more for one on this machine."""
    common = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
    if REMOTE in os.environ:
        return common
    common |= {"spark.ui.showConsoleProgress": "false"}
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


def _variables(master: str | None, java_home: Path | None) -> dict[str, str | None]:
    if master is None:
        return {}
    variables: dict[str, str | None] = {"JAVA_HOME": str(java_home)}
    if is_local(master):
        variables |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
        variables["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return variables


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables (None removes one), and restore them afterwards."""
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
    """Send our packages to the executors, through the Spark context or through Spark Connect."""
    if _is_connect(spark):
        spark.addArtifacts(str(archive), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(archive))


def _cores(spark: Any) -> int:
    """Return the number of tasks that run at once; an estimate for Spark Connect."""
    return 8 if _is_connect(spark) else int(spark.sparkContext.defaultParallelism)


def _has_workers(spark: Any) -> bool:
    """Return whether workers are processes of this machine, which are always available."""
    return not _is_connect(spark) and is_local(spark.sparkContext.master)


def _is_connect(spark: Any) -> bool:
    return "connect" in type(spark).__module__


ROOMS = (assignors, emulator, protocols)
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all files in the zip file, so that equal sources give equal bytes."""


def write_zip(path: Path) -> Path:
    """Write the packages as a zip file, compiled beside their sources, and return its path.

    An executor with another version of Python uses the sources.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sources():
            _add(archive, name, source)
            if source.suffix == ".py":
                _add_compiled(archive, name, source)
    return path


def sources() -> Iterator[tuple[str, Path]]:
    """Yield every file of our packages, with its name in the zip file."""
    for room in ROOMS:
        root = Path(room.__file__ or "").parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(root.parent).as_posix(), path


def _add(archive: zipfile.ZipFile, name: str, source: Path) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, source.read_bytes())


def _add_compiled(archive: zipfile.ZipFile, name: str, source: Path) -> None:
    """Add the compiled module beside the source, as unchecked byte code."""
    content = source.read_bytes()
    try:
        code = compile(content, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise py_compile.PyCompileError(type(error), error, name) from None
    digest = importlib.util.source_hash(content)
    unchecked = 0b01.to_bytes(4, "little")
    head = importlib.util.MAGIC_NUMBER + unchecked + digest
    info = zipfile.ZipInfo(f"{name}c", EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, head + marshal.dumps(code))


LOOK_EVERY_S = 0.5
"""Seconds between two checks for finished work."""

Work = TypeVar("Work")
Result = TypeVar("Result")


def results_of(
    session: Session,
    job: Callable[[], None],
    work: Sequence[Work],
    look: Callable[[Work], Result | None],
) -> Iterator[Result]:
    """Run a job; yield the result of each piece of work once it is available.

    *look*: returns the result of a piece, None while it is not done. Raise SparkError if a task
    fails; the job ends when the iteration stops.
    """
    waiting = list(work)
    with ThreadPoolExecutor(1, "job") as aside:
        running = aside.submit(job)
        try:
            while waiting and not running.done():
                wait([running], timeout=LOOK_EVERY_S)
                yield from _done(waiting, look)
        except BaseException:
            session.cancel()
            raise
        _finish(running)
    yield from _done(waiting, look)


def _done(waiting: list[Work], look: Callable[[Work], Result | None]) -> Iterator[Result]:
    """Yield finished pieces, and remove them from *waiting*."""
    for each in list(waiting):
        result = look(each)
        if result is not None:
            waiting.remove(each)
            yield result


def _finish(job: Future[None]) -> None:
    with translated_errors(". Finished pieces are kept; the same command continues from there"):
        job.result()
