"""Measure reading, writing, replay and compaction of the offsets log; compare with two clients.

    python -m benchmarks.offsets_log            everything, about three minutes
    python -m benchmarks.offsets_log --quick    a quarter of the data, two rounds each

One segment of 64 MiB is made of commits as a coordinator writes them: 50 groups in turns, a batch
of 2 to 6 records each time, a topic id in every value, no metadata. Each row is measured in a
separate process, so that it has its own peak memory (including interpreter and input). Times
are CPU times of one core, the minimum of some rounds; checksums are verified in all of them.

The readers of kafka-python and aiokafka decode batches, but not keys and values, so they are
compared with this project's reading of batches only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.offsets_commits import GROUPS, NOON_MS, of_records, write_segment
from protocols.coordinator.durability import Entry
from protocols.coordinator.machine import GroupCoordinator
from protocols.offsets_topic.records import decode
from protocols.offsets_topic.segments.cleaner import Compaction, compact
from protocols.offsets_topic.segments.offset_map import build_offset_map
from protocols.offsets_topic.segments.reader import Gap, intact_batches, read_log
from protocols.offsets_topic.segments.segment import LogSettings, Segment, log_to_clean
from protocols.settings import BrokerSettings

SEGMENT_BYTES = 64 * 2**20
RECORDS = 1_000_000
QUICK = 4
"""Divisor of the amount of data in a quick run."""

ROUNDS = 5


# --- measurements -------------------------------------------------------------------------------


def timed(action: Callable[[], int], rounds: int) -> dict[str, float]:
    """Return the minimum seconds of an action, and the number of records that it returns."""
    best, count = float("inf"), 0
    for _ in range(rounds):
        start = process_time()
        count = action()
        best = min(best, process_time() - start)
    return {"seconds": best, "records": count}


def read_batches_of(data: bytes) -> int:
    return sum(len(found.records) for found in read_log(data) if not isinstance(found, Gap))


def values_of(segment: Path) -> Iterator[Entry]:
    """Yield the decoded records of a file, with their log offsets."""
    with segment.open("rb") as file:
        for found in read_log(file):
            if not isinstance(found, Gap):
                for record in found.records:
                    yield record.offset, decode(record.key or b"", record.value)


def measure_read(segment: Path, _: int, rounds: int) -> dict[str, float]:
    """Measure reading from bytes in memory, as for the peers."""
    data = segment.read_bytes()
    return timed(lambda: read_batches_of(data), rounds)


def measure_values(segment: Path, _: int, rounds: int) -> dict[str, float]:
    return timed(lambda: sum(1 for _ in values_of(segment)), rounds)


def measure_columns(segment: Path, _: int, rounds: int) -> dict[str, float]:
    from emulator.logs.offsets_log.columns import CommitColumns  # noqa: PLC0415  only in its own process

    def columns() -> int:
        with segment.open("rb") as file:
            return sum(batch.num_rows for batch in CommitColumns(file))

    return timed(columns, rounds)


def measure_encode(_: Path, records: int, rounds: int) -> dict[str, float]:
    made = list(of_records(records // 2))

    def encoded() -> int:
        for commit in made:
            commit.encoded()
        return records // 2

    return timed(encoded, rounds)


def loaded(entries: Iterable[Entry], count: int) -> int:
    """Load a coordinator whose log is durable to its end; return its next log offset."""
    coordinator = GroupCoordinator(BrokerSettings(), new_id=lambda prefix: prefix)
    coordinator.durable(count, 0)
    coordinator.replay(entries)
    coordinator.loaded(0)
    assert len(coordinator.state.groups) == GROUPS
    return coordinator.next_log_offset


def measure_replay(_: Path, records: int, rounds: int) -> dict[str, float]:
    made = list(chain.from_iterable(commit.records for commit in of_records(records)))
    return timed(lambda: loaded(enumerate(made), records), rounds)


def measure_load(segment: Path, _: int, rounds: int) -> dict[str, float]:
    """Measure from opening the file until the coordinator is active."""
    return timed(lambda: loaded(values_of(segment), 2**62), rounds)


def measure_compaction(groups: int) -> Callable[[Path, int, int], dict[str, float]]:
    """Return a measurement with *groups* groups; only an empty last segment is not cleanable."""

    def measure(segment: Path, records: int, rounds: int) -> dict[str, float]:
        log = segment.with_suffix(".clean")
        with log.open("wb") as file:
            file.writelines(commit.encoded() for commit in of_records(records, groups))
        segments = [Segment(0, records, log.stat().st_size), Segment(records, records)]
        keys = 0

        def compacted() -> int:
            nonlocal keys
            keys = compact_once(log, segments)
            return records

        return timed(compacted, min(rounds, 3)) | {"keys": keys}

    return measure


def compact_once(log: Path, segments: list[Segment]) -> int:
    """Compact a log without writing the result; return the number of its keys."""

    def read(segment: Segment) -> Iterator[Any]:
        if segment.size_bytes:
            with log.open("rb") as file:
                yield from intact_batches(file)

    end = segments[-1].next_offset
    to_clean = log_to_clean(
        segments, LogSettings(), checkpoint=None, last_stable_offset=end, now_ms=2 * NOON_MS
    )
    mapped = build_offset_map(segments, read, to_clean)
    compaction = Compaction(mapped=mapped, now_ms=2 * NOON_MS, high_watermark=end)
    for cleaned in compact(segments, read, compaction):
        for _ in cleaned.batches:
            pass
    return len(mapped.newest)


def measure_kafka_python(segment: Path, _: int, rounds: int) -> dict[str, float]:
    from kafka.record.memory_records import MemoryRecords  # noqa: PLC0415  only in its own process

    data = segment.read_bytes()
    return timed(lambda: peer_read(MemoryRecords(data)), rounds)


def measure_aiokafka(segment: Path, _: int, rounds: int) -> dict[str, float]:
    from aiokafka.record.memory_records import MemoryRecords  # noqa: PLC0415  only in its own process

    data = segment.read_bytes()
    return timed(lambda: peer_read(MemoryRecords(data)), rounds)


def peer_read(records: Any) -> int:
    """Read all records; both clients have the same methods for it."""
    count = 0
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        for _ in batch:
            count += 1
    return count


# --- the rows -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    measure: Callable[[Path, int, int], dict[str, float]]
    wanted_a_second: int | None = None
    wanted_seconds: float | None = None
    """For ``RECORDS`` records."""

    is_peer: bool = False
    """Whether it is compared with the reading of batches."""

    environment: tuple[tuple[str, str], ...] = ()

    def wanted(self) -> str:
        if self.wanted_a_second:
            return f"≥ {self.wanted_a_second:,}/s"
        return f"≤ {self.wanted_seconds:g} s" if self.wanted_seconds else ""


ROWS = {
    "read": Row("batches read, keys and values as bytes", measure_read),
    "values": Row("... and decoded to values", measure_values, wanted_a_second=250_000),
    "columns": Row("... or to Arrow columns", measure_columns, wanted_a_second=500_000),
    "encode": Row("values encoded into batches", measure_encode, wanted_a_second=250_000),
    "replay": Row("values replayed into a coordinator", measure_replay, wanted_seconds=4),
    "load": Row("a coordinator loaded from the segment", measure_load),
    **{
        f"compaction-{groups}": Row("compaction", measure_compaction(groups), wanted_seconds=3)
        for groups in (GROUPS, 5_000, 50_000)
    },
    "kafka-python": Row("kafka-python: batches read", measure_kafka_python, is_peer=True),
    "aiokafka": Row("aiokafka: batches read, in C", measure_aiokafka, is_peer=True),
    "aiokafka-python": Row(
        "aiokafka: batches read, in Python",
        measure_aiokafka,
        is_peer=True,
        environment=(("AIOKAFKA_NO_EXTENSIONS", "1"),),
    ),
}


def in_own_process(name: str, segment: Path, records: int, rounds: int) -> dict[str, float]:
    """Measure one row in a new process; ``megabytes`` is its peak memory."""
    command = [sys.executable, "-m", "benchmarks.offsets_log"]
    command += ["--measure", name, str(segment), str(records), str(rounds)]
    environment = os.environ | dict(ROWS[name].environment)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)  # noqa: S603  this file
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure(name: str, segment: str, records: str, rounds: str) -> None:
    """Print the measurement of this process."""
    measured = ROWS[name].measure(Path(segment), int(records), int(rounds))
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(measured | {"megabytes": kibibytes * 1_024 / 1_000_000}))


def cells(row: Row, measured: dict[str, float], read_seconds: float) -> tuple[str, ...]:
    """Return the cells of a row; seconds are those of ``RECORDS`` records."""
    each = measured["seconds"] / measured["records"]
    keys = f", {measured['keys']:,.0f} keys" if "keys" in measured else ""
    return (
        row.name + keys,
        f"{measured['records']:,.0f}",
        f"{1 / each:,.0f}",
        f"{each * RECORDS:.2f}",
        row.wanted(),
        f"{measured['megabytes']:,.0f}",
        f"{each / read_seconds:.2f}" if row.is_peer else "",
    )


def bytes_a_key(results: Iterable[dict[str, float]]) -> float:
    """Return the growth of a compaction's peak memory per key, in bytes."""
    by_keys = sorted((each["keys"], each["megabytes"]) for each in results if "keys" in each)
    (few, low), (many, high) = by_keys[0], by_keys[-1]
    return (high - low) * 1_000_000 / (many - few)


def show(results: dict[str, dict[str, float]]) -> None:
    """Print the table."""
    caption = f"Compaction takes about {bytes_a_key(results.values()):.0f} bytes of memory a key."
    table = Table(title="The offsets log on one core", caption=caption)
    headings = ("what", "records", "a second", "s for 1,000,000", "wanted", "peak MB")
    for heading in (*headings, "its time / ours"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    read_seconds = results["read"]["seconds"] / results["read"]["records"]
    for name, measured in results.items():
        table.add_row(*cells(ROWS[name], measured, read_seconds))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a quarter of the data, two rounds")
    parser.add_argument("--measure", nargs=4, metavar=("NAME", "SEGMENT", "RECORDS", "ROUNDS"))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    shrunk, rounds = (QUICK, 2) if arguments.quick else (1, ROUNDS)
    results = {}
    with tempfile.TemporaryDirectory() as folder, Console().status("making a segment") as status:
        segment = Path(folder) / "00000000000000000000.log"
        write_segment(segment, SEGMENT_BYTES // shrunk)
        for name in ROWS:
            status.update(f"measuring {name}")
            results[name] = in_own_process(name, segment, RECORDS // shrunk, rounds)
    show(results)


if __name__ == "__main__":
    main()
