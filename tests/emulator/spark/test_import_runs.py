"""Imports on a real Spark: the same bytes as one process writes, and rows of its data source."""

from __future__ import annotations

import pyarrow as pa
import pytest

from emulator.logs.imports import store
from emulator.logs.imports.pieces import LogRange, Selection, segments_of
from emulator.logs.imports.reading import Task, keep
from emulator.logs.imports.tables import TABLES
from emulator.spark.errors import SparkError
from emulator.spark.import_runs import (
    OFFSETS,
    SEGMENTS,
    OffsetsSource,
    SegmentsSource,
    read_on_spark,
)

from ..logs.imports.logs import (
    PRODUCER,
    batch,
    bytes_of,
    commit,
    marker,
    raw_batch,
    written,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Make a broker's folder: real segments, compressed batches, a transaction, spoilt bytes."""
    folder = tmp_path_factory.mktemp("data")
    for partition in (4, 11):
        written(folder / f"__consumer_offsets-{partition}", bytes_of(partition))
    odd = [batch(commit(offset=n), at=n, attributes=n) for n in range(5)]
    odd += [batch(commit(offset=5), at=5, producer=PRODUCER), marker(6)]
    odd += [b"spoilt" * 20, raw_batch((b"\0\x63\0\1g", b""), at=8)]
    written(folder / "__consumer_offsets-5", b"".join(odd))
    return folder


@pytest.fixture(scope="module")
def tasks(log):
    """Return what is to be read."""
    return [Task(piece, Selection()) for piece in segments_of([str(log)])]


@pytest.fixture(scope="module")
def kept(tasks, tmp_path_factory):
    """Read all pieces in this process."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, [keep(task, folder) for task in tasks]


def files_in(folder):
    """Return all files of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.long
def test_spark_writes_the_same_bytes_as_one_process(session, tasks, kept, tmp_path):
    """One file a task; each is reported when it is written."""
    folder, receipts = kept

    results = list(read_on_spark(session, tasks, tmp_path))

    assert files_in(folder) == files_in(tmp_path)
    assert sorted(receipts, key=lambda each: each.name) == sorted(
        results, key=lambda each: each.name
    )


@pytest.mark.parametrize("table", list(TABLES))
def test_the_source_gives_the_rows_of_a_table(session, log, kept, table):
    """It can be used directly; transactions are decided only by an import."""
    session.spark.dataSource.register(SegmentsSource)
    source = session.spark.read.format(SEGMENTS).option("table", table)

    rows = source.load(str(log)).toArrow()

    folder, _ = kept
    paths = [folder / table, folder / store.WORK / "of_transactions"]
    files = [file for path in paths[: 2 if table == "commits" else 1] for file in path.glob("*")]
    expected = pa.concat_tables([pa.parquet.read_table(file) for file in files]).to_pylist()
    for row in expected:
        if row.get("producer_id", -1) >= 0:
            row["transaction"] = "pending"
    assert TABLES[table].names == rows.schema.names
    assert sorted(map(repr, expected)) == sorted(map(repr, rows.to_pylist()))


def test_groups_are_chosen_in_the_worker(session, log):
    """By one pattern, or a list of them."""
    session.spark.dataSource.register(SegmentsSource)
    source = session.spark.read.format(SEGMENTS).option("group", '["g", "nobody"]')

    names = {row.group for row in source.load(str(log)).select("group").collect()}

    assert {"g"} == names


@pytest.mark.long
def test_a_broker_that_is_not_there_ends_the_job(session, tmp_path):
    """With its address in one line."""
    settings = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "hidden"}
    task = Task(LogRange("__consumer_offsets", 0, 0, 5), Selection(), settings)

    with pytest.raises(
        SparkError, match=r"BrokerError: 127\.0\.0\.1:1: no answer within"
    ) as results:
        list(read_on_spark(session, [task], tmp_path))

    assert "hidden" not in str(results.value)


def test_secrets_do_not_show_in_plans(session):
    """Spark hides options whose names say that they hold one; nor do tasks print theirs."""
    session.spark.dataSource.register(OffsetsSource)
    options = {"kafka.sasl.password": "hidden", "kafka.client.id": "shown", "pieces": "[]"}

    rows = session.spark.read.format(OFFSETS).options(**options).load()

    assert 0 == rows.count()
    assert "hidden" not in rows._jdf.queryExecution().toString()
    task = Task(LogRange("t", 0, 0, 1), Selection(), {"sasl.password": "hidden"})
    assert "hidden" not in repr(task)


def test_no_work_is_no_job(session, tmp_path):
    """An import that was interrupted at its end starts nothing."""
    assert [] == list(read_on_spark(session, [], tmp_path))
