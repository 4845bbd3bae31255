"""Findings as Parquet: a file each for groups, rebalances, rewinds, cadence, partitions, members.

Rows are sorted by group id, and in each group by time, or by topic and partition. Times are epoch
milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa

from emulator.logs.imports.reasons import CERTAIN
from emulator.logs.imports.values import GroupFindings, Reasons
from emulator.parquet_file import ParquetOutput

_TEXT, _COUNT, _MS, _SHARE = pa.string(), pa.int64(), pa.int64(), pa.float64()
_TEXTS = pa.list_(_TEXT)
_REASONS = pa.list_(pa.struct([("reason", _TEXT), ("rebalances", _COUNT)]))
_GROUP = ("group", _TEXT)
_PARTITION = (("topic", _TEXT), ("partition", pa.int32()))

GROUPS: Final = pa.schema(
    [
        _GROUP,
        ("group_type", _TEXT),
        ("state", _TEXT),
        ("epoch", pa.int32()),
        ("assignors", _TEXTS),
        ("members", _COUNT),
        ("partitions", _COUNT),
        ("first_ms", _MS),
        ("last_ms", _MS),
        ("active_ms", _MS),
        ("commits", _COUNT),
        ("commits_in_transactions", _COUNT),
        ("deletions", _COUNT),
        ("median_ms", _MS),
        ("p95_ms", _MS),
        ("advanced", _COUNT),
        ("rate", _SHARE),
        ("rewinds", _COUNT),
        ("rebalances", _COUNT),
        ("rebalances_an_hour", _SHARE),
        ("worst_hour", _COUNT),
        ("worst_hour_from_ms", _MS),
        ("reasons", _REASONS),
        ("worst_hour_reasons", _REASONS),
        ("deploys", _COUNT),
        ("flapping", _TEXTS),
        ("idle_members", _TEXTS),
        ("idle_partitions", _COUNT),
        ("partitions_at_risk", _COUNT),
        ("expires_ms", _MS),
    ]
)
"""``reasons``: of its rebalances, most first; ``expires_ms``: when its first offset expires."""

REBALANCES: Final = pa.schema(
    [
        _GROUP,
        ("at_ms", _MS),
        ("log_partition", pa.int32()),
        ("log_offset", _COUNT),
        ("group_type", _TEXT),
        ("epoch", pa.int32()),
        ("is_rebalance", pa.bool_()),
        ("reason", _TEXT),
        ("certain", pa.bool_()),
        ("words", _TEXT),
        ("assignor", _TEXT),
        ("members", _COUNT),
        ("joined", _TEXTS),
        ("joined_count", _COUNT),
        ("left", _TEXTS),
        ("left_count", _COUNT),
        ("rejoined", _TEXTS),
    ]
)
"""Includes changes without a rejoin; ``certain``: the reason is in the log, not inferred."""

REWINDS: Final = pa.schema(
    [
        _GROUP,
        *_PARTITION,
        ("at_ms", _MS),
        ("log_partition", pa.int32()),
        ("log_offset", _COUNT),
        ("from_offset", _COUNT),
        ("to_offset", _COUNT),
        ("records", _COUNT),
        ("member", _TEXT),
        ("member_id", _TEXT),
        ("epoch", pa.int32()),
        ("member_before", _TEXT),
        ("epoch_before", pa.int32()),
        ("words", _TEXT),
    ]
)

CADENCE: Final = pa.schema(
    [
        _GROUP,
        ("member", _TEXT),
        ("member_id", _TEXT),
        *_PARTITION,
        ("since_ms", _MS),
        ("first_ms", _MS),
        ("last_ms", _MS),
        ("commits", _COUNT),
        ("median_ms", _MS),
        ("p95_ms", _MS),
        ("advanced", _COUNT),
        ("rate", _SHARE),
    ]
)

PARTITIONS: Final = pa.schema(
    [
        _GROUP,
        *_PARTITION,
        ("offset", _COUNT),
        ("commits", _COUNT),
        ("in_transactions", _COUNT),
        ("deletions", _COUNT),
        ("deleted_ms", _MS),
        ("first_ms", _MS),
        ("last_ms", _MS),
        ("advanced", _COUNT),
        ("advanced_ms", _MS),
        ("rate", _SHARE),
        ("median_ms", _MS),
        ("p95_ms", _MS),
        ("rewinds", _COUNT),
        ("owner", _TEXT),
        ("owned_since_ms", _MS),
        ("idle", pa.bool_()),
        ("expires_ms", _MS),
        ("at_risk", pa.bool_()),
    ]
)

MEMBERS: Final = pa.schema(
    [
        _GROUP,
        ("name", _TEXT),
        ("host", _TEXT),
        ("first_ms", _MS),
        ("last_ms", _MS),
        ("joins", _COUNT),
        ("leaves", _COUNT),
        ("returns", _COUNT),
        ("flapping", pa.bool_()),
        ("present", _COUNT),
        ("assigned", _COUNT),
        ("idle", pa.bool_()),
    ]
)

SCHEMAS: Final = {
    "groups": GROUPS,
    "rebalances": REBALANCES,
    "rewinds": REWINDS,
    "cadence": CADENCE,
    "partitions": PARTITIONS,
    "members": MEMBERS,
}
"""By the name of the file, without ``.parquet``."""

ROWS_AT_ONCE: Final = 16_384

Row = Mapping[str, Any]


class FindingsFiles:
    """Writes findings into a folder, group by group; used with ``with``.

    Raises OSError if the files cannot be written. At the end of the ``with`` block all files are
    complete, or there are none.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".*.part"):  # left by an interrupted import
            left.unlink()
        self._stack = ExitStack()
        self._rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
        self._files: dict[str, ParquetOutput] = {}
        with ExitStack() as opened:
            for name, schema in SCHEMAS.items():
                file = ParquetOutput(folder / f"{name}.parquet", schema)
                opened.callback(file.discard)
                self._files[name] = file
            self._stack = opened.pop_all()

    def add(self, findings: GroupFindings) -> None:
        """Append all rows about one group; raise OSError if the disk is full."""
        for name, rows in self._rows.items():
            rows.extend(ROWS[name](findings))
            if len(rows) >= ROWS_AT_ONCE:
                self._write(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Rename the complete files; after an error delete them."""
        with self._stack:
            if error is None:
                for name, file in self._files.items():
                    self._write(name)
                    file.finish()

    def _write(self, name: str) -> None:
        """Write the collected rows."""
        self._files[name].write(_table(self._rows[name], SCHEMAS[name]))
        self._rows[name].clear()


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    """Return rows as a table, numbers beyond 64 bits as the closest one of 64 bits.

    Damaged records may have any time, so that a time between two records may exceed 64 bits.
    """
    try:
        return pa.Table.from_pylist(rows, schema)
    except OverflowError:
        limited = [{name: _limited(value) for name, value in row.items()} for row in rows]
        return pa.Table.from_pylist(limited, schema)


def _limited(value: Any) -> Any:
    return max(-(2**63), min(value, 2**63 - 1)) if isinstance(value, int) else value


def _groups(found: GroupFindings) -> Iterator[Row]:
    expiries = [each.expires_ms for each in found.partitions if each.expires_ms is not None]
    yield {
        "group": found.group,
        "group_type": found.group_type,
        "state": str(found.state),
        "epoch": found.epoch,
        "assignors": [name for name, _ in found.assignors],
        "members": len(found.members),
        "partitions": len(found.partitions),
        "first_ms": found.pace.first_ms,
        "last_ms": found.pace.last_ms,
        "active_ms": found.pace.active_ms,
        "commits": found.commits,
        "commits_in_transactions": found.in_transactions,
        "deletions": found.deletions,
        "median_ms": found.median_ms,
        "p95_ms": found.p95_ms,
        "advanced": found.advanced,
        "rate": found.rate,
        "rewinds": found.rewound,
        "rebalances": found.pace.rebalances,
        "rebalances_an_hour": found.pace.an_hour,
        "worst_hour": found.pace.worst_hour,
        "worst_hour_from_ms": found.pace.worst_hour_from_ms,
        "reasons": _reason_rows(found.pace.reasons),
        "worst_hour_reasons": _reason_rows(found.pace.worst_hour_reasons),
        "deploys": len(found.deploys),
        "flapping": [str(each) for each in found.member_findings if each.flapping],
        "idle_members": [str(each) for each in found.member_findings if each.idle],
        "idle_partitions": sum(each.idle for each in found.partitions),
        "partitions_at_risk": sum(each.at_risk for each in found.partitions),
        "expires_ms": min(expiries, default=None),
    }


def _reason_rows(reasons: Reasons) -> list[Row]:
    return [{"reason": str(reason), "rebalances": number} for reason, number in reasons]


def _rebalances(found: GroupFindings) -> Iterator[Row]:
    for each in found.changes:
        change = each.change
        yield {
            "group": found.group,
            **change.place._asdict(),
            "group_type": change.group_type,
            "epoch": change.epoch,
            "is_rebalance": each.is_rebalance,
            "reason": str(each.reason),
            "certain": each.reason in CERTAIN,
            "words": each.words,
            "assignor": change.assignor,
            "members": change.members,
            "joined": [str(seen) for seen in change.joined],
            "joined_count": change.joined_count,
            "left": [str(departure.seen) for departure in change.left],
            "left_count": change.left_count,
            "rejoined": [str(seen) for seen in change.rejoined],
        }


def _of(name: str) -> Callable[[GroupFindings], Iterator[Row]]:
    """Return a function that makes rows of one attribute of a group's findings."""
    columns = [column for column in SCHEMAS[_TABLE_OF[name]].names if column != "group"]

    def rows(found: GroupFindings) -> Iterator[Row]:
        for each in getattr(found, name):
            yield {"group": found.group, **{column: getattr(each, column) for column in columns}}

    return rows


_TABLE_OF: Final = {
    "rewinds": "rewinds",
    "cadence": "cadence",
    "partitions": "partitions",
    "member_findings": "members",
}

ROWS: Final[Mapping[str, Callable[[GroupFindings], Iterator[Row]]]] = {
    "groups": _groups,
    "rebalances": _rebalances,
    **{table: _of(name) for name, table in _TABLE_OF.items()},
}
"""The function that makes the rows of each file."""
