"""Reading an import's pieces on Spark: through our data sources, or through Spark's file systems.

Segments of this machine, and live logs, are opened by the workers themselves; segments that are
elsewhere by Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.logs.imported.reading.segments import is_far
from emulator.logs.imported.reading.stretch import Stretch
from emulator.logs.imported.reading.work import Task
from emulator.logs.imported.store import Receipt, receipt_of
from emulator.spark.jobs import results_of

if TYPE_CHECKING:
    from emulator.spark.session import Session


def read_on_spark(session: Session, tasks: Sequence[Task], part: Path) -> Iterator[Receipt]:
    """Read pieces and keep their rows in a folder that all executors reach; yield what came of each.

    All tasks want the same of their pieces. Raise SparkError if a piece cannot be read or kept,
    LogFileError for a segment that Spark cannot read in pieces.
    """
    if not tasks:
        return

    def look(task: Task) -> Receipt | None:
        return receipt_of(part, task.piece.name, task.piece.key)

    yield from results_of(session, partial(_run, session, tasks, part.resolve()), tasks, look)


def _run(session: Session, tasks: Sequence[Task], part: Path) -> None:
    from emulator.spark.segment_reading import read_far  # noqa: PLC0415  only where Spark is used

    far = [task for task in tasks if is_far(task.piece.path)]
    near = [task for task in tasks if not is_far(task.piece.path)]
    if far:
        read_far(session, far, part)
    if near:
        _read_near(session, near, part)


def _read_near(session: Session, tasks: Sequence[Task], part: Path) -> None:
    from emulator.spark.log_sources import (  # noqa: PLC0415
        KAFKA,
        OFFSETS,
        SEGMENTS,
        OffsetsSource,
        SegmentsSource,
        pieces_as_option,
    )

    first = tasks[0]
    options = {
        "into": str(part),
        "pieces": pieces_as_option([task.piece for task in tasks]),
        "group": json.dumps(first.selection.groups),
        **{KAFKA + key: value for key, value in first.settings.items()},
    }
    times = {"from_ms": first.selection.begin_ms, "to_ms": first.selection.end_ms}
    options |= {name: str(value) for name, value in times.items() if value is not None}
    for source in (SegmentsSource, OffsetsSource):
        session.spark.dataSource.register(source)
    name = OFFSETS if isinstance(first.piece, Stretch) else SEGMENTS
    session.spark.read.format(name).options(**options).load().collect()
