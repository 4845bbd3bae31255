"""Findings on a real Spark: the very same as in one process."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.logs.imports.exploring import explore
from emulator.logs.imports.values import Assumptions
from emulator.spark.findings_runs import explore_on_spark

from ..logs.imports.found import Log, Tables, kept, member

pytestmark = [pytest.mark.spark, pytest.mark.long]

MINUTE = 60_000


def tables() -> Tables:
    """Return real groups, one that went backwards, one known by its offsets, a transaction."""
    log, simple = Log("billing"), Log("simple")
    log.generation(0, 1, member("a", 0, 1), member("b", 2))
    log.steadily(5_000, 10 * MINUTE, 0, 1, 2)
    log.generation(10 * MINUTE, 2, member("a", 0, 1, 2))
    log.commit(10 * MINUTE + 1, 7, 2)
    log.commit(10 * MINUTE + 2, None, 1)
    log.commit(10 * MINUTE + 3, 8, 0, transaction="aborted")
    simple.commit(0, 5, transaction="committed")
    parts = [kept(), log.tables, simple.tables]
    return pa.concat_tables([one for one, _ in parts]), pa.concat_tables([two for _, two in parts])


def test_spark_finds_what_one_process_finds(session, tmp_path):
    """Every value of every group, in the same order."""
    commits, groups = tables()
    for name, table in (("commits", commits), ("groups", groups)):
        (tmp_path / name).mkdir()
        pq.write_table(table.slice(0, len(table) // 3), tmp_path / name / "one.parquet")
        pq.write_table(table.slice(len(table) // 3), tmp_path / name / "two.parquet")
    retention_ms = 3 * MINUTE
    end_ms = max(max(table["timestamp"].to_pylist()) for table in (commits, groups))
    expected = list(explore(commits, groups, assumptions=Assumptions(retention_ms, end_ms)))

    assert len(expected) >= 6
    alone = replace(session, cores=1)  # fewer tasks: each costs more than its rows
    assert expected == list(explore_on_spark(alone, tmp_path, retention_ms=retention_ms))
