"""The passes over a processing log: the second one only where records were reprocessed.

An engine reads rows into ranges and passes the ranges of each partition to a function. One process
does it here; Spark does it in :mod:`emulator.spark.audit_ranges`, with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from assignors.values import dataclass
from emulator.logs.audit.partitions import Limits, PartitionLedger, account
from emulator.logs.audit.ranges import (
    RANGES,
    Cuts,
    CutsOf,
    PartitionName,
    cuts_for,
    encode,
    joined,
    pieces_of,
)
from emulator.logs.audit.reading import Part, Source, parts_of, read_rows
from emulator.logs.audit.rows import Rows
from emulator.logs.errors import AuditError

Found = TypeVar("Found")

NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Limits of an audit, for all partitions and for each."""

    end_us: int | None = None
    """The cut: rows that finished later do not count."""

    limits: Mapping[PartitionName, Limits] = field(default_factory=dict)

    def of(self, name: PartitionName) -> Limits:
        """Return the limits of a partition."""
        return self.limits.get(name, NO_LIMITS)


class FirstPassResult(NamedTuple):
    """The result of the first pass over a partition: its ledger, or where to cut in the second."""

    name: PartitionName
    ledger: PartitionLedger | None
    cuts: Cuts | None


class Counts(NamedTuple):
    """Numbers of rows."""

    rows: int
    late: int
    """Rows that finished after the cut and were omitted."""


Look = Callable[[PartitionName, pa.Table], Found]
"""A function of all ranges of one partition."""


class Engine(Protocol):
    """Reads rows into ranges, and calls a function with the ranges of each partition."""

    def look(self, look: Look[Found], cuts_of: CutsOf | None) -> Iterable[Found]:
        """Read the log, only partitions of *cuts_of* if given; yield the results of *look*."""

    def counts(self) -> Counts:
        """Return the numbers of rows of the first pass."""


class Audited(NamedTuple):
    """The result of an audit, by partition."""

    partitions: tuple[PartitionLedger, ...]
    """By topic and number."""

    counts: Counts


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Computes the accounts of a partition if no record of it was reprocessed."""

    terms: Terms

    def __call__(self, name: PartitionName, table: pa.Table) -> FirstPassResult:
        """Process all ranges of one partition."""
        pieces, consumers = pieces_of(table)
        whole = joined(pieces)
        cuts = cuts_for(whole)
        if cuts is not None:
            return FirstPassResult(name, None, cuts)
        return FirstPassResult(name, account(name, whole, consumers, self.terms.of(name)), None)


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Computes the accounts of a partition whose ranges were cut."""

    terms: Terms

    def __call__(self, name: PartitionName, table: pa.Table) -> PartitionLedger:
        """Account all pieces of one partition."""
        pieces, consumers = pieces_of(table)
        return account(name, pieces, consumers, self.terms.of(name))


def audit(engine: Engine, terms: Terms) -> Audited:
    """Audit a log; raise AuditError for input that cannot be used."""
    ledgers, cuts_of = list[PartitionLedger](), dict[PartitionName, Cuts]()
    for result in engine.look(FirstPass(terms), None):
        if result.ledger is not None:
            ledgers.append(result.ledger)
        if result.cuts is not None:
            cuts_of[result.name] = result.cuts
    counts = engine.counts()
    if counts.rows == counts.late:
        raise AuditError(_no_row(counts))
    if cuts_of:
        ledgers += engine.look(SecondPass(terms), cuts_of)
    ledgers += _never_touched({ledger.name for ledger in ledgers}, terms)
    return Audited(tuple(sorted(ledgers, key=lambda ledger: ledger.name)), counts)


def _no_row(counts: Counts) -> str:
    if not counts.rows:
        return "empty: it contains no processed record"
    return (
        f"all {counts.rows:,} rows were finished after the cut; give `t_end` in the unit of the log, "
        "or `time_unit`"
    )


def _never_touched(seen: set[PartitionName], terms: Terms) -> Iterator[PartitionLedger]:
    """Yield the accounts of known partitions without a processed record."""
    nothing = RANGES.empty_table()
    for name in sorted(terms.limits.keys() - seen):
        yield SecondPass(terms)(name, nothing)


# -- one process -------------------------------------------------------------------------------


class InProcess:
    """Audits in this process, with all ranges and one chunk of rows in memory."""

    def __init__(
        self, source: Source, terms: Terms, on_rows: Callable[[int], None] = lambda _: None
    ) -> None:
        """Read *source*; *on_rows* is called with the number of rows read so far."""
        self._source = source
        self._terms = terms
        self._on_rows = on_rows
        self._counts = Counts(0, 0)

    def look(self, look: Look[Found], cuts_of: CutsOf | None) -> Iterator[Found]:
        """Read the log; yield the result of *look* for each partition, by name."""
        tables, counts = list[pa.RecordBatch](), Counts(0, 0)
        for part in parts_of(self._source, 1 << 62):
            for batch, counted in ranges_of(self._source, part, self._terms, cuts_of):
                counts = Counts(counts.rows + counted.rows, counts.late + counted.late)
                tables.append(batch)
                self._on_rows(counts.rows)
        if cuts_of is None:
            self._counts = counts
        for name, table in _by_partition(pa.Table.from_batches(tables, RANGES)):
            yield look(name, table)

    def counts(self) -> Counts:
        """Return the numbers of rows of the first pass."""
        return self._counts


def ranges_of(
    source: Source, part: Part, terms: Terms, cuts_of: CutsOf | None
) -> Iterator[tuple[pa.RecordBatch, Counts]]:
    """Yield a part's ranges chunk by chunk, with the numbers of rows."""
    for rows, _ in read_rows(source, part):
        yield ranges_of_rows(rows, terms, cuts_of)


def ranges_of_rows(
    rows: Rows, terms: Terms, cuts_of: CutsOf | None
) -> tuple[pa.RecordBatch, Counts]:
    """Return the ranges of a chunk up to the cut, and the numbers of rows."""
    late = 0
    if terms.end_us is not None and len(rows):
        in_time = rows.ended_us <= terms.end_us
        late = len(rows) - int(in_time.sum())
        if late:
            rows = rows.select(in_time.nonzero()[0])
    return encode(rows, cuts_of), Counts(len(rows) + late, late)


def _by_partition(table: pa.Table) -> Iterator[tuple[PartitionName, pa.Table]]:
    """Split a table of ranges by partition, in the order of names."""
    if not table.num_rows:
        return
    ordered = table.sort_by([("topic", "ascending"), ("partition", "ascending")])
    counted = ordered.group_by(["topic", "partition"], use_threads=False).aggregate(
        [([], "count_all")]
    )
    at = 0
    for row in counted.to_pylist():
        yield (
            PartitionName(row["topic"], row["partition"]),
            ordered.slice(at, row["count_all"]),
        )
        at += row["count_all"]
