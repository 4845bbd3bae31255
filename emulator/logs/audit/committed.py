"""Read the commits and rebalances of a group from its offsets log.

The source is a folder of ``rebalance import``, a Parquet file of ``rebalance log --columns``, or
segment files. Times are those of the records, in milliseconds at best. The log is read once, batch
by batch, and kept by partition (:mod:`emulator.logs.audit.commits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assignors.values import dataclass
from emulator.logs.audit.columns import Array
from emulator.logs.audit.commits import GONE, Committed, Generation, KeptCommits
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError
from emulator.logs.imports.tables import (
    COMMITS,
    COUNTING,
    GROUPS,
    columns_problem,
    empty_cells_problem,
)
from emulator.logs.offsets_log.columns import CommitColumns
from emulator.logs.offsets_log.finding import (
    LogFileError,
    SegmentBytes,
    buffered,
    logs_of,
    opened,
    segment_limits,
)
from emulator.logs.offsets_log.recognising import read_segment
from emulator.parquet_file import opened_parquet
from emulator.scenario.problems import few_listed, hint
from protocols.offsets_topic.records import MalformedRecordError, decode, group_of
from protocols.offsets_topic.segments.reader import BatchRecords

MS: Final = 1_000
NEEDED: Final = ("group", "topic", "partition", "is_tombstone", "offset", "timestamp")
OPTIONAL: Final = ("log_offset", "transaction")
FILLED: Final = ("group", "topic", "partition", "is_tombstone", "timestamp", "log_offset")
"""Columns without empty cells."""

_TYPES: Final = {field.name: field for field in (*GROUPS, *COMMITS)}
COMMIT_KEYS: Final = (b"\x00\x00", b"\x00\x01")
"""The first bytes of keys of offset commits, which are read as columns: this is faster."""

GENERATIONS: Final = {
    "GroupMetadata": "generation",
    "ConsumerGroupTargetAssignmentMetadata": "assignment_epoch",
}
"""Record types written for a new assignment, and their field with the generation or epoch."""


@dataclass(slots=True)
class _Found:
    """The state while reading: the commits of one group, and the names of all groups."""

    wanted: str | None
    """The group; None: the first one in the log."""

    groups: set[str] = field(default_factory=set)
    commits: KeptCommits = field(default_factory=KeptCommits)
    generations: list[Generation] = field(default_factory=list)

    def takes(self, group: str) -> bool:
        """Record the name of a group; return whether its commits are kept."""
        self.groups.add(group)
        self.wanted = group if self.wanted is None else self.wanted
        return group == self.wanted


def read_committed(paths: Iterable[Path], group: str | None) -> Committed:
    """Read the history of *group*, or of the only group; skip the data of others.

    Raise AuditError for files that cannot be used, or if there is no such group.
    """
    found, sources = _Found(group), [_source(path) for path in paths]
    for source in sources:
        source.read_commits(found)
    found.commits.settle()
    for source in sources:  # the group is known now
        source.read_generations(found)
    chosen = _chosen(found.groups, group)
    return Committed(chosen, found.commits, tuple(sorted(found.generations)))


def _source(path: Path) -> _Tables | _Segments:
    if not path.exists():
        raise AuditError(f"`commits={path}`: no such file or folder on this machine")
    if path.suffix == ".parquet" or (path.is_dir() and any(path.rglob("*.parquet"))):
        return _Tables(path)
    return _Segments(path)


def _chosen(groups: set[str], group: str | None) -> str:
    there = sorted(groups)
    if not there:
        raise AuditError("`commits`: it contains no offset commit")
    if group is None and len(there) > 1:
        raise AuditError(
            f"`commits`: there are {len(there)} groups, {few_listed(there)}; choose one with `group`"
        )
    if group is not None and group not in groups:
        near = hint(group, there) or f"; there are {few_listed(there)}"
        raise AuditError(f"`group={group}`: no commits of this group{near}")
    return group or there[0]


# -- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tables:
    """Tables of commits, and of groups if it is an import."""

    path: Path

    def read_commits(self, found: _Found) -> None:
        commits = self.path / "commits" if (self.path / "commits").is_dir() else self.path
        for file in sorted(commits.rglob("*.parquet")) if commits.is_dir() else [commits]:
            for batch in _batches(file, (*NEEDED, *OPTIONAL)):
                _add_commits(_counting(batch), found)

    def read_generations(self, found: _Found) -> None:
        for file in sorted((self.path / "groups").rglob("*.parquet")):
            for batch in _batches(file, ("group", "kind", "epoch", "timestamp")):
                _add_generations(batch, found)


def _batches(file: Path, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    try:
        opened_ = opened_parquet(file, pre_buffer=False)
        there = opened_.schema_arrow.names
        missing = [name for name in columns if name not in there and name not in OPTIONAL]
        if missing:
            raise AuditError(
                f"`commits={file}`: there is no column {missing[0]!r}; expected a table of "
                "rebalance import or of rebalance log --columns, or segment files"
            )
        names = [name for name in columns if name in there]
        problem = columns_problem(opened_.schema_arrow, pa.schema([_TYPES[name] for name in names]))
        if problem is not None:
            raise AuditError(f"`commits={file}`: {problem}")
        for batch in opened_.iter_batches(columns=names):
            problem = empty_cells_problem(batch, FILLED)
            if problem is not None:
                raise AuditError(f"`commits={file}`: {problem}")
            yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise AuditError(f"`commits={file}`: cannot be read as Parquet: {reason}") from None


def _counting(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without commits of transactions that were not committed."""
    if "transaction" not in batch.schema.names:
        return batch
    column = batch.column("transaction")
    counts = pc.is_in(column, pa.array([each for each in COUNTING if each is not None]))
    return batch.filter(pc.or_(counts, pc.is_null(column)))


def _add_commits(batch: pa.RecordBatch, found: _Found) -> None:
    """Keep the commits of the requested group by partition."""
    codes, groups = _codes(batch.column("group"))
    taken = [code for code in np.unique(codes).tolist() if found.takes(groups[code])]
    if not taken:
        return
    batch = batch.filter(pa.array(codes == taken[0]))
    found.commits.add(_numbers(batch, found.commits), _history(batch))


def _numbers(batch: pa.RecordBatch, kept: KeptCommits) -> Array:
    """Return the number of each commit's partition in *kept*."""
    topic_codes, topics = _codes(batch.column("topic"))
    partitions = batch.column("partition").to_numpy().astype(np.int64)
    many = int(partitions.max(initial=0)) + 1
    there, places = np.unique(topic_codes * many + partitions, return_inverse=True)
    named = [divmod(each, many) for each in there.tolist()]
    numbers = [kept.number_of(PartitionName(topics[topic], number)) for topic, number in named]
    return np.array(numbers, np.int64)[places]


def _history(batch: pa.RecordBatch) -> Array:
    """Return rows of log positions, times in microseconds, and committed offsets."""
    offsets = pc.if_else(batch.column("is_tombstone"), GONE, batch.column("offset"))
    times = batch.column("timestamp").to_numpy().astype(np.int64) * MS
    places = np.zeros(len(batch), np.int64)
    if "log_offset" in batch.schema.names:
        places = batch.column("log_offset").to_numpy().astype(np.int64)
    return np.column_stack((places, times, offsets.to_numpy(zero_copy_only=False))).astype(np.int64)


def _codes(column: pa.Array) -> tuple[Array, list[str]]:
    """Return text as indices into a list of its values."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, column.dictionary.to_pylist()


def _add_generations(batch: pa.RecordBatch, found: _Found) -> None:
    """Keep the records of new assignments in the requested group; call it after the commits."""
    mine = batch.filter(pc.equal(batch.column("group"), pa.scalar(found.wanted, pa.string())))
    for row in mine.to_pylist():
        if row["kind"] in GENERATIONS and row["epoch"] is not None and row["epoch"] >= 0:
            found.generations.append(Generation(row["timestamp"] * MS, row["epoch"]))


# -- segments ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Segments:
    """Segment files of the offsets topic."""

    path: Path

    def read_commits(self, found: _Found) -> None:
        with _refused():
            for path in self._paths():
                with opened(path) as file:
                    source = buffered(SegmentBytes(file))
                    for batch in CommitColumns(source, limits=segment_limits()):
                        _add_commits(batch, found)

    def read_generations(self, found: _Found) -> None:
        with _refused():
            for path in self._paths():
                _add_generations_of(path, found)

    def _paths(self) -> Iterator[Path]:
        return (segment.path for log in logs_of([self.path]) for segment in log.segments)


@contextmanager
def _refused() -> Iterator[None]:
    """Turn the error of a segment into an AuditError that names the option."""
    try:
        yield
    except LogFileError as error:
        raise AuditError(f"`commits` {error}") from None


def _add_generations_of(path: Path, found: _Found) -> None:
    for part in read_segment(path):
        if not isinstance(part, BatchRecords) or part.batch.header.is_control:
            continue
        for stored in part.records:
            if stored.key is None or stored.key[:2] in COMMIT_KEYS:
                continue
            try:
                key, value = decode(stored.key, stored.value)
            except MalformedRecordError:
                continue
            named = GENERATIONS.get(type(key).__name__.removesuffix("Key"))
            if named is not None and value is not None and group_of(key) == found.wanted:
                found.generations.append(Generation(stored.timestamp * MS, getattr(value, named)))
