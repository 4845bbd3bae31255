"""Findings about the groups of an import, computed on Spark with ``emulator.logs.imports``.

There are two levels, so that no group is too large: a group's own records are folded group by
group, its commits partition by partition, each as a stream of sorted rows of which only the
sums are kept. Then the sums of a group are combined.

============  ===============================  =================================================
fold          sorted by                        gives
============  ===============================  =================================================
histories     group, place in the log          new owners of partitions, and a history a group
progresses    group, topic, partition, place   a progress a partition, of commits and new owners
assessed      group, topic, partition          findings a group
============  ===============================  =================================================

Values between the folds are pickled; only our own code writes and reads them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from emulator.logs.imports.exploring import (
    GROUP_COLUMNS,
    GROUP_ORDER,
    ORDER,
    STEPS,
    Found,
    assessed,
    histories,
    progresses,
    rows_of,
    step_of_owner,
)
from emulator.logs.imports.group_history import History
from emulator.logs.imports.tables import COUNTING
from emulator.logs.imports.values import WEEK_MS, Assumptions, GroupFindings
from emulator.spark.errors import translated_errors
from protocols.offsets_topic.records import ZERO_TOPIC_ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

ROWS: Final = 1_000
"""Rows of one record batch."""

_VALUE: Final = "value"
FOLDED: Final = pa.schema([*STEPS, pa.field(_VALUE, pa.binary())])
"""New owners as steps; a row with a value is a history."""

FOUND: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        (_VALUE, pa.binary()),
    ]
)
"""A history (its topic is empty) or a progress."""

_BEFORE_ALL: Final = ("", -1)


def explore_on_spark(
    session: Session, folder: Path, *, retention_ms: int = WEEK_MS
) -> Iterator[GroupFindings]:
    """Yield findings about each group of an import, sorted by its id.

    *folder*: with the tables ``commits`` and ``groups``; all executors must reach it. Raise
    SparkError if a task fails.
    """
    with translated_errors():
        for row in _found(session, folder.resolve(), retention_ms).toLocalIterator():
            findings: GroupFindings = pickle.loads(row[_VALUE])  # noqa: S301  made below
            yield findings


def _found(session: Session, folder: Path, retention_ms: int) -> DataFrame:
    commits = session.spark.read.parquet(str(folder / "commits"))
    groups = session.spark.read.parquet(str(folder / "groups"))
    folded = _folded(session, groups).persist()
    steps = _steps_of(commits).unionByName(_owners(folded, commits))
    arranged = _arranged(session, steps, ORDER[:3], ORDER)
    progress = arranged.mapInArrow(fold_progresses, _ddl(FOUND))
    known = folded.where(f"{_VALUE} is not null").select(*FOUND.names)
    assumptions = Assumptions(retention_ms, _last_ms(commits, groups))
    together = _arranged(session, known.unionByName(progress), ORDER[:1], ORDER[:3])
    fold = partial(fold_findings, assumptions=assumptions)
    findings = together.mapInArrow(fold, "group string, value binary")
    return findings.repartition(1).sortWithinPartitions("group")


def _arranged(
    session: Session, rows: DataFrame, together: tuple[str, ...], order: tuple[str, ...]
) -> DataFrame:
    """Return sorted rows; those that belong together are in one task."""
    return rows.repartition(session.tasks, *together).sortWithinPartitions(*order)


def _folded(session: Session, groups: DataFrame) -> DataFrame:
    rows = _arranged(session, groups.select(*GROUP_COLUMNS), GROUP_ORDER[:1], GROUP_ORDER)
    return rows.mapInArrow(fold_histories, _ddl(FOLDED))


def _steps_of(commits: DataFrame) -> DataFrame:
    """Return the commits that count, as ``steps_of_commits`` does."""
    counting = ", ".join(f"'{each}'" for each in COUNTING if each is not None)
    counted = commits.where(f"transaction is null or transaction in ({counting})")
    columns = {
        "at_ms": "timestamp",
        "is_commit": "true",
        "offset": "if(is_tombstone, null, offset)",
        "in_transaction": "transaction is not null",
        **dict.fromkeys(("member_id", "name", "host"), "cast(null as string)"),
    }
    return counted.selectExpr(*(f"{columns.get(name, name)} as {name}" for name in STEPS.names))


def _owners(folded: DataFrame, commits: DataFrame) -> DataFrame:
    """Return new owners; topics are named where commits contain the name."""
    named = (
        commits.where(f"topic_id is not null and topic_id <> '{ZERO_TOPIC_ID}'")
        .groupBy("topic_id")
        .agg({"topic": "max"})
        .withColumnRenamed("max(topic)", "topic_name")
    )
    owners = folded.where(f"{_VALUE} is null")
    joined = owners.join(named, owners["topic"] == named["topic_id"], "left")
    return joined.selectExpr(
        *(
            "coalesce(topic_name, topic) as topic" if name == "topic" else name
            for name in STEPS.names
        )
    )


def _last_ms(commits: DataFrame, groups: DataFrame) -> int:
    times = commits.select("timestamp").unionByName(groups.select("timestamp"))
    last: int | None = times.agg({"timestamp": "max"}).collect()[0][0]
    return last or 0


_DDL: Final = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
}


def _ddl(schema: pa.Schema) -> str:
    """Return a schema as Spark's DDL."""
    return ", ".join(f"`{field.name}` {_DDL[field.type]}" for field in schema)


# -- in the workers --------------------------------------------------------------------------------


def fold_histories(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn sorted rows of ``groups`` into rows of ``FOLDED``."""
    nothing = [None] * (len(STEPS) - 3)
    yield from _batches(
        (
            (folded.group, *_BEFORE_ALL, *nothing, pickle.dumps(folded))
            if isinstance(folded, History)
            else (*step_of_owner(*folded, {}), None)
            for folded in histories(rows_of(batches))
        ),
        FOLDED,
    )


def fold_progresses(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn sorted steps into rows of ``FOUND``."""
    yield from _batches(
        (
            (each.group, each.topic, each.partition, pickle.dumps(each))
            for each in progresses(batches)
        ),
        FOUND,
    )


def fold_findings(
    batches: Iterator[pa.RecordBatch], assumptions: Assumptions
) -> Iterator[pa.RecordBatch]:
    """Turn sorted rows of ``FOUND`` into findings."""
    found: Iterator[Found] = (
        pickle.loads(value.as_py())  # noqa: S301  the folds above made it
        for batch in batches
        for value in batch.column(_VALUE)
    )
    schema = pa.schema([("group", pa.string()), (_VALUE, pa.binary())])
    yield from _batches(
        ((each.group, pickle.dumps(each)) for each in assessed([found], assumptions)), schema
    )


def _batches(rows: Iterator[tuple[Any, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    waiting = list[tuple[Any, ...]]()
    for row in rows:
        waiting.append(row)
        if len(waiting) >= ROWS:
            yield _batch(waiting, schema)
            waiting.clear()
    if waiting:
        yield _batch(waiting, schema)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
