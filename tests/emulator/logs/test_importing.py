"""The choice of the engine: processes, or Spark, by location and size."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.errors import RefusedError
from emulator.logs.importing import engine_for, spark_for_far
from emulator.logs.imports.pieces import Selection, segment_at
from emulator.logs.imports.request import Planned, Request
from emulator.spark import session as sessions
from emulator.spark.errors import SparkError

LARGE = 2**40
CONNECT = {"SPARK_REMOTE": "sc://there"}


def request(*sources, engine="auto", master=None):
    """Return a request for an import."""
    return Request(
        sources=sources,
        output=Path("imported"),
        bootstrap=None,
        config=None,
        settings=(),
        groups=(),
        begin=None,
        end=None,
        engine=engine,
        master=master,
        jobs=None,
    )


def planned(source, size):
    """Return an import of one segment."""
    piece = segment_at(f"{source}/{0:020}.log", size, "")
    return Planned(Path("imported"), (source,), (piece,), Selection(), is_live=False)


@pytest.fixture
def started(monkeypatch):
    """Note which master a session would be started with."""
    masters = []

    @contextmanager
    def open_session(name, *, master=None, settings=None):
        del name
        masters.append(master)
        yield "a session"

    monkeypatch.setattr(sessions, "open_session", open_session)
    return masters


@pytest.mark.parametrize(
    ("source", "options", "environment", "masters"),
    [
        ("logs", {}, {}, []),
        ("logs", {"engine": "spark"}, {}, []),
        ("file:///logs", {"master": "local[2]"}, {}, []),
        ("s3://bucket/logs", {}, {}, []),
        ("s3://bucket/logs", {"engine": "pool"}, CONNECT, []),
        ("s3://bucket/logs", {"engine": "spark"}, {}, [None]),
        ("s3://bucket/logs", {"master": "local[2]"}, {}, ["local[2]"]),
        ("gs://bucket/logs", {}, CONNECT, [None]),
        ("hdfs://host/logs", {}, {}, [None]),
        ("hdfs://host/logs", {"engine": "pool"}, {}, []),
        ("s3a://bucket/logs", {"master": "local[2]"}, {}, ["local[2]"]),
    ],
)
def test_spark_starts_for_what_its_file_systems_read(
    started, source, options, environment, masters
):
    """Before anything is found; of other things the size decides, later."""
    with spark_for_far(request("more", source, **options), environment) as session:
        assert session == ("a session" if masters else None)

    assert masters == started


@pytest.mark.parametrize(
    ("source", "size", "engine", "environment", "name"),
    [
        ("logs", 1, "auto", {}, "pool"),
        ("logs", LARGE, "auto", {}, "spark"),
        ("logs", 1, "auto", CONNECT, "spark"),
        ("logs", LARGE, "pool", {}, "pool"),
        ("s3://bucket/logs", LARGE, "auto", {}, "pool"),
    ],
)
def test_the_quicker_engine_reads_what_any_can(source, size, engine, environment, name):
    """Unless an engine was chosen. Remote files of processes are not read by Spark."""
    pytest.importorskip("pyspark")

    assert name == engine_for(planned(source, size), request(engine=engine), environment).name


def test_a_running_session_is_used():
    """It is named in the report."""
    asked = request("hdfs://host/logs", master="local[2]")

    chosen = engine_for(planned("hdfs://host/logs", 1), asked, {}, "a session")

    assert ("spark", "Spark on local[2], through its own file systems") == (
        chosen.name,
        chosen.words,
    )


def test_a_spark_that_does_not_start_is_reported(monkeypatch):
    """As an error that the user can fix."""

    def open_session(name, *, master=None, settings=None):
        raise SparkError(f"{name} on {master}: Java is missing")

    monkeypatch.setattr(sessions, "open_session", open_session)

    with (
        pytest.raises(RefusedError, match=r"^`engine=spark`: rebalance import on None: Java"),
        spark_for_far(request("hdfs://host/logs"), {}),
    ):
        pass
