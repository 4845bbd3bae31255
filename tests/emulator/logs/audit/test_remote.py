"""Logs at URIs: read without Spark where pyarrow has the file system."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import emulator
from emulator.engines import EngineRequest
from emulator.errors import RefusedError
from emulator.logs.auditing import _need_spark
from emulator.logs.remote_files import file_system

ROWS = pa.table(
    {
        "topic": ["orders"] * 4,
        "partition": [0] * 4,
        "offset": [0, 1, 1, 2],
        "consumer": ["a", "a", "b", "b"],
        "end": [1_700_000_000_000_000 + at for at in range(4)],
    }
)


def test_a_log_at_a_uri_is_audited_as_a_path_is(tmp_path):
    """A file, and a folder whose hidden files are skipped."""
    folder = tmp_path / "logs"
    (folder / "_temporary").mkdir(parents=True)
    pq.write_table(ROWS, folder / "log.parquet")
    pc.write_csv(ROWS, tmp_path / "log.csv")
    (folder / "_temporary" / "log.csv").write_text("no log")

    found = [
        emulator.audit(log).reprocessed
        for path in (folder, folder / "log.parquet", tmp_path / "log.csv")
        for log in (str(path), path.as_uri())
    ]

    assert [1] * 6 == found


@pytest.mark.parametrize(
    ("path", "said"),
    [("nowhere", "nowhere: no such file or folder"), ("empty", "empty: no file ends in .parquet")],
)
def test_a_uri_without_a_log_is_refused(tmp_path, path, said):
    """With the URI."""
    (tmp_path / "empty").mkdir()

    with pytest.raises(RefusedError, match=said):
        emulator.audit((tmp_path / path).as_uri())


@pytest.mark.parametrize(
    ("log", "wanted", "needs"),
    [
        ("s3://bucket/log.csv", EngineRequest(), False),
        ("gs://bucket/log.csv", EngineRequest(), False),
        ("file:///log.csv", EngineRequest(), False),
        ("s3://bucket/log.csv", EngineRequest("spark"), True),
        ("s3://bucket/log.csv", EngineRequest(master="local[2]"), True),
        ("s3a://bucket/log.csv", EngineRequest(), True),
        ("hdfs://host/log.csv", EngineRequest(), True),
    ],
)
def test_spark_reads_what_processes_cannot(log, wanted, needs):
    """Or what the user wants it to read."""
    assert needs == _need_spark([log], wanted)


def test_an_unreachable_bucket_of_google_is_reported_soon(monkeypatch):
    """Its client would retry for a quarter of an hour."""
    asked = []
    monkeypatch.setattr(fs, "FileSystem", type("Asked", (), {"from_uri": asked.append}))

    file_system("gs://bucket/logs")
    file_system("gs://bucket/logs?retry_limit_seconds=5")

    assert [
        "gs://bucket/logs?retry_limit_seconds=30",
        "gs://bucket/logs?retry_limit_seconds=5",
    ] == asked
