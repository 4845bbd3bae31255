"""``rebalance log --columns``: write commits to a Parquet file, and report the omitted records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from emulator.cli.log_printing import EMPTY, Reading
from emulator.cli.output import say
from emulator.cli.progress import Progress
from emulator.errors import RefusedError, reason_of
from emulator.logs.offsets_log.columns_file import ColumnsFile, Written
from emulator.logs.offsets_log.columns_left_out import Unreadable
from emulator.logs.offsets_log.finding import Log, LogFileError, Segment, logs_of
from emulator.logs.offsets_log.recognising import read_segment
from emulator.report.wording import counted, printable
from emulator.run_files import parquet_objection
from protocols.offsets_topic.segments.reader import Gap


def write_columns(files: Iterable[Path], target: Path) -> bool:
    """Write the commits of all logs in the files; return whether everything could be read.

    Raise RefusedError for files that cannot be used, before anything is written, and for a target
    that cannot be written.
    """
    try:
        logs = logs_of(files)
        empty = [each.path for log in logs for each in log.segments if _is_empty(each)]
        _warn(*(f"{path}: {EMPTY}" for path in empty))
        written = _written(logs, target)
    except LogFileError as error:
        raise RefusedError(printable(str(error))) from None
    faults = [fault for path, each in written for fault in _faults(path, each)]
    _warn(*faults)
    say(_summary(target, [each for _, each in written]))
    return not faults


def _is_empty(segment: Segment) -> bool:
    """Return whether a segment is empty; raise LogFileError if it is not a segment."""
    if not segment.path.is_file():
        raise LogFileError(str(segment.path), "not a file; --columns reads each file twice")
    return next(read_segment(segment.path), None) is None


def _written(logs: list[Log], target: Path) -> list[tuple[Path, Written]]:
    try:
        reason = parquet_objection(target)
        if reason is None:
            with Progress("bytes read") as progress, ColumnsFile(target) as file:
                reading = Reading(logs, progress)
                return [
                    (each.path, file.add(log.name, each.path, reading.add))
                    for log in logs
                    for each in log.segments
                ]
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"--columns: {target}: cannot be written: {reason}")


def _faults(path: Path, written: Written) -> Iterator[str]:
    """Yield a sentence about each kind of unreadable part of a segment."""
    left = written.left_out
    gap = next((each for each in left.faults if isinstance(each, Gap)), None)
    if left.gaps:
        first = f": first byte {gap.position}: {gap.reason}" if gap is not None else ""
        size = counted(left.gap_bytes, "byte")
        yield f"{path}: {counted(left.gaps, 'gap')}, {size}, could not be read{first}"
    record = next((each for each in left.faults if isinstance(each, Unreadable)), None)
    if left.unreadable:
        first = f": first offset {record.log_offset}: {record.reason}" if record is not None else ""
        yield f"{path}: {counted(left.unreadable, 'record')} could not be decoded{first}"
    if left.unknown_parts:
        rows = counted(left.unknown_parts, "row")
        yield f"{path}: {rows} without fields that Kafka 4.4.0 does not know, or without headers"
    if written.fault is not None:
        yield f"{path}: {written.fault}"


def _summary(target: Path, written: list[Written]) -> str:
    """Return the numbers of rows and of omitted records."""
    rows = sum(each.rows for each in written)
    others = sum(each.left_out.other_types.total() for each in written)
    markers = sum(each.left_out.markers for each in written)
    return printable(
        f"{target}: {counted(rows, 'row')}; omitted: {counted(others, 'record')} of other types, "
        f"{counted(markers, 'marker')} of transactions"
    )


def _warn(*sentences: str) -> None:
    for sentence in sentences:
        typer.echo(printable(sentence), err=True)
