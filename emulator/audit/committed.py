"""What a group had committed, and when it rebalanced, as its offsets log tells it.

Read from the tables of ``rebalance import``, from a Parquet file of ``rebalance log --columns``,
or from segment files. Times are the records' own, in milliseconds at best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emulator.audit.errors import AuditError
from emulator.audit.ranges import PartitionName
from emulator.audit.times import Array
from emulator.imported.tables import COUNTING
from emulator.offsets_log.columns import CommitColumns
from emulator.offsets_log.finding import LogFileError, logs_of
from emulator.offsets_log.opening import SegmentBytes, buffered, opened
from emulator.offsets_log.recognising import read_segment
from emulator.scenario.problems import hint, listed
from protocols.log.reader import BatchRecords
from protocols.records import MalformedRecordError, decode, group_of

GONE: Final = -1
"""Stands for the offset of a tombstone."""

MS: Final = 1_000
NEEDED: Final = ("group", "topic", "partition", "is_tombstone", "offset", "timestamp")
GENERATIONS: Final = {
    "GroupMetadata": "generation",
    "ConsumerGroupTargetAssignmentMetadata": "assignment_epoch",
}
"""Records that a new assignment leaves, and what counts them."""


class Commits(NamedTuple):
    """The commits of one partition in the order of the log."""

    at_us: Array
    offsets: Array
    """``GONE`` for a tombstone."""

    def before(self, at_us: int) -> Array:
        """Return what was committed by some time, newest last."""
        return self.offsets[: int(np.searchsorted(self.at_us, at_us, "right"))]


class Generation(NamedTuple):
    """The group was given a new assignment."""

    at_us: int
    number: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The history of one group."""

    group: str
    commits: Mapping[PartitionName, Commits]
    generations: tuple[Generation, ...] = ()

    def last(self, name: PartitionName, end_us: int | None) -> int | None:
        """Return what is committed for a partition at the end, or by the cut."""
        commits = self.commits.get(name)
        if commits is None:
            return None
        offsets = commits.offsets if end_us is None else commits.before(end_us)
        return int(offsets[-1]) if len(offsets) and offsets[-1] != GONE else None


@dataclass(slots=True)
class _Found:
    groups: dict[str, dict[PartitionName, tuple[list[Array], list[Array]]]] = field(
        default_factory=dict
    )
    generations: dict[str, list[Generation]] = field(default_factory=dict)


def read_committed(paths: Iterable[Path], group: str | None) -> Committed:
    """Read the history of *group*, or of the only one there is.

    Raise AuditError for files that cannot be used, or if there is no such group.
    """
    found = _Found()
    for path in paths:
        if not path.exists():
            raise AuditError(f"--commits {path}: no such file or folder")
        if path.suffix == ".parquet" or (path.is_dir() and any(path.rglob("*.parquet"))):
            _read_tables(path, found)
        else:
            _read_segments(path, found)
    chosen = _chosen(found, group)
    commits = {
        name: Commits(np.maximum.accumulate(np.concatenate(times)), np.concatenate(offsets))
        for name, (times, offsets) in sorted(found.groups[chosen].items())
    }
    return Committed(chosen, commits, tuple(sorted(found.generations.get(chosen, ()))))


def _chosen(found: _Found, group: str | None) -> str:
    there = sorted(found.groups)
    if not there:
        raise AuditError("--commits: there is no offset commit in it")
    if group is None and len(there) > 1:
        few = listed(there[:10]) + (f" and {len(there) - 10} more" if len(there) > 10 else "")
        raise AuditError(f"--commits: there are {len(there)} groups, {few}; say which: --group ID")
    if group is not None and group not in found.groups:
        near = hint(group, there) or f"; there are {listed(there[:10])}"
        raise AuditError(f"--group {group}: nothing was committed for it{near}")
    return group or there[0]


# -- tables ------------------------------------------------------------------------------------


def _read_tables(path: Path, found: _Found) -> None:
    """Read tables of commits, and of groups where an import has them."""
    commits = path / "commits" if (path / "commits").is_dir() else path
    files = sorted(commits.rglob("*.parquet")) if commits.is_dir() else [commits]
    for file in files:
        for batch in _batches(file, (*NEEDED, "transaction")):
            _add_commits(_counting(batch), found)
    if (path / "groups").is_dir():
        for file in sorted((path / "groups").rglob("*.parquet")):
            for batch in _batches(file, ("group", "kind", "epoch", "timestamp")):
                _add_generations(batch, found)


def _batches(file: Path, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    try:
        opened_ = pq.ParquetFile(file)
        there = opened_.schema_arrow.names
        missing = [name for name in columns if name not in there and name != "transaction"]
        if missing:
            raise AuditError(
                f"--commits {file}: there is no column {missing[0]!r}; expected a table of "
                "rebalance import or of rebalance log --columns, or segment files"
            )
        yield from opened_.iter_batches(columns=[name for name in columns if name in there])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise AuditError(f"--commits {file}: cannot be read as Parquet: {reason}") from None


def _counting(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave out commits of transactions that were not committed."""
    if "transaction" not in batch.schema.names:
        return batch
    column = batch.column("transaction")
    counts = pc.is_in(column, pa.array([each for each in COUNTING if each is not None]))
    return batch.filter(pc.or_(counts, pc.is_null(column)))


def _add_commits(batch: pa.RecordBatch, found: _Found) -> None:
    groups, topics = (_codes(batch.column(name)) for name in ("group", "topic"))
    partitions = batch.column("partition").to_numpy()
    order = np.lexsort((partitions, topics[0], groups[0]))
    columns = [column[order] for column in (groups[0], topics[0], partitions)]
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    offsets = pc.if_else(batch.column("is_tombstone"), GONE, batch.column("offset"))
    values = offsets.to_numpy(zero_copy_only=False).astype(np.int64)[order]
    times = batch.column("timestamp").to_numpy().astype(np.int64)[order] * MS
    for places in np.split(np.arange(len(order)), np.flatnonzero(new)[1:]):
        if len(places):
            group, topic, partition = (int(column[places[0]]) for column in columns)
            name = PartitionName(topics[1][topic], partition)
            kept = found.groups.setdefault(groups[1][group], {}).setdefault(name, ([], []))
            kept[0].append(times[places])
            kept[1].append(values[places])


def _codes(column: pa.Array) -> tuple[Array, list[str]]:
    """Return text as places in a list of its values."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return column.indices.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()


def _add_generations(batch: pa.RecordBatch, found: _Found) -> None:
    for row in batch.to_pylist():
        if row["kind"] in GENERATIONS and row["epoch"] is not None and row["epoch"] >= 0:
            generation = Generation(row["timestamp"] * MS, row["epoch"])
            found.generations.setdefault(row["group"], []).append(generation)


# -- segments ----------------------------------------------------------------------------------


def _read_segments(path: Path, found: _Found) -> None:
    try:
        for log in logs_of([path]):
            for segment in log.segments:
                with opened(segment.path) as file:
                    for batch in CommitColumns(buffered(SegmentBytes(file))):
                        _add_commits(batch, found)
                _add_generations_of(segment.path, found)
    except LogFileError as error:
        raise AuditError(f"--commits {error}") from None


def _add_generations_of(path: Path, found: _Found) -> None:
    for part in read_segment(path):
        if not isinstance(part, BatchRecords) or part.batch.header.is_control:
            continue
        for stored in part.records:
            try:
                key, value = decode(stored.key or b"", stored.value)
            except MalformedRecordError:
                continue
            named = GENERATIONS.get(type(key).__name__.removesuffix("Key"))
            group = group_of(key)
            if named is not None and value is not None and group is not None:
                generation = Generation(stored.timestamp * MS, getattr(value, named))
                found.generations.setdefault(group, []).append(generation)
