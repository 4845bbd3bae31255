"""From the tables of an import to findings about each group, in one process.

Commits and changes of owners become rows of one form, *steps*, so that each partition can be
followed by itself; ``emulator.spark.findings_runs`` does the same on Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.imports.assessing import assess
from emulator.logs.imports.generations import Owner, Place, Row, Seen
from emulator.logs.imports.group_history import History
from emulator.logs.imports.progress import Commit, Progress, Run
from emulator.logs.imports.tables import COMMITS, COUNTING
from emulator.logs.imports.values import WEEK_MS, Assumptions, GroupFindings
from protocols.offsets_topic.records import ZERO_TOPIC_ID

STEPS: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("at_ms", pa.int64()),
        ("is_commit", pa.bool_()),
        ("offset", pa.int64()),
        ("in_transaction", pa.bool_()),
        ("member_id", pa.string()),
        ("name", pa.string()),
        ("host", pa.string()),
    ]
)
"""``is_commit``: else the partition has another owner. ``offset``: null where it was deleted.
``member_id``: null if it has no owner, and for commits."""

ORDER: Final = ("group", "topic", "partition", "log_partition", "log_offset")
"""Sort order of steps."""

GROUP_ORDER: Final = ("group", "log_partition", "log_offset")
"""Sort order of rows of ``groups``."""

GROUP_COLUMNS: Final = (
    "log_partition",
    "log_offset",
    "timestamp",
    "group",
    "record_type",
    "is_tombstone",
    "epoch",
    "member_id",
    "members",
    "protocol",
)
"""Columns of the table ``groups`` that a history needs."""

COMMIT_COLUMNS: Final = (
    "log_partition",
    "log_offset",
    "timestamp",
    "group",
    "topic",
    "partition",
    "is_tombstone",
    "offset",
    "topic_id",
    "transaction",
)
"""Columns of the table ``commits`` that steps need."""

Step = tuple[Any, ...]
"""The values of a row, in the order of ``STEPS``."""

Names = dict[str, str]
"""Topic names by topic id."""

_PAIR: Final = pa.schema([("topic_id", pa.string()), ("topic", pa.string())])

MIN_AS_RUN: Final = 16
"""Number of commits from which columns are faster than rows."""

_NUMBERS: Final = ("log_partition", "log_offset", "at_ms", "offset")

_COUNTED: Final = [each for each in COUNTING if each is not None]


def names_in(commits: pa.Table) -> Names:
    """Return the topics that commits name together with their ids."""
    pairs = commits.select(["topic_id", "topic"]).cast(_PAIR)
    return named(pairs.group_by(["topic_id", "topic"]).aggregate([]))


def named(pairs: pa.Table) -> Names:
    """Return topics by their ids, from a table that has both."""
    known = sorted(
        (each["topic_id"], each["topic"])
        for each in pairs.to_pylist()
        if each["topic_id"] not in (None, ZERO_TOPIC_ID)
    )
    return dict(known)


def steps_of_commits(commits: pa.Table) -> pa.Table:
    """Return the commits that count, as steps."""
    counting = pc.field("transaction").is_null() | pc.field("transaction").isin(_COUNTED)
    rows = commits.filter(counting)
    nothing = pa.nulls(rows.num_rows, pa.string())
    offsets = pc.if_else(rows["is_tombstone"], pa.scalar(None, pa.int64()), rows["offset"])
    columns = {
        **{name: rows[name] for name in (*ORDER[:3], "log_partition", "log_offset")},
        "at_ms": rows["timestamp"],
        "is_commit": pa.repeat(pa.scalar(value=True), rows.num_rows),
        "offset": offsets,
        "in_transaction": rows["transaction"].is_valid(),
        **dict.fromkeys(("member_id", "name", "host"), nothing),
    }
    return pa.table([columns[name] for name in STEPS.names], schema=STEPS)


def step_of_owner(group: str, owner: Owner, names: Names) -> Step:
    """Return a new owner as a step, the topic by its name if it is known."""
    topic, partition = owner.assigned
    member = owner.member or (None, None, None)
    return (group, names.get(topic, topic), partition, *owner.place, False, None, False, *member)


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield the rows of the table ``groups``."""
    for batch in batches:
        yield from batch.to_pylist()


def histories(rows: Iterable[Row]) -> Iterator[History | tuple[str, Owner]]:
    """Yield, from sorted rows, the new owners in each group, and its history at its end."""
    history: History | None = None
    for row in rows:
        if history is None or history.group != row["group"]:
            if history is not None:
                yield history.closed()
            history = History(row["group"])
        for owner in history.see(row):
            yield history.group, owner
    if history is not None:
        yield history.closed()


def progresses(batches: Iterable[pa.RecordBatch]) -> Iterator[Progress]:
    """Yield the progress of each partition, from sorted steps."""
    progress: Progress | None = None
    for batch in batches:
        for part in _uniform_parts(batch):
            key = tuple(part.column(at)[0].as_py() for at in range(3))
            if progress is None or key != (progress.group, progress.topic, progress.partition):
                if progress is not None:
                    yield progress
                progress = Progress(*key)
            _take_in(progress, part)
    if progress is not None:
        yield progress


def _uniform_parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield runs of rows of one partition with the same kind of step."""
    if not batch.num_rows:
        return
    deleted = batch.column("offset").is_null()
    cut = _differ(deleted)
    for name in (*ORDER[:3], "is_commit"):
        cut |= _differ(batch.column(name))
    begins = [0, *(np.flatnonzero(cut) + 1).tolist(), batch.num_rows]
    for begin, end in pairwise(begins):
        yield batch.slice(begin, end - begin)


def _differ(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each row but the first whether it differs from the one before."""
    other = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
    return np.asarray(other.to_numpy(zero_copy_only=False), np.bool_)


def _take_in(progress: Progress, part: pa.RecordBatch) -> None:
    if part.column("offset").null_count == 0 and part.num_rows >= MIN_AS_RUN:
        log_partitions, log_offsets, times_ms, offsets = (
            part.column(name).to_numpy().astype(np.int64) for name in _NUMBERS
        )
        in_transaction = part.column("in_transaction").to_numpy(zero_copy_only=False)
        progress.see_run(Run(log_partitions, log_offsets, times_ms, offsets, in_transaction))
        return
    for values in zip(*(column.to_pylist() for column in part.columns[3:]), strict=True):
        log_partition, log_offset, at_ms, is_commit, offset, in_transaction, *member = values
        place = Place(log_partition, log_offset, at_ms)
        if is_commit:
            progress.see(Commit(place, offset, in_transaction))
        else:
            progress.owned(place, None if member[0] is None else Seen(*member))


_COMMITS: Final = pa.schema([COMMITS.field(name) for name in COMMIT_COLUMNS])

BATCH_ROWS: Final = 10_000

Found = History | Progress


def last_ms(commits: pa.Table, groups: pa.Table) -> int:
    """Return the time of the last record of all; 0 if there are none."""
    times = [pc.max(table["timestamp"]).as_py() for table in (commits, groups)]
    return max((each for each in times if each is not None), default=0)


def explore(
    commits: pa.Table,
    groups: pa.Table,
    *,
    names: Names | None = None,
    assumptions: Assumptions | None = None,
) -> Iterator[GroupFindings]:
    """Yield findings about each group, sorted by its id.

    *commits*, *groups*: rows of an import, in any order. *names* (topics by their ids) and
    *assumptions* are those of the whole import; needed if these are not all of its rows.
    """
    names = names_in(commits) if names is None else names
    assumptions = assumptions or Assumptions(WEEK_MS, last_ms(commits, groups))
    known, owners = fold_group_records(groups, names)
    steps = steps_of(commits, owners)
    del commits, groups, owners  # as large as the steps, and not needed any more
    yield from assessed([known, progresses(steps.to_batches(BATCH_ROWS))], assumptions)


def fold_group_records(groups: pa.Table, names: Names) -> tuple[list[History], list[Step]]:
    """Return the histories of groups, sorted by group, and changes of owners as steps."""
    known, owners = list[History](), list[Step]()
    ordered = groups.select(GROUP_COLUMNS).sort_by([(name, "ascending") for name in GROUP_ORDER])
    for item in histories(rows_of(ordered.to_batches(BATCH_ROWS))):
        if isinstance(item, History):
            known.append(item)
        else:
            owners.append(step_of_owner(*item, names))
    return known, owners


def steps_of(commits: pa.Table, owners: Sequence[Step]) -> pa.Table:
    """Return all steps, sorted."""
    columns = list(zip(*owners, strict=True)) or [() for _ in STEPS.names]
    owned = pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, STEPS, strict=True)],
        schema=STEPS,
    )
    plain = commits.select(COMMIT_COLUMNS).cast(_COMMITS)
    steps = pa.concat_tables([steps_of_commits(plain), owned])
    return steps.sort_by([(name, "ascending") for name in ORDER])


def assessed(
    streams: Iterable[Iterable[Found]], assumptions: Assumptions
) -> Iterator[GroupFindings]:
    """Yield findings about each group, from streams of histories and progress, sorted by group."""
    together = merge(*streams, key=lambda each: each.group)
    for _, found in groupby(together, key=lambda each: each.group):
        history, partitions = None, list[Progress]()
        for each in found:
            if isinstance(each, History):
                history = each
            else:
                partitions.append(each)
        yield assess(history, partitions, assumptions)
