"""Reading a processing log in chunks: Parquet, JSON lines or CSV, files or folders of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.json as pj
import pyarrow.parquet as pq

from emulator.audit.columns import is_text
from emulator.audit.errors import AuditError
from emulator.audit.mapping import Mapped, map_columns
from emulator.audit.rows import Rows, rows_of
from emulator.audit.times import unit_of

CHUNK_ROWS = 1 << 20
"""Rows that are held in memory at once."""

CHUNK_BYTES = 1 << 25
"""The same for text, in bytes."""

LONGEST_HEADER = 1 << 16
SEPARATORS = (",", ";", "\t", "|")
"""Of CSV, the usual one first."""

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "json": (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    "csv": (".csv", ".csv.gz"),
}


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a processing log."""

    path: Path
    format: str
    """``parquet``, ``json`` or ``csv``."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker reads: a file, or some row groups of a Parquet file."""

    file: LogFile
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A processing log that can be read."""

    files: tuple[LogFile, ...]
    mapped: Mapped
    unit: str
    """Of its times; empty for timestamps and ISO 8601."""

    rows: int | None
    """How many there are, where that can be told without reading."""

    size: int
    """In bytes."""

    @property
    def name(self) -> str:
        """The first file, and how many more."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0].path}{more}"


def find_files(paths: Sequence[Path], format_: str | None = None) -> tuple[LogFile, ...]:
    """Return the files at some paths, folders searched through; *format_*: whatever their endings.

    Raise AuditError for a path that is missing or of no known kind.
    """
    found = list[LogFile]()
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if _is_data(each, path))
            files = [LogFile(each, format_ or kind) for each in inside if (kind := _format(each))]
            if not files:
                raise AuditError(f"{path}: no file in this folder ends in {_endings()}")
            found += files
        elif not path.exists():
            raise AuditError(f"{path}: no such file or folder")
        else:
            kind = format_ or _format(path)
            if not kind:
                raise AuditError(
                    f"{path}: its name does not tell what it is; expected {_endings()}, or say "
                    "--format parquet, json or csv"
                )
            found.append(LogFile(path, kind))
    return tuple(found)


def _is_data(path: Path, below: Path) -> bool:
    parts = path.relative_to(below).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def _format(path: Path) -> str:
    name = path.name.lower()
    return next((kind for kind, ends in ENDINGS.items() if name.endswith(ends)), "")


def _endings() -> str:
    return ", ".join(end for ends in ENDINGS.values() for end in ends if not end.endswith(".gz"))


def open_source(files: Sequence[LogFile], wanted: Mapping[str, str], unit: str | None) -> Source:
    """Look at the columns of a log and the unit of its times.

    *wanted*: columns the user named; *unit*: of numeric times, None: told by their size. Raise
    AuditError if a column is missing, of another type, or the log holds no row.
    """
    first = next(
        (batch for file in files for batch in _batches(Part(file), None) if len(batch)), None
    )
    if first is None:
        more = "" if len(files) == 1 else f" and the {len(files) - 1} files after it"
        raise AuditError(f"{files[0].path}{more}: empty: there is no row to audit")
    mapped = map_columns(first.schema.names, wanted, str(files[0].path))
    ends = first.column(mapped.end)
    return Source(
        files=tuple(files),
        mapped=mapped,
        unit="us" if mapped.events else unit_of(ends, mapped.end, unit),
        rows=_rows(files),
        size=sum(file.path.stat().st_size for file in files),
    )


def _rows(files: Sequence[LogFile]) -> int | None:
    if any(file.format != "parquet" for file in files):
        return None
    counts: list[int] = [_parquet(file.path).metadata.num_rows for file in files]
    return sum(counts)


def parts_of(source: Source, rows: int) -> list[Part]:
    """Cut a log into parts of about so many rows; files of text stay whole."""
    parts = list[Part]()
    for file in source.files:
        if file.format != "parquet":
            parts.append(Part(file))
            continue
        metadata, groups, held = _parquet(file.path).metadata, list[int](), 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            held += metadata.row_group(group).num_rows
            if held >= rows:
                parts.append(Part(file, tuple(groups)))
                groups, held = [], 0
        if groups:
            parts.append(Part(file, tuple(groups)))
    return parts


def read_rows(source: Source, part: Part) -> Iterator[tuple[Rows, int]]:
    """Yield the rows of a part chunk by chunk, and how many bytes or rows of it are read.

    Raise AuditError for what cannot be used, with the file and the row.
    """
    read = 0
    for batch in _batches(part, source.mapped):
        groups = f", row groups from {part.groups[0]} on" if part.groups and part.groups[0] else ""
        where = f"{part.file.path}{groups}, rows {read + 1:,} to {read + len(batch):,}"
        missing = [name for name in source.mapped.columns if name not in batch.schema.names]
        if missing:
            raise AuditError(f"{where}: there is no column {missing[0]!r}, which others have")
        read += len(batch)
        yield rows_of(batch, source.mapped, source.unit, where), read


def _batches(part: Part, mapped: Mapped | None) -> Iterator[pa.RecordBatch]:
    """Yield a part's batches; raise AuditError for what is not of its format."""
    read = {"parquet": _read_parquet, "json": _read_json, "csv": _read_csv}[part.file.format]
    try:
        yield from read(part, mapped)
    except (pa.ArrowException, EOFError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        wanted = _WANTED[part.file.format]
        raise AuditError(f"{part.file.path}: cannot be read as {wanted}: {reason}") from None
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise AuditError(f"{part.file.path}: cannot be read: {reason}") from None


_WANTED = {
    "parquet": "Parquet",
    "json": "JSON lines, one object a line",
    "csv": "CSV in UTF-8, names of columns first",
}


def _parquet(path: Path, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a file; *texts*: columns to be read as places in a list of their values."""
    try:
        if not texts:
            return pq.ParquetFile(path)
        there = pq.read_schema(path)
        repeating = [field.name for field in there if field.name in texts and is_text(field.type)]
        return pq.ParquetFile(path, read_dictionary=repeating, pre_buffer=False)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise AuditError(f"{path}: cannot be read as Parquet: {reason}") from None


def _read_parquet(part: Part, mapped: Mapped | None) -> Iterator[pa.RecordBatch]:
    file = _parquet(part.file.path, mapped.texts if mapped else ())
    there = file.schema_arrow.names
    columns = None if mapped is None else [name for name in mapped.columns if name in there]
    groups = None if part.groups is None else list(part.groups)
    yield from file.iter_batches(CHUNK_ROWS, row_groups=groups, columns=columns)


def _read_json(part: Part, _: Mapped | None) -> Iterator[pa.RecordBatch]:
    with pa.input_stream(str(part.file.path), compression="detect") as stream:
        rest = b""
        while True:
            block = stream.read(CHUNK_BYTES)
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if not block:
                whole, newline, rest = rest, b"", b""
            if whole.strip():
                yield from _parsed(whole + newline)
            if not block:
                return


def _parsed(lines: bytes) -> Iterator[pa.RecordBatch]:
    options = pj.ReadOptions(block_size=max(len(lines) + 1, 1 << 16), use_threads=False)
    yield from pj.read_json(io.BytesIO(lines), read_options=options).combine_chunks().to_batches()


def _read_csv(part: Part, mapped: Mapped | None) -> Iterator[pa.RecordBatch]:
    """Yield batches; times stay text, whose form the first row need not tell of all others."""
    times = [] if mapped is None else [mapped.end, *([mapped.start] if mapped.start else [])]
    texts = [] if mapped is None else [*mapped.texts, *times]
    kinds: dict[str, Any] = dict.fromkeys(texts, pa.string())
    with pa.input_stream(str(part.file.path), compression="detect") as stream:
        reader = pv.open_csv(
            stream,
            read_options=pv.ReadOptions(block_size=CHUNK_BYTES, use_threads=False),
            parse_options=pv.ParseOptions(delimiter=_separator(part.file.path)),
            convert_options=pv.ConvertOptions(column_types=kinds),
        )
        yield from reader


def _separator(path: Path) -> str:
    """Return what stands between the names of columns most often."""
    with pa.input_stream(str(path), compression="detect") as stream:
        names = stream.read(LONGEST_HEADER).partition(b"\n")[0]
    return max(SEPARATORS, key=lambda each: names.count(each.encode()))
