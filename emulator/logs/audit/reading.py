"""Read a processing log in chunks: Parquet, JSON lines or CSV, files or folders of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assignors.values import dataclass
from emulator.input_files import nearest_file
from emulator.logs.audit.columns import is_text, unit_of
from emulator.logs.audit.csv_text import LONGEST_HEADER, CsvLayout, layout_in
from emulator.logs.audit.rows import Mapped, Rows, map_columns, rows_of
from emulator.logs.audit.text import (
    CHUNK_BYTES,
    Batches,
    Span,
    csv_batches,
    json_batches,
    lines_in,
    pieces_of,
)
from emulator.logs.captured_run import refuse_captured_run
from emulator.logs.errors import AuditError, UnknownFormatError
from emulator.logs.imports.marker import import_with
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.remote_files import file_system, files_at, is_uri
from emulator.parquet_file import refuse_large_groups, refuse_repeated_texts

CHUNK_ROWS = 1 << 20
"""Rows held in memory at once."""


@dataclass(frozen=True, slots=True)
class Part:
    """The work of one worker: a file, some row groups of a Parquet file, or some bytes of text."""

    file: LogFile
    groups: tuple[int, ...] | None = None
    span: Span | None = None
    """Bytes of whole rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A processing log that can be read."""

    files: tuple[LogFile, ...]
    mapped: Mapped
    unit: str
    """Of its times; empty for timestamps and ISO 8601."""

    rows: int | None
    """The number of rows; None if it is not known without reading."""

    size: int
    """In bytes."""

    @property
    def name(self) -> str:
        """The first file, and how many more."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0].place}{more}"


def open_source(
    files: Sequence[LogFile],
    wanted: Mapping[str, str],
    unit: str | None,
) -> Source:
    """Determine the columns of a log and the unit of its times.

    *wanted*: columns the user named; *unit*: of numeric times, None: decided by their size. Raise
    AuditError if a column is missing, of another type, or the log holds no row.
    """
    first = next(
        (batch for file in files for batch, _ in _batches(Part(file), None) if len(batch)), None
    )
    if first is None:
        more = "" if len(files) == 1 else f" and the {len(files) - 1} files after it"
        raise AuditError(f"{files[0].place}{more}: empty: it contains no row")
    mapped = map_columns(first.schema.names, wanted, str(files[0].place))
    ends = first.column(mapped.end)
    return Source(
        files=tuple(files),
        mapped=mapped,
        unit="us" if mapped.events else unit_of(ends, mapped.end, unit),
        rows=_rows(files),
        size=sum(file.size for file in files),
    )


def _rows(files: Sequence[LogFile]) -> int | None:
    if any(file.format != "parquet" for file in files):
        return None
    counts: list[int] = [_parquet(file.place).metadata.num_rows for file in files]
    return sum(counts)


def parts_of(
    source: Source, rows: int, spans: Mapping[LogFile, Sequence[Span]] | None = None
) -> list[Part]:
    """Cut a log into parts of about *rows* rows; cut text files only by *spans*."""
    cut, parts = spans or {}, list[Part]()
    for file in source.files:
        if file.format == "parquet":
            parts += _row_groups(file, rows)
        elif file in cut:
            parts += [Part(file, span=span) for span in cut[file]]
        else:
            parts.append(Part(file))
    return parts


def _row_groups(file: LogFile, rows: int) -> Iterator[Part]:
    metadata, groups, held = _parquet(file.place).metadata, list[int](), 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        held += metadata.row_group(group).num_rows
        if held >= rows:
            yield Part(file, tuple(groups))
            groups, held = [], 0
    if groups:
        yield Part(file, tuple(groups))


def read_rows(source: Source, part: Part) -> Iterator[tuple[Rows, int]]:
    """Yield the rows of a part chunk by chunk, with the number of rows read so far.

    Raise AuditError for invalid input, with the file and the row.
    """
    read = 0
    for batch, where in _batches(part, source.mapped):
        read += len(batch)
        yield rows_of(batch, source.mapped, source.unit, where), read


def batches_of(part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part with all columns; raise AuditError for invalid files."""
    return (batch for batch, _ in _batches(part, None))


def metadata_of(file: LogFile) -> Mapping[bytes, bytes]:
    """Return the metadata of a Parquet file; other formats have none."""
    return _parquet(file.place).schema_arrow.metadata or {} if file.format == "parquet" else {}


def _batches(part: Part, mapped: Mapped | None) -> Batches:
    """Yield a part's batches; raise AuditError for invalid files."""
    read = {"parquet": _of_parquet, "json": _of_json, "csv": _of_csv}[part.file.format]
    try:
        yield from read(part, mapped)
    except (pa.ArrowException, EOFError, UnicodeDecodeError) as error:
        kind = " as Parquet" if part.file.format == "parquet" else ""
        raise AuditError(f"{part.file.place}: cannot be read{kind}: {_reason(error)}") from None
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise AuditError(f"{part.file.place}: cannot be read: {reason}") from None


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# -- text --------------------------------------------------------------------------------------


def _of_json(part: Part, _: Mapped | None) -> Batches:
    path, (begin, end) = part.file.place, part.span or (0, None)
    pieces = pieces_of(path, begin, end, CHUNK_BYTES)
    yield from json_batches(str(path), pieces, partial(lines_in, path, begin))


def _of_csv(part: Part, mapped: Mapped | None) -> Batches:
    path, layout = part.file.place, layout_of(part.file)
    if layout is None:
        return
    begin, end = part.span or (layout.begin, None)
    pieces = pieces_of(path, begin, end, CHUNK_BYTES)
    yield from csv_batches(str(path), pieces, layout, mapped, partial(lines_in, path, begin))


def layout_of(file: LogFile) -> CsvLayout | None:
    """Return the layout of a CSV file; None if it is empty. Raise AuditError if it is no text."""
    head = next(pieces_of(file.place, 0, LONGEST_HEADER, LONGEST_HEADER), b"")
    return layout_in(head, str(file.place))


# -- Parquet -----------------------------------------------------------------------------------


def _parquet(place: Path | str, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a Parquet file; *texts*: columns to read dictionary-encoded."""
    system, path = file_system(place) if isinstance(place, str) else (None, place)
    try:
        if not texts:
            return pq.ParquetFile(path, filesystem=system)
        there = pq.read_schema(path, filesystem=system)
        repeating = [field.name for field in there if field.name in texts and is_text(field.type)]
        return pq.ParquetFile(path, read_dictionary=repeating, pre_buffer=False, filesystem=system)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise AuditError(f"{place}: cannot be read as Parquet: {_reason(error)}") from None


def _of_parquet(part: Part, mapped: Mapped | None) -> Batches:
    file, read = _parquet(part.file.place, mapped.texts if mapped else ()), 0
    there = file.schema_arrow.names
    columns = None if mapped is None else [name for name in mapped.columns if name in there]
    refuse_large_groups(file, str(part.file.place))
    groups = None if part.groups is None else list(part.groups)
    _refuse_repeated_texts(part.file.place, file, groups)
    for batch in file.iter_batches(CHUNK_ROWS, row_groups=groups, columns=columns):
        yield batch, partial(_rows_named, part, read, len(batch))
        read += len(batch)


def _refuse_repeated_texts(
    place: Path | str, file: pq.ParquetFile, groups: list[int] | None
) -> None:
    system, path = file_system(place) if isinstance(place, str) else (None, place)
    refuse_repeated_texts(path, file.metadata, groups, system)


def _rows_named(part: Part, read: int, rows: int, row: int | None) -> str:
    """Return the position of rows in a Parquet file, for messages."""
    groups = f", row groups from {part.groups[0]} on" if part.groups and part.groups[0] else ""
    which = "" if row is None else f", row {row + 1:,} of these"
    return f"{part.file.place}{groups}, rows {read + 1:,} to {read + rows:,}{which}"


ENDINGS: Mapping[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "json": (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    "csv": (".csv", ".csv.gz"),
}
PACKED = ".gz"


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a processing log."""

    path: Path
    format: str
    """``parquet``, ``json`` or ``csv``."""

    uri: str = ""
    """Of a file that is not a path of this machine."""

    remote_size: int = 0
    """The size of a file at a URI, in bytes."""

    @property
    def place(self) -> Path | str:
        """The path, or the URI."""
        return self.uri or self.path

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.remote_size if self.uri else self.path.stat().st_size

    @property
    def is_packed(self) -> bool:
        """Whether it is compressed, so that it can be read only from its beginning."""
        return self.path.name.lower().endswith(PACKED)


def files_of(logs: Sequence[str], format_: str | None) -> tuple[LogFile, ...]:
    """Return the files of an audit's logs, which are paths or URIs, in the format that its user gives.

    Raise AuditError for one that is missing, of an unknown format, or contains something else.
    """
    local = [Path(log) for log in logs if not is_uri(log)]
    try:
        files = find_files(local, format_)
    except UnknownFormatError as error:
        raise AuditError(f"{error}, or give `format` parquet, json or csv") from None
    return files + find_remote_files([log for log in logs if is_uri(log)], format_)


def find_files(paths: Sequence[Path], format_: str | None = None) -> tuple[LogFile, ...]:
    """Return the files at some paths and in folders; *format_*: overrides their extensions.

    Raise UnknownFormatError for the name of a file without a known extension, AuditError for a path
    that is missing or contains something else.
    """
    found = list[LogFile]()
    for path in paths:
        _refuse_import(path)
        refuse_captured_run(path)
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if _is_data(each, path))
            files = [
                LogFile(each, format_ or kind) for each in inside if (kind := format_of(each.name))
            ]
            if not files:
                raise AuditError(
                    f"{path}: no file in this folder ends in {_endings()}{_segments(path)}"
                )
            found += files
        elif not path.exists():
            raise AuditError(f"{path}: no such file or folder{nearest_file(path)}")
        else:
            kind = format_ or format_of(path.name)
            if not kind:
                raise UnknownFormatError(
                    f"{path}: unknown file name extension; expected {_endings()}"
                )
            found.append(LogFile(path, kind))
    return tuple(found)


def _refuse_import(path: Path) -> None:
    folder = import_with(path)
    if folder is not None:
        raise AuditError(
            f"{path}: what rebalance import wrote: committed offsets and groups, no processing log, "
            "which has a row for each record that a consumer processed. Give such logs of your "
            f"consumers, and `commits` {folder}"
        )


def _segments(folder: Path) -> str:
    """Return what to do with a folder of segments of an offsets log; empty: it is none."""
    from emulator.logs.imports.pieces import is_named_as_segment  # noqa: PLC0415  for an error

    if not any(is_named_as_segment(each.name) for each in folder.rglob("*")):
        return ""
    return (
        f"; its segments are committed offsets, no processing log: rebalance import {folder} -o DIR "
        "makes tables of them, and `commits` DIR compares them with processing logs of your consumers"
    )


def find_remote_files(uris: Sequence[str], format_: str | None) -> tuple[LogFile, ...]:
    """Return the files at some URIs and in folders there; *format_*: overrides their extensions.

    Raise AuditError for a URI that cannot be listed, is missing or has an unknown format.
    """
    found = list[LogFile]()
    for uri in uris:
        try:
            is_folder, files = files_at(uri)
        except LogFileError as error:
            raise AuditError(str(error)) from None
        below = len(uri.rstrip("/"))
        for path, info in files:
            kind = format_ or format_of(path)
            hidden = any(name.startswith((".", "_")) for name in path[below:].split("/"))
            if kind and not (is_folder and (hidden or not format_of(path))):
                found.append(LogFile(Path(info.base_name), kind, path, info.size))
        if not found:
            raise AuditError(f"{uri}: no file ends in {_endings()}")
    return tuple(found)


def _is_data(path: Path, below: Path) -> bool:
    parts = path.relative_to(below).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def format_of(name: str) -> str:
    """Return the format of a file by its extension; empty if that is unknown."""
    lower = name.lower()
    return next((kind for kind, ends in ENDINGS.items() if lower.endswith(ends)), "")


def _endings() -> str:
    return ", ".join(end for ends in ENDINGS.values() for end in ends if not end.endswith(PACKED))
