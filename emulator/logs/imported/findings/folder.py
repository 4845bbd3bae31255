"""Findings about the groups of an import's folder, in one process and bounded memory.

Groups are taken so many at a time, by their rows (:mod:`lots`); a group that is large by itself is
taken some partitions at a time. For very many rows there is ``emulator.spark.findings_runs``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from emulator.logs.imported.findings.exploring import (
    BATCH_ROWS,
    assessed,
    explore,
    steps_of,
    told_by,
)
from emulator.logs.imported.findings.lots import by_lot, clear
from emulator.logs.imported.findings.values import WEEK_MS, Assumptions, GroupFindings
from emulator.logs.imported.history.generations import Row
from emulator.logs.imported.history.progress import Progress
from emulator.logs.imported.history.steps import (
    COMMIT_COLUMNS,
    GROUP_COLUMNS,
    GROUP_ORDER,
    Names,
    Step,
    named,
    progresses,
)
from emulator.logs.imported.tables import TABLES

MOST_ROWS: Final = 2_000_000
"""Of one lot: some hundreds of megabytes."""


def explore_folder(
    folder: Path, *, retention_ms: int = WEEK_MS, most_rows: int = MOST_ROWS
) -> Iterator[GroupFindings]:
    """Yield findings about each group, sorted by its id.

    *folder*: with the tables ``commits`` and ``groups``; where there are many rows, copies of them
    stand in it meanwhile. Raise OSError if there is no room.
    """
    clear(folder)
    commits, groups = rows_in(folder, "commits"), rows_in(folder, "groups")
    assumptions = Assumptions(retention_ms, max(_last_ms(commits), _last_ms(groups)))
    names = _names(commits)
    sizes = _sizes("group", commits, groups)
    lots = list(_lots(sizes, most_rows))
    with (
        by_lot(commits, COMMIT_COLUMNS, lots, folder) as commits_of,
        by_lot(groups, GROUP_COLUMNS, lots, folder) as groups_of,
    ):
        for number, lot in enumerate(lots):
            wanted = pc.field("group").isin(lot)
            about = groups_of(number).to_table(columns=list(GROUP_COLUMNS), filter=wanted)
            if len(lot) == 1 and sizes[lot[0]] > most_rows:
                known, owners = told_by(about, names)
                parts = _by_partitions(commits_of(number), wanted, owners, most_rows)
                yield from assessed([known, parts], assumptions)
                continue
            mine = commits_of(number).to_table(columns=list(COMMIT_COLUMNS), filter=wanted)
            yield from explore(mine, about, names=names, assumptions=assumptions)


def _by_partitions(
    commits: ds.Dataset, wanted: pc.Expression, owners: Sequence[Step], most_rows: int
) -> list[Progress]:
    """Return what became of the partitions of one group, gone through some at a time."""
    sizes = {step[2]: 0 for step in owners} | _sizes("partition", commits, wanted=wanted)
    found = list[Progress]()
    for lot in _lots(sizes, most_rows):
        some = wanted & pc.field("partition").isin(lot)
        mine = commits.to_table(columns=list(COMMIT_COLUMNS), filter=some)
        owned = [step for step in owners if step[2] in lot]
        found += progresses(steps_of(mine, owned).to_batches(BATCH_ROWS))
    return sorted(found, key=lambda each: (each.topic, each.partition))


def explore_group(
    folder: Path, group: str, *, retention_ms: int = WEEK_MS
) -> tuple[GroupFindings, list[Row]] | None:
    """Return findings about one group, and its rows of ``groups`` in the order of the log.

    None: there is nothing of it.
    """
    commits, groups = rows_in(folder, "commits"), rows_in(folder, "groups")
    wanted = pc.field("group") == group
    mine = groups.to_table(columns=list(GROUP_COLUMNS), filter=wanted)
    found = explore(
        commits.to_table(columns=list(COMMIT_COLUMNS), filter=wanted),
        mine,
        names=_names(commits),
        assumptions=Assumptions(retention_ms, max(_last_ms(commits), _last_ms(groups))),
    )
    ordered = mine.sort_by([(name, "ascending") for name in GROUP_ORDER])
    findings = next(found, None)
    return None if findings is None else (findings, ordered.to_pylist())


def groups_in(folder: Path) -> list[str]:
    """Return the ids of all groups of an import, sorted."""
    return sorted(_sizes("group", rows_in(folder, "commits"), rows_in(folder, "groups")))


def rows_in(folder: Path, table: str) -> ds.Dataset:
    """Return a table of an import, which may be empty."""
    files = sorted(str(path) for path in (folder / table).glob("*.parquet"))
    if not files:
        return ds.dataset(TABLES[table].empty_table())
    return ds.dataset(files, schema=TABLES[table], format="parquet")


def _last_ms(rows: ds.Dataset) -> int:
    times = (pc.max(batch.column(0)).as_py() for batch in rows.to_batches(columns=["timestamp"]))
    return max((each for each in times if each is not None), default=0)


def _names(commits: ds.Dataset) -> Names:
    pairs = pa.table({"topic_id": pa.array([], pa.string()), "topic": pa.array([], pa.string())})
    for batch in commits.to_batches(columns=["topic_id", "topic"]):
        more = pa.Table.from_batches([batch]).group_by(["topic_id", "topic"]).aggregate([])
        both = pa.concat_tables([pairs, more.select(["topic_id", "topic"])])
        pairs = both.group_by(["topic_id", "topic"]).aggregate([])
    return named(pairs)


def _sizes(column: str, *tables: ds.Dataset, wanted: pc.Expression | None = None) -> dict[Any, int]:
    """Return how many rows there are of each value of a column."""
    sizes = dict[Any, int]()
    for rows in tables:
        for batch in rows.to_batches(columns=[column], filter=wanted):
            for each in pc.value_counts(batch.column(0)).to_pylist():
                sizes[each["values"]] = sizes.get(each["values"], 0) + each["counts"]
    return sizes


def _lots(sizes: Mapping[Any, int], most_rows: int) -> Iterator[list[Any]]:
    """Yield keys, sorted, as many at a time as have no more rows together."""
    lot, rows = list[Any](), 0
    for key in sorted(sizes):
        if lot and rows + sizes[key] > most_rows:
            yield lot
            lot, rows = [], 0
        lot.append(key)
        rows += sizes[key]
    if lot:
        yield lot
