"""Findings about the groups of an import's folder, in one process and bounded memory.

Groups are read in batches of a limited number of rows; a group that exceeds the limit is read some
partitions at a time. With few batches, each reads the whole tables. With many, that would take
quadratic time: then the rows of each batch are first written to a separate file. For very many rows
use ``emulator.spark.findings_runs``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from emulator.errors import RefusedError
from emulator.logs.imports.exploring import (
    BATCH_ROWS,
    COMMIT_COLUMNS,
    GROUP_COLUMNS,
    GROUP_ORDER,
    Names,
    Step,
    assessed,
    explore,
    fold_group_records,
    named,
    progresses,
    steps_of,
)
from emulator.logs.imports.generations import Row
from emulator.logs.imports.progress import Progress
from emulator.logs.imports.tables import (
    FILLED,
    TABLES,
    columns_problem,
    empty_cells_problem,
)
from emulator.logs.imports.values import WEEK_MS, Assumptions, GroupFindings
from emulator.parquet_file import opened_parquet

AGAIN: Final = "it is not as rebalance import wrote it; import the logs again"
NEWLINE: Final = "\n"

MAX_PASSES: Final = 4
"""Number of batches up to which each reads the whole tables."""

_PREFIX: Final = ".batches-"
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")

GroupBatch = Sequence[str]
"""Groups that are analysed together."""

RowsOfBatch = Callable[[int], ds.Dataset]
"""Returns rows that include all rows of a batch of groups, by its number."""


@contextmanager
def by_group_batch(
    rows: ds.Dataset, columns: Sequence[str], group_batches: Sequence[GroupBatch], folder: Path
) -> Iterator[RowsOfBatch]:
    """Yield a function that returns the rows of each batch of groups; its files are in *folder*.

    Raise OSError if the disk is full; the files are deleted at the end of the block.
    """
    if len(group_batches) <= MAX_PASSES:
        yield lambda _: rows
        return
    with TemporaryDirectory(prefix=_PREFIX, dir=folder) as name:
        paths = [Path(name) / f"{number}.arrow" for number in range(len(group_batches))]
        _spread(rows, columns, group_batches, paths)
        yield lambda number: ds.dataset(paths[number], format="ipc")


def clear(folder: Path) -> None:
    """Remove the files of an interrupted run."""
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left)


def _spread(
    rows: ds.Dataset,
    columns: Sequence[str],
    group_batches: Sequence[GroupBatch],
    paths: Sequence[Path],
) -> None:
    """Write the rows of each batch into a file."""
    groups = pa.array(
        [group for group_batch in group_batches for group in group_batch], pa.string()
    )
    batch_of = np.repeat(
        np.arange(len(group_batches)), [len(group_batch) for group_batch in group_batches]
    )
    schema = pa.schema([rows.schema.field(name) for name in columns])
    with ExitStack() as stack:
        files = [
            stack.enter_context(pa.ipc.new_file(path, schema, options=_OPTIONS)) for path in paths
        ]
        for batch in rows.to_batches(
            columns=list(columns), batch_readahead=1, fragment_readahead=1
        ):
            mine = batch_of[pc.index_in(batch.column("group"), groups).to_numpy()]
            order = np.argsort(mine, kind="stable")
            ordered, numbers = batch.take(pa.array(order)), mine[order]
            first = np.flatnonzero(np.diff(numbers, prepend=-1))
            for start, end in zip(first, [*first[1:], len(numbers)], strict=True):
                files[numbers[start]].write_batch(ordered.slice(start, end - start))


MAX_ROWS: Final = 2_000_000
"""Rows of one batch: some hundreds of megabytes."""


def explore_folder(
    folder: Path, *, retention_ms: int = WEEK_MS, max_rows: int = MAX_ROWS
) -> Iterator[GroupFindings]:
    """Yield findings about each group, sorted by its id.

    *folder*: with the tables ``commits`` and ``groups``; with many rows, it temporarily contains
    copies of them. Raise OSError if the disk is full.
    """
    clear(folder)
    commits, groups = rows_in(folder, "commits"), rows_in(folder, "groups")
    assumptions = Assumptions(retention_ms, max(_last_ms(commits), _last_ms(groups)))
    names = _names(commits)
    sizes = _sizes("group", commits, groups)
    group_batches = list(_key_batches(sizes, max_rows))
    with (
        by_group_batch(commits, COMMIT_COLUMNS, group_batches, folder) as commits_of,
        by_group_batch(groups, GROUP_COLUMNS, group_batches, folder) as groups_of,
    ):
        for number, group_batch in enumerate(group_batches):
            wanted = pc.field("group").isin(group_batch)
            about = groups_of(number).to_table(columns=list(GROUP_COLUMNS), filter=wanted)
            if len(group_batch) == 1 and sizes[group_batch[0]] > max_rows:
                known, owners = fold_group_records(about, names)
                parts = _by_partitions(commits_of(number), wanted, owners, max_rows)
                yield from assessed([known, parts], assumptions)
                continue
            mine = commits_of(number).to_table(columns=list(COMMIT_COLUMNS), filter=wanted)
            yield from explore(mine, about, names=names, assumptions=assumptions)


def _by_partitions(
    commits: ds.Dataset, wanted: pc.Expression, owners: Sequence[Step], max_rows: int
) -> list[Progress]:
    """Return the progress of the partitions of one group, read some partitions at a time."""
    sizes = {step[2]: 0 for step in owners} | _sizes("partition", commits, wanted=wanted)
    found = list[Progress]()
    for group_batch in _key_batches(sizes, max_rows):
        some = wanted & pc.field("partition").isin(group_batch)
        mine = commits.to_table(columns=list(COMMIT_COLUMNS), filter=some)
        owned = [step for step in owners if step[2] in group_batch]
        found += progresses(steps_of(mine, owned).to_batches(BATCH_ROWS))
    return sorted(found, key=lambda each: (each.topic, each.partition))


def explore_group(folder: Path, group: str) -> tuple[GroupFindings, list[Row]] | None:
    """Return findings about one group, and its rows of ``groups`` in the order of the log.

    None: the import contains nothing of the group.
    """
    commits, groups = rows_in(folder, "commits"), rows_in(folder, "groups")
    wanted = pc.field("group") == group
    mine = _complete(folder, "groups", groups.to_table(columns=list(GROUP_COLUMNS), filter=wanted))
    theirs = commits.to_table(columns=list(COMMIT_COLUMNS), filter=wanted)
    found = explore(
        _complete(folder, "commits", theirs),
        mine,
        names=_names(commits),
        assumptions=Assumptions(WEEK_MS, max(_last_ms(commits), _last_ms(groups))),
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
    for path in files:
        _refuse_other(path, TABLES[table])
    return ds.dataset(files, schema=TABLES[table], format="parquet")


def _refuse_other(path: str, wanted: pa.Schema) -> None:
    """Raise RefusedError for a file that is no table of an import."""
    try:
        with opened_parquet(path) as file:
            problem = columns_problem(file.schema_arrow, wanted)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        problem = f"cannot be read as Parquet: {str(error).partition(NEWLINE)[0]}"
    if problem is not None:
        raise RefusedError(f"{path}: {problem}; {AGAIN}")


def _complete(folder: Path, table: str, rows: pa.Table) -> pa.Table:
    """Return rows of which none lacks a value; raise RefusedError otherwise."""
    problem = empty_cells_problem(rows, FILLED[table])
    if problem is not None:
        raise RefusedError(f"{folder / table}: {problem}; {AGAIN}")
    return rows


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
    """Return the number of rows for each value of a column."""
    sizes = dict[Any, int]()
    for rows in tables:
        for batch in rows.to_batches(columns=[column], filter=wanted):
            for each in pc.value_counts(batch.column(0)).to_pylist():
                sizes[each["values"]] = sizes.get(each["values"], 0) + each["counts"]
    return sizes


def _key_batches(sizes: Mapping[Any, int], max_rows: int) -> Iterator[list[Any]]:
    """Yield lists of sorted keys with at most *max_rows* rows together, or with one key."""
    group_batch, rows = list[Any](), 0
    for key in sorted(sizes):
        if group_batch and rows + sizes[key] > max_rows:
            yield group_batch
            group_batch, rows = [], 0
        group_batch.append(key)
        rows += sizes[key]
    if group_batch:
        yield group_batch
