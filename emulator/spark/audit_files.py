"""The files of an audit on Spark, cut into parts that workers open and read themselves.

Parquet is cut at row groups, text at rows; in CSV, the workers find the ends of rows first.
Compressed files stay whole.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from emulator.logs.audit.csv_text import CsvLayout
from emulator.logs.audit.passes import Counts, Terms, ranges_of
from emulator.logs.audit.ranges import RANGES, CutsOf
from emulator.logs.audit.reading import CHUNK_ROWS, LogFile, Part, Source, layout_of, parts_of
from emulator.logs.audit.text import Seen, Span, lines_cut, look, rows_cut, sections_of
from emulator.logs.errors import AuditError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

SEEN_DDL: Final = "seen binary"
_SEEN: Final = pa.schema([("seen", pa.binary())])

Work = TypeVar("Work")


def found_anywhere(source: Source) -> Source:
    """Return the source with absolute paths, as workers have other working folders."""
    files = tuple(replace(file, path=file.path.absolute()) for file in source.files)
    return replace(source, files=files)


def parts_on(session: Session, source: Source, least: int) -> list[Part]:
    """Cut a log for the workers of a session; *least*: bytes of text in a part."""
    rows = max(CHUNK_ROWS, (source.rows or 0) // session.tasks)
    size = max(least, source.size // session.tasks)
    texts = [file for file in source.files if file.format != "parquet" and not file.is_packed]
    spans = dict[LogFile, Sequence[Span]]()
    for file in texts:
        sections = sections_of(0, file.path.stat().st_size, size)
        if file.format == "json" and len(sections) > 1:
            spans[file] = lines_cut(file.path, sections)
    csv = [file for file in texts if file.format == "csv"]
    return parts_of(source, rows, spans | _csv_spans(session, csv, size))


def _csv_spans(
    session: Session, files: Sequence[LogFile], size: int
) -> dict[LogFile, Sequence[Span]]:
    """Examine large files, and cut those that can be cut."""
    looks, spans = list[tuple[LogFile, Span, CsvLayout]](), dict[LogFile, Sequence[Span]]()
    for file in files:
        length, layout = file.path.stat().st_size, layout_of(file)
        if layout is not None and length >= 2 * size:
            looks += [(file, each, layout) for each in sections_of(layout.begin, length, size)]
    seen = dict[LogFile, list[Seen]]()
    for file, found in _looked_at(session, looks):
        seen.setdefault(file, []).append(found)
    for file, all_ in seen.items():
        cut = rows_cut(sorted(all_), file.path.stat().st_size)
        if cut is not None:
            spans[file] = cut
    return spans


def _looked_at(
    session: Session, looks: Sequence[tuple[LogFile, Span, CsvLayout]]
) -> Iterator[tuple[LogFile, Seen]]:
    if looks:
        tasks = min(session.tasks, len(looks))
        seen = _numbered(session, tasks).mapInArrow(partial(_look, _dealt(looks, tasks)), SEEN_DDL)
        for row in seen.toLocalIterator():
            yield pickle.loads(row["seen"])  # noqa: S301  a worker of this job made it


def ranges_of_parts(
    session: Session, source: Source, parts: Sequence[Part], terms: Terms, cuts_of: CutsOf | None
) -> DataFrame:
    """Return the ranges of parts, read by workers."""
    tasks = min(session.tasks, len(parts))
    read = partial(_read_parts, source, _dealt(parts, tasks), terms, cuts_of)
    return _numbered(session, tasks).mapInArrow(read, RANGES_DDL)


def _numbered(session: Session, tasks: int) -> DataFrame:
    """Return a table with the number of each task."""
    return session.spark.range(0, tasks, 1, tasks)


def _dealt(work: Sequence[Work], tasks: int) -> list[Sequence[Work]]:
    """Share work among tasks."""
    return [work[number::tasks] for number in range(tasks)]


# -- in the workers ----------------------------------------------------------------------------


def _own(dealt: Sequence[Sequence[Work]], batches: Iterator[pa.RecordBatch]) -> Iterator[Work]:
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from dealt[number]


def _look(
    dealt: Sequence[Sequence[tuple[LogFile, Span, CsvLayout]]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Examine sections of CSV."""
    for file, section, layout in _own(dealt, batches):
        seen = pickle.dumps((file, look(file.path, section, layout)))
        yield pa.RecordBatch.from_pydict({"seen": [seen]}, _SEEN)


def _read_parts(
    source: Source,
    dealt: Sequence[Sequence[Part]],
    terms: Terms,
    cuts_of: CutsOf | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Read parts of files into ranges."""
    chunks = (ranges_of(source, part, terms, cuts_of) for part in _own(dealt, batches))
    yield from with_notes(chain.from_iterable(chunks))


COUNTED: Final = -1
WRONG: Final = -2
"""Used in place of a partition's number, for notes."""

RANGES_DDL: Final = (
    "topic string, partition int, consumer string, lo long, hi long, began_us long, "
    "first_us long, ended_us long"
)


def with_notes(chunks: Iterable[tuple[pa.RecordBatch, Counts]]) -> Iterator[pa.RecordBatch]:
    """Yield ranges; at the end a note with the number of their rows, or with an error in the log."""
    rows = late = 0
    try:
        for ranges, counts in chunks:
            yield ranges
            rows, late = rows + counts.rows, late + counts.late
    except AuditError as error:
        yield _note(WRONG, str(error))
    else:
        yield _note(COUNTED, "", rows, late)


def _note(kind: int, text: str, *numbers: int) -> pa.RecordBatch:
    lo, hi = numbers or (0, 0)
    columns = [[""], [kind], [text], [lo], [hi], [0], [0], [0]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RANGES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RANGES)


def noted(partition: int, table: pa.Table) -> Counts | AuditError | None:
    """Return the sum of the notes of all tasks with one number; None if it is a partition's."""
    if partition == COUNTED:
        return Counts(sum(table["lo"].to_pylist()), sum(table["hi"].to_pylist()))
    if partition == WRONG:
        return AuditError(min(table["consumer"].to_pylist()))
    return None
