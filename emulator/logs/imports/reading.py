"""Read one piece of an import, a segment or a range of a live log, and write its rows.

The process that reads a piece writes its rows, so rows never pass through Spark's driver, nor
through Java. Reading a piece a second time writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from assignors.values import dataclass
from emulator.logs.imports import store
from emulator.logs.imports.pieces import LogRange, Piece, Selection, open_segment
from emulator.logs.imports.rows import Events, Origin
from emulator.logs.imports.tables import Rows
from emulator.logs.offsets_log.finding import SegmentBytes, buffered, segment_limits


@dataclass(frozen=True, slots=True)
class Task:
    """A piece, and the selection of its rows."""

    piece: Piece
    selection: Selection
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The client settings of the cluster, which may contain secrets."""

    def events(self) -> Events:
        """Return the object that collects its rows."""
        return Events(Origin(self.piece.log_partition, self.piece.path), self.selection)


def rows_of(task: Task, events: Events) -> Iterator[Rows]:
    """Yield the rows of a piece; the outcome of transactions is not decided yet.

    Raise LogFileError for a segment that cannot be opened, BrokerError for a cluster that does
    not respond.
    """
    if isinstance(task.piece, LogRange):
        from emulator.logs.imports.live import LiveRecords  # noqa: PLC0415  needs confluent-kafka

        live = LiveRecords(task.piece, task.settings, events.collected)
        for table, rows in events.of_runs(live.runs()):
            yield table, live.marked(rows) if table == "commits" else rows
        events.transactions.update(live.transactions)
        return
    with open_segment(task.piece.path) as file:
        yield from _rows_of_file(SegmentBytes(file), events)


def _rows_of_file(source: SegmentBytes, events: Events) -> Iterator[Rows]:
    yield from events.of_bytes(buffered(source), segment_limits())
    if source.fault is not None:
        events.collected.gap_at(source.given, 0, source.fault)
        yield from events.collected.taken()


def keep(task: Task, part: Path) -> store.Receipt:
    """Read a piece, write its rows, and return its receipt; raise as :func:`rows_of`.

    Raise OSError if the disk is full; then no rows of the piece remain.
    """
    events = task.events()
    return _kept(task, part, events, rows_of(task, events))


def keep_bytes(task: Task, file: BinaryIO, part: Path) -> store.Receipt:
    """Do the same as :func:`keep` for an opened segment."""
    events = task.events()
    return _kept(task, part, events, _rows_of_file(SegmentBytes(file), events))


def _kept(task: Task, part: Path, events: Events, rows_in: Iterator[Rows]) -> store.Receipt:
    piece = task.piece
    rows = store.write_rows(part, piece.name, rows_in)
    receipt = store.Receipt(
        name=piece.name,
        key=piece.key,
        log_partition=piece.log_partition,
        size=piece.size,
        rows=rows,
        transactions=dict(events.transactions),
        groups=tuple(sorted(events.group_names)),
        times_ms=events.collected.times_ms,
        unknown_parts=events.collected.unknown_parts,
    )
    store.keep_receipt(part, receipt)
    return receipt
