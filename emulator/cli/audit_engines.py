"""Who reads the rows of an audit: one process, or Spark. Both come to the same ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from emulator.cli.audit_request import Read, Request
from emulator.cli.on_spark import refuse_master_without_spark, spark
from emulator.cli.output import Progress
from emulator.logs.audit.auditing import Engine, InProcess, Terms
from emulator.logs.audit.reading import LogFile, Source, find_files, open_source
from emulator.logs.errors import AuditError
from emulator.spark.environment import is_decided

POOL_BEST_ROWS = 100_000_000
"""About a minute of work for one process: below it Spark's start would not come back in."""

POOL_BEST_BYTES = 1 << 32
"""The same of text."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who reads, and what is said of it."""

    name: str
    told: str
    source: Source | None
    """None where only Spark can reach the logs."""


def choose_engine(request: Request, wanted: Read) -> Chosen:
    """Return who reads: who was asked for, else the quicker one; raise AuditError or RefusedError."""
    remote = request.format == "table" or any("://" in log for log in request.logs)
    refuse_master_without_spark(request.engine, request.master)
    if remote and request.engine == "pool":
        raise AuditError("tables and addresses are read by Spark: leave out --engine pool")
    if remote:
        return Chosen("spark", _spark_told(request), None)
    files: tuple[LogFile, ...] = find_files([Path(log) for log in request.logs], request.format)
    source = open_source(files, wanted.wanted, request.time_unit)
    if _takes_spark(request, source):
        return Chosen("spark", _spark_told(request), source)
    return Chosen("pool", "one process (--engine spark takes Spark)", source)


def _takes_spark(request: Request, source: Source) -> bool:
    if request.engine != "auto":
        return request.engine == "spark"
    if request.master or is_decided(os.environ):
        return True
    if find_spec("pyspark") is None:
        return False
    if source.rows is not None:
        return source.rows > POOL_BEST_ROWS
    return source.size > POOL_BEST_BYTES


def _spark_told(request: Request) -> str:
    where = f" on {request.master}" if request.master else ""
    return f"Spark{where} (--engine pool takes one process)"


@contextmanager
def opened(chosen: Chosen, request: Request, wanted: Read) -> Iterator[Engine]:
    """Open who reads."""
    if chosen.name == "spark":
        with _spark(chosen, request, wanted) as engine:
            yield engine
        return
    assert chosen.source is not None, "one process reads files"
    with _in_process(chosen.source, wanted.terms) as engine:
        yield engine


@contextmanager
def _in_process(source: Source, terms: Terms) -> Iterator[Engine]:
    with Progress("rows", time_left=True) as progress:
        total = source.rows

        def tell(rows: int) -> None:
            if total:
                progress.show(min(rows, total), total)

        yield InProcess(source, terms, tell)


@contextmanager
def _spark(chosen: Chosen, request: Request, wanted: Read) -> Iterator[Engine]:
    from emulator.spark.audit_ranges import SETTINGS, on_spark
    from emulator.spark.audit_tables import SparkTable

    with spark("rebalance audit", request.master, SETTINGS) as session:
        table = SparkTable(request.logs, request.format, wanted.wanted, request.time_unit)
        yield on_spark(session, chosen.source or table, wanted.terms)
