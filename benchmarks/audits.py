"""Measure an audit of rows of a processing log, and of ranges, and compare it with DuckDB.

    python benchmarks/audits.py                       2 million rows, 500,000 ranges
    python benchmarks/audits.py --rows 50000000 --spark
    python benchmarks/audits.py --skew --grow

DuckDB (``pip install duckdb==2.0.0``; optional) only counts the reprocessed records and the
unprocessed ones, by partition. The audit also finds the consumer, the time, and every range. CPU
times are of all processes, including Spark's workers and JVM, without the session's start; so is
the memory that is printed as the peak of this process. ``--skew`` puts 90 % of all rows in one
partition, ``--grow`` repeats everything with twice the rows.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

# A file beside this one has the name of a package, and Python searches a script's folder first.
if __package__ is None:
    sys.path.pop(0)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emulator.cli.main import GC_THRESHOLD
from emulator.logs.audit.passes import Audited, Engine, InProcess, Terms, audit
from emulator.logs.audit.reading import Source, find_files, open_source

PARTITIONS = 12
CONSUMERS = 6
MOVES_EVERY = 200_000
"""Rows of a partition until its owner changes."""

GONE_BACK = 2_000
"""Exclusive maximum of records that the next owner reprocesses."""

GROUP_ROWS = 1_000_000
START_US = 1_700_000_000_000_000
STEP_US = 1_000
RANGE = 100
"""Records per range."""

COUNT_ROWS = """
select sum(times - 1), count(*) from (
    select topic, partition, "offset", count(*) as times from '{path}' group by all)
"""
COUNT_RANGES = """
with e as (select partition, lo as pos, 1 as d from '{path}'
           union all select partition, hi, -1 from '{path}'),
a as (select partition, pos, sum(d) as d from e group by all),
w as (select partition, pos, sum(d) over (partition by partition order by pos) as depth,
             lead(pos) over (partition by partition order by pos) - pos as len from a)
select sum(greatest(depth - 1, 0) * len), sum(case when depth > 0 then len else 0 end) from w
"""


def shares(skew: bool) -> list[float]:
    if not skew:
        return [1 / PARTITIONS] * PARTITIONS
    return [0.9, *[0.1 / (PARTITIONS - 1)] * (PARTITIONS - 1)]


def partition_rows(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and consumers of a partition's rows in order of time."""
    random = np.random.default_rng(seed)
    moves = rows // MOVES_EVERY
    back = random.integers(0, GONE_BACK, moves)
    step = np.ones(rows, np.int64)
    at = np.arange(1, moves + 1) * MOVES_EVERY - 1
    step[at] -= back
    offsets = np.cumsum(step) - 1
    consumers = np.zeros(rows, np.int64)
    consumers[at] = 1
    return offsets, (np.cumsum(consumers) + seed) % CONSUMERS


def blocks(rows: int, skew: bool) -> Iterator[dict[str, np.ndarray]]:
    """Yield rows in order of time, in blocks of the size of a row group."""
    counts = [int(rows * share) for share in shares(skew)]
    made = [partition_rows(count, number) for number, count in enumerate(counts)]
    pieces = max(1, rows // GROUP_ROWS)
    for piece in range(pieces):
        parts = []
        for number, (offsets, consumers) in enumerate(made):
            count = len(offsets)
            low, high = count * piece // pieces, count * (piece + 1) // pieces
            own = np.arange(low, high)
            ended = START_US + own * (rows * STEP_US // count) + number
            parts.append(
                (np.full(high - low, number), offsets[low:high], consumers[low:high], ended)
            )
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[3], kind="stable")
        names = ("partition", "offset", "consumer", "end")
        yield {name: column[order] for name, column in zip(names, columns, strict=True)}


def write_rows(path: Path, rows: int, skew: bool) -> None:
    writer = None
    for block in blocks(rows, skew):
        table = _table(block, {"offset": block["offset"]})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP_ROWS)
    if writer is not None:
        writer.close()


def write_ranges(path: Path, ranges: int, skew: bool) -> None:
    """Write ranges of a hundred records, each by another consumer than the one before.

    So no two ranges can be joined; every 50th begins half a range earlier.
    """
    tables = [_table(block, _hundreds(block)) for block in blocks(ranges, skew)]
    pq.write_table(pa.concat_tables(tables), path, row_group_size=GROUP_ROWS)


def _hundreds(block: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    lo = block["offset"] * RANGE
    block["consumer"] = (block["consumer"] + block["offset"]) % CONSUMERS
    return {"lo": lo - np.where(block["offset"] % 50 == 49, RANGE // 2, 0), "hi": lo + RANGE}


def _table(block: dict[str, np.ndarray], offsets: dict[str, np.ndarray]) -> pa.Table:
    names = pa.array([f"billing-{number}" for number in range(CONSUMERS)])
    columns = {
        "topic": pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(block["end"]), np.int32)), pa.array(["orders"])
        ).cast(pa.string()),
        "partition": pa.array(block["partition"].astype(np.int32)),
        **{name: pa.array(values) for name, values in offsets.items()},
        "consumer": names.take(pa.array(block["consumer"])),
        "start": pa.array(block["end"] - STEP_US // 2),
        "end": pa.array(block["end"]),
    }
    return pa.table(columns)


# -- timing ------------------------------------------------------------------------------------


def cpu_below_s() -> float:
    """Return the CPU time of this process and of all its live descendants (Linux)."""
    found, wanted = 0.0, {os.getpid()}
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        stats[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    while True:
        more = {pid for pid, (parent, _) in stats.items() if parent in wanted} - wanted
        if not more:
            break
        wanted |= more
    for pid in wanted:
        found += stats.get(pid, (0, 0))[1] / os.sysconf("SC_CLK_TCK")
    return found


def timed(name: str, work: Callable[[], tuple[int, int]]) -> tuple[float, tuple[int, int]]:
    """Run *work* and print its time and memory; return the CPU time and the counts."""
    began_s, began_cpu_s = perf_counter(), cpu_below_s()
    counts = work()
    took_s, took_cpu_s = perf_counter() - began_s, cpu_below_s() - began_cpu_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {name:<22} {took_s:8.2f} s wall {took_cpu_s:8.2f} s CPU   peak {peak:7.0f} MB   {counts}"
    )
    return took_cpu_s, counts


def counts_of(audited: Audited) -> tuple[int, int]:
    again = sum(part.reprocessed for part in audited.partitions)
    return again, sum(part.distinct for part in audited.partitions)


def audited(engine: Engine) -> Callable[[], tuple[int, int]]:
    return lambda: counts_of(audit(engine, Terms()))


def duck(query: str, path: Path) -> Callable[[], tuple[int, int]] | None:
    try:
        import duckdb  # noqa: PLC0415  only where it is installed
    except ModuleNotFoundError:
        return None
    connection = duckdb.connect(config={"threads": 2})

    def work() -> tuple[int, int]:
        row = connection.execute(query.format(path=path)).fetchone()
        return int(row[0]), int(row[1])

    return work


def compare(path: Path, query: str, spark: bool) -> None:
    source: Source = open_source(find_files([path]), {}, None)
    found = []
    if (work := duck(query, path)) is not None:
        found.append(("DuckDB, 2 threads", *timed("DuckDB, 2 threads", work)))
    else:
        print("  DuckDB is not installed: pip install duckdb==2.0.0")
    found.append(("one process", *timed("one process", audited(InProcess(source, Terms())))))
    if spark:
        from emulator.spark.audit_ranges import SETTINGS, on_spark  # noqa: PLC0415
        from emulator.spark.session import open_session  # noqa: PLC0415

        with open_session("benchmark", master="local[2]", settings=SETTINGS) as session:
            names = ("Spark, local[2], first", "Spark, local[2], again")
            work = audited(on_spark(session, source, Terms()))
            found += [(name, *timed(name, work)) for name in names]
    assert len({counts for _, _, counts in found}) == 1, "all count alike"
    base = found[0][1]
    for name, took, _ in found[1:]:
        print(f"  {name}: {took / base:.2f} times the CPU time of {found[0][0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--ranges", type=int, default=500_000)
    parser.add_argument("--skew", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--grow", action="store_true")
    asked = parser.parse_args()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    for factor in (1, 2) if asked.grow else (1,):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            write_rows(path, asked.rows * factor, asked.skew)
            print(f"{asked.rows * factor:,} rows, {path.stat().st_size / 2**20:,.0f} MB of Parquet")
            compare(path, COUNT_ROWS, asked.spark)
            write_ranges(path, asked.ranges * factor, asked.skew)
            print(f"{asked.ranges * factor:,} ranges")
            compare(path, COUNT_RANGES, asked.spark)


if __name__ == "__main__":
    main()
