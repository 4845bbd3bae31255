"""Print the output of ``rebalance log``: records while they are read, groups at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import typer
from rich import box
from rich.table import Table

from emulator.cli.output import say, say_all
from emulator.cli.progress import Progress
from emulator.errors import RefusedError
from emulator.logs.offsets_log.describing import group_json, groups_of
from emulator.logs.offsets_log.dumping import LogDump, Wanted
from emulator.logs.offsets_log.faults import Tally
from emulator.logs.offsets_log.finding import Log, LogFileError, OnRead, Segment, logs_of
from emulator.logs.offsets_log.recognising import read_segment
from emulator.report.figures import as_lines, cells
from emulator.report.wording import counted, printable, width
from protocols.offsets_topic import partition_for
from protocols.offsets_topic.records.as_json import Json
from protocols.offsets_topic.replay import Loaded

PRINTED_AT_ONCE = 2**16
"""Number of characters that are collected before they are written."""

EMPTY = (
    "empty: there is nothing to show. The newest segment of a log is empty if nothing was written "
    "since it was rolled"
)
BEGINS_LATE = "begins at offset {}: the state of groups from older segments is missing"


class Lines:
    """Buffers lines of output."""

    def __init__(self) -> None:
        self._held = list[str]()
        self._held_size = 0
        self.has_reader = True

    def add(self, content: Json) -> None:
        """Add a line of JSON to the output."""
        line = json.dumps(content)
        self._held.append(line)
        self._held_size += len(line)
        if self._held_size >= PRINTED_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._held:
            self.has_reader = say(*self._held)
            self._held, self._held_size = [], 0


class Reading:
    """Counts the bytes read, as progress on stderr if nothing else is shown."""

    def __init__(self, logs: Iterable[Log], progress: Progress) -> None:
        self._progress = progress
        paths = [segment.path for log in logs for segment in log.segments]
        self._total = sum(path.stat().st_size for path in paths if path.is_file())
        self._done = 0

    def add(self, size: int) -> None:
        """Count bytes that were read."""
        self._done += size
        if self._total and not sys.stdout.isatty():
            self._progress.show(self._done, self._total)


class LogPrinter:
    """Prints logs one after the other, and counts the parts that could not be read."""

    def __init__(self, wanted: Wanted, *, as_table: bool, names_logs: bool) -> None:
        self.has_bad_files = False
        """Whether a file was not a segment of the offsets topic."""

        self.has_faults = False
        """Whether something in a segment could not be read."""

        self._wanted = wanted
        self._as_table = as_table
        self._names_logs = names_logs
        self._missing = set(wanted.group_ids)
        self._lines = Lines()

    def print(self, log: Log, on_read: OnRead) -> bool:
        """Print one log; return whether the reader is still connected."""
        front = {"log": log.name} if self._names_logs else {}
        dump, tally = LogDump(self._wanted), Tally()
        segments = [self._print_segment(each, dump, tally, front, on_read) for each in log.segments]
        self._missing -= dump.group_ids
        if not self._wanted.records and all(segments):
            self._print_groups(log, dump.loaded, front)
        self._lines.flush()
        first = log.segments[0]
        if self._wanted.states and first.base_offset:
            _warn(f"{first.path}: {BEGINS_LATE.format(first.base_offset)}")
        self.has_faults |= bool(tally)
        _warn(*tally.sentences())
        return self._lines.has_reader

    def end(self) -> None:
        """Warn about requested groups that were not found, if all files could be read."""
        for group_id in () if self.has_bad_files else sorted(self._missing):
            partition = partition_for(group_id)
            _warn(
                f"no record of group {group_id!r}; with 50 partitions its records are in partition {partition}"
            )

    def _print_segment(
        self, segment: Segment, dump: LogDump, tally: Tally, front: Json, on_read: OnRead
    ) -> bool:
        """Print the content of a segment; return whether it is one."""
        dump.begin(segment.base_offset)
        is_empty = True
        try:
            for part in read_segment(segment.path, on_read):
                is_empty = False
                for content, fault in dump.lines(part):
                    if fault is not None:
                        tally.add(fault, str(segment.path))
                    if content is not None:
                        self._lines.add(front | content)
                if not self._lines.has_reader:
                    return True
        except LogFileError as error:
            self.has_bad_files = True
            _warn(str(error))
            return False
        if is_empty:
            _warn(f"{segment.path}: {EMPTY}")
        return True

    def _print_groups(self, log: Log, loaded: Loaded, front: Json) -> None:
        """Print the final state of the groups; requested ones even if they no longer exist."""
        group_ids = sorted(self._wanted.group_ids) or groups_of(loaded)
        groups = {group_id: group_json(loaded, group_id) for group_id in group_ids}
        if self._as_table:
            self._lines.has_reader = say_all(table_lines(groups, log.name))
            return
        for group_id, content in groups.items():
            self._lines.add(front | {"group": group_id} | content)


def print_logs(files: Iterable[Path], wanted: Wanted, *, as_table: bool) -> LogPrinter:
    """Print all logs in the files; return the exit status.

    Raise RefusedError for files that cannot be used, before anything is printed.
    """
    try:
        logs = logs_of(files)
    except LogFileError as error:
        raise RefusedError(str(error)) from None
    printer = LogPrinter(wanted, as_table=as_table, names_logs=len(logs) > 1)
    with Progress("bytes read") as progress:
        reading = Reading(logs, progress)
        for log in logs:
            if not printer.print(log, reading.add):
                return printer
    printer.end()
    return printer


def _warn(*sentences: str) -> None:
    for sentence in sentences:
        typer.echo(printable(sentence), err=True)


UNKNOWN = "?"


def table_lines(groups: Mapping[str, Json], log_name: str) -> Iterator[str]:
    """Yield the lines of a table of groups, as :mod:`emulator.logs.offsets_log.describing` has them."""
    yield f"{log_name}: {counted(len(groups), 'group')}"
    if not groups:
        return
    yield ""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("group", overflow="fold")
    for heading in ("type", "state"):
        table.add_column(heading, overflow="fold")
    for heading in ("epoch", "members", "offsets", "pending"):
        table.add_column(heading, justify="right", overflow="fold")
    for group_id, content in groups.items():
        table.add_row(*cells(printable(group_id), *_row(content)))
    yield from as_lines(table, width())


def _row(content: Json) -> Iterator[str]:
    yield content["type"] or ""
    yield content["state"] or UNKNOWN
    yield _epoch(content)
    yield f"{len(content.get('members', ())):,}"
    yield _number(content)
    yield f"{sum(int(_number(each)) for each in content.get('pendingOffsets', ())) or ''}"


def _epoch(content: Json) -> str:
    """Return the generation of a classic group, or the epochs of another: group's and target's."""
    if "groupEpoch" in content:
        wanted, target = content["groupEpoch"], content["targetEpoch"]
        return f"{wanted}" if wanted == target else f"{wanted}, target {target}"
    return str(content.get("generation", ""))


def _number(content: Json) -> str:
    return str(sum(map(len, content["offsets"].values())))
