"""Tables of an import made by hand, of real segments, or of a run; and what is found in them."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import emulator
from emulator.logs.imports.exploring import explore
from emulator.logs.imports.pieces import Selection
from emulator.logs.imports.rows import Events, Origin
from emulator.logs.imports.tables import COMMITS, GROUPS
from emulator.logs.imports.values import Assumptions, GroupFindings
from emulator.logs.offsets_log.writing import LogFolder
from emulator.metrics.metrics import Metrics
from emulator.scenario.model import Scenario

KEPT = Path(__file__).parents[3] / "captures" / "offsets-log"
"""Two small real segments."""

CAPTURES = os.environ.get("REBALANCE_CAPTURES")
DAY_MS = 24 * 3_600_000
WEEK_MS = 7 * DAY_MS

Tables = tuple[pa.Table, pa.Table]
"""Commits and groups."""


def read(paths: Iterable[Path]) -> Tables:
    """Return the tables of segments."""
    rows: dict[str, list[pa.Table]] = {"commits": [], "groups": []}
    for path in paths:
        number = re.search(r"__consumer_offsets-(\d+)", str(path))
        data = path.read_bytes()
        source = gzip.decompress(data) if path.suffix == ".gz" else data
        events = Events(Origin(int(number[1]) if number else -1, str(path)), Selection())
        for name, batch in events.of_bytes(source):
            schema = {"commits": COMMITS, "groups": GROUPS}.get(name)
            if schema is not None:
                rows[name].append(pa.Table.from_batches([batch]).cast(schema))
    return (
        pa.concat_tables([COMMITS.empty_table(), *rows["commits"]]),
        pa.concat_tables([GROUPS.empty_table(), *rows["groups"]]),
    )


def kept() -> Tables:
    """Return the tables of the real segments that come with the tests."""
    return read(sorted(KEPT.glob("__consumer_offsets-*.log.gz")))


def played(scenario: Scenario, folder: Path) -> Tables:
    """Play a scenario, and return the tables of the log that it writes."""
    return played_and_measured(scenario, folder)[0]


def played_and_measured(scenario: Scenario, folder: Path) -> tuple[Tables, Metrics]:
    """Play a scenario, and return the tables of its log, and what the run itself says."""
    with LogFolder(folder) as log:
        run = emulator.run(scenario, keep_events=False, log_files=log)
    return read(sorted(folder.rglob("*.log"))), run.metrics


def found(tables: Tables, group: str, **assumed: int) -> GroupFindings:
    """Return what is found about one group."""
    assumptions = Assumptions(**assumed) if assumed else None
    return next(each for each in explore(*tables, assumptions=assumptions) if each.group == group)


def group_rows(tables: Tables, group: str) -> list[dict[str, Any]]:
    """Return a group's rows of ``groups``, in the order of the log."""
    return [row for row in tables[1].to_pylist() if row["group"] == group]


# -- by hand ---------------------------------------------------------------------------------------


class Log:
    """A log of one group, written row by row; each row is one offset after the one before."""

    def __init__(self, group: str = "billing") -> None:
        self.group = group
        self.commits: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []

    @property
    def tables(self) -> Tables:
        return (
            pa.Table.from_pylist(self.commits, COMMITS),
            pa.Table.from_pylist(self.groups, GROUPS),
        )

    def found(self, **assumed: int) -> GroupFindings:
        """Return what is found about the group."""
        return found(self.tables, self.group, **assumed)

    def commit(self, at_ms: int, offset: int | None, partition: int = 0, **more: Any) -> None:
        """Commit an offset of ``orders``, or delete it."""
        row = {"topic": "orders", "partition": partition, "offset": offset}
        row |= {"is_tombstone": offset is None, "record_type": 1, "producer_id": -1}
        self.commits.append(self._placed(at_ms) | row | more)

    def steadily(self, begin_ms: int, end_ms: int, *partitions: int, every_ms: int = 5_000) -> None:
        """Commit 20 records a second of partitions, every so often."""
        for at_ms in range(begin_ms, end_ms, every_ms):
            for partition in partitions:
                self.commit(at_ms, at_ms * 20 // 1_000, partition)

    def generation(
        self, at_ms: int, epoch: int, *members: Mapping[str, Any], protocol: str | None = "range"
    ) -> None:
        """Write a classic group, whole."""
        row = {"record_type": 2, "epoch": epoch, "members": list(members), "is_tombstone": False}
        self.groups.append(self._placed(at_ms) | row | {"protocol": protocol if members else None})

    def record(self, at_ms: int, record_type: int, **columns: Any) -> None:
        """Write a record of another type; without columns of its own a tombstone."""
        row = {"record_type": record_type, "is_tombstone": not columns.keys() - {"member_id"}}
        self.groups.append(self._placed(at_ms) | row | columns)

    def _placed(self, at_ms: int) -> dict[str, Any]:
        log_offset = len(self.commits) + len(self.groups)
        place = {"log_partition": 7, "log_offset": log_offset, "timestamp": at_ms}
        return place | {"group": self.group}


def member(name: str, *partitions: int, member_id: str = "", **more: Any) -> dict[str, Any]:
    """Return a member that reads ``orders`` and has some of its partitions."""
    fields = {
        "member_id": member_id or f"{name}-id",
        "client_id": name,
        "client_host": "/10.0.0.7",
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 300_000,
        "topics": ["orders"],
        "assignment": [{"topic": "orders", "partitions": list(partitions)}],
    }
    return fields | more
