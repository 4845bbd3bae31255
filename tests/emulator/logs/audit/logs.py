"""Processing logs for the tests: rows, files of them, and a count of every single record."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.conformance.captured.capture import Capture
from emulator.events import Event, Processed, RunEnded
from emulator.logs.audit.partitions import Limits
from emulator.logs.audit.passes import Audited, InProcess, Terms, audit
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.reading import Source, find_files, open_source

SECOND = 1_000_000
EPOCH = 1_700_000_000 * SECOND


class Row(NamedTuple):
    """One row of a processing log, in the words of its columns."""

    topic: str
    partition: int
    lo: int
    hi: int
    consumer: str
    start: int
    end: int


def record(offset: int, consumer: str, at_s: float, partition: int = 0) -> Row:
    """Return a row about one record, which took a tenth of a second."""
    end = EPOCH + round(at_s * SECOND)
    return Row("orders", partition, offset, offset + 1, consumer, end - SECOND // 10, end)


def records(first: int, end: int, consumer: str, from_s: float, partition: int = 0) -> list[Row]:
    """Return rows about records that were done one a second."""
    return [
        record(offset, consumer, from_s + number, partition)
        for number, offset in enumerate(range(first, end))
    ]


def write(path: Path, rows: list[Row], row_group_size: int = 7) -> Path:
    """Write a Parquet file."""
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    table = pa.Table.from_arrays(columns, names=list(Row._fields))
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def source_of(*paths: Path, unit: str | None = None, **columns: str) -> Source:
    """Open a log."""
    return open_source(find_files(paths), columns, unit)


def audited(*paths: Path, unit: str | None = None, terms: Terms | None = None) -> Audited:
    """Audit a log in this process."""
    held = terms or Terms()
    return audit(InProcess(source_of(*paths, unit=unit), held), held)


def limits(**ends: int) -> dict[PartitionName, Limits]:
    """Return where partitions of orders end, by ``p0=10``; all begin at 0."""
    return {
        PartitionName("orders", int(name[1:])): Limits(begin=0, end=end)
        for name, end in ends.items()
    }


# -- counting by record ------------------------------------------------------------------------

Repeats = Counter
"""How often a record (topic, partition, offset) was processed again, and by whom after whom."""


def repeats_in(ledger: Audited) -> Repeats:
    """Return what an audit found, record by record."""
    found = Counter()
    for part in ledger.partitions:
        for each in part.again:
            for offset in range(each.first, each.next_offset):
                found[*part.name, offset, each.first_owner, each.second_owner] += 1
    return found


def lost_in(ledger: Audited) -> set[tuple[str, int, int]]:
    """Return the records that an audit missed."""
    return {
        (*part.name, offset)
        for part in ledger.partitions
        for each in part.never
        for offset in range(each.first, each.next_offset)
    }


def processings(rows: list[Row]) -> dict[tuple[str, int, int], list[tuple[int, str]]]:
    """Return for each record when it was processed and by whom, in order of time."""
    found = defaultdict(list)
    for row in rows:
        for offset in range(row.lo, row.hi):
            found[row.topic, row.partition, offset].append((row.end, row.consumer))
    return {key: sorted(times) for key, times in found.items()}


# -- emulated and captured runs ----------------------------------------------------------------


def rows_of_run(events: tuple[Event, ...]) -> list[Row]:
    """Return what a run's handlers finished, as a processing log has it."""
    return [
        Row(
            what.partition.topic,
            what.partition.partition,
            what.first,
            what.next_offset,
            what.consumer,
            what.began_us,
            event.at_us,
        )
        for event in events
        if isinstance(what := event.what, Processed)
    ]


def ends_of_run(events: tuple[Event, ...]) -> dict[PartitionName, Limits]:
    """Return where the logs of a run end."""
    (ended,) = (event.what for event in events if isinstance(event.what, RunEnded))
    return {PartitionName(*name): Limits(end=end) for name, end in ended.log_ends}


def terms_of(capture: Capture) -> Terms:
    """Return begin, end and cut of a captured run."""
    ends = {PartitionName(*name): Limits(begin=0, end=end) for name, end in capture.ends()}
    return Terms(end_us=capture.origin + capture.end_us, limits=ends)


def write_captured(capture: Capture, path: Path) -> Path:
    """Write the processing log of a captured run as JSON lines."""
    with path.open("w") as file:
        for trace in sorted(capture.path.glob("*.jsonl.gz")):
            consumer = trace.name.removesuffix(".jsonl.gz")
            with gzip.open(trace, "rt") as lines:
                entries = [json.loads(line) for line in lines]
            for entry in entries:
                if entry["e"] == "r":
                    topic, _, partition = entry["p"].rpartition("-")
                    row = {
                        "topic": capture.prefix + topic,
                        "partition": int(partition),
                        "offset": entry["o"],
                        "consumer": consumer,
                        "start": entry["a"],
                        "end": entry["b"],
                    }
                    file.write(f"{json.dumps(row)}\n")
    return path
