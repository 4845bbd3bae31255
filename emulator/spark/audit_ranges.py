"""An audit on Spark: workers join the rows they read into ranges, then process each partition.

Only ranges are shuffled, never rows, so skewed partitions are no problem. Workers read files that
every executor can open themselves (:mod:`audit_files`); other logs are read through Spark
(:mod:`audit_tables`). Results of partitions, and errors in a log, are returned pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from emulator.logs.audit.passes import Counts, Look, Terms
from emulator.logs.audit.ranges import CutsOf, PartitionName
from emulator.logs.audit.reading import Source
from emulator.logs.audit.text import CHUNK_BYTES
from emulator.logs.errors import AuditError
from emulator.spark.audit_files import found_anywhere, noted, parts_on, ranges_of_parts
from emulator.spark.audit_tables import (
    Opened,
    SparkTable,
    opened,
    ranges_of_table,
    rows_in_order,
)
from emulator.spark.errors import translated_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

Found = TypeVar("Found")

SETTINGS: Final = {"spark.sql.execution.arrow.maxRecordsPerBatch": "65536"}
"""Settings of a session for audits, whose rows are small."""

FOUND_DDL: Final = "found binary"
_FOUND: Final = pa.schema([("found", pa.binary())])


class OnSpark:
    """Audits with a Spark session."""

    def __init__(
        self,
        session: Session,
        log: Source | Opened,
        terms: Terms,
        min_bytes: int = CHUNK_BYTES,
    ) -> None:
        """Examine *log*, whose files every executor must reach; raise AuditError if it is invalid.

        *min_bytes*: minimum size of a part of a text file.
        """
        self._counts = Counts(0, 0)
        self._ranges: Callable[[CutsOf | None], DataFrame]
        with translated_errors():
            if isinstance(log, Source):
                source = found_anywhere(log)
                parts = parts_on(session, source, min_bytes)
                self._ranges = partial(ranges_of_parts, session, source, parts, terms)
            else:
                self._ranges = partial(ranges_of_table, log, terms)

    def look(self, look: Look[Found], cuts_of: CutsOf | None) -> Iterator[Found]:
        """Read the log; yield the result of *look* for each partition."""

        def looked_at(table: pa.Table) -> pa.Table:
            return _looked_at(look, table)

        with translated_errors():
            ranges = self._ranges(cuts_of).groupBy("topic", "partition")
            found = ranges.applyInArrow(looked_at, FOUND_DDL)
            for row in found.toLocalIterator():
                value = pickle.loads(row["found"])  # noqa: S301  a worker of this job made it
                if isinstance(value, AuditError):
                    raise value
                if not isinstance(value, Counts):
                    yield value
                elif cuts_of is None:
                    self._counts = value

    def counts(self) -> Counts:
        """Return the numbers of rows of the first pass."""
        return self._counts


def open_table(session: Session, table: SparkTable) -> Opened:
    """Determine the columns of a log that only Spark reaches; raise AuditError if it is invalid."""
    with translated_errors():
        return opened(session, table)


def event_rows(log: Opened) -> pa.Table:
    """Return the events of a run from Spark, in their order."""
    with translated_errors():
        return rows_in_order(log)


# -- in the workers ----------------------------------------------------------------------------


def _looked_at(look: Look[Any], table: pa.Table) -> pa.Table:
    """Process all ranges of one partition, or sum up the notes."""
    name = PartitionName(table["topic"][0].as_py(), table["partition"][0].as_py())
    found: Any = noted(name.partition, table)
    if found is None:
        try:
            found = look(name, table)
        except AuditError as error:
            found = error
    return pa.Table.from_pydict({"found": [pickle.dumps(found)]}, _FOUND)
