"""Read the logs of a real incident: a processing log, and segments of the offsets topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow.compute as pc

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.blaming.evidence import Committed, Evidence, Work, in_order
from emulator.blaming.membership import joins_of
from emulator.blaming.ranges import taken_apart
from emulator.blaming.screen import moment
from emulator.blaming.setup import Setup
from emulator.errors import RefusedError
from emulator.logs.audit.reading import (
    LogFile,
    Source,
    find_files,
    format_of,
    open_source,
    parts_of,
    read_rows,
)
from emulator.logs.errors import AuditError
from emulator.logs.importing import run_import
from emulator.logs.imports.exploring import COMMIT_COLUMNS, names_in
from emulator.logs.imports.folder import explore_group, groups_in, rows_in
from emulator.logs.imports.request import Request
from emulator.logs.imports.scenario_sketch import PLAYED, Lasted, lasted
from emulator.logs.imports.values import GroupFindings
from emulator.report.wording import printable

LONGEST_US: Final = 30 * 60 * 1_000_000
"""A longer incident is refused: each explanation is played over the whole time."""

MAX_WORK: Final = 1_000_000
"""Rows of a processing log that are read at most."""

_PART_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """The logs of an incident, and the part of them to explain."""

    processing: tuple[Path, ...]
    offsets: tuple[str, ...]
    """Segments of the offsets topic, folders of them, or the folder of an import."""

    group: str | None = None
    """None: the only one in the offsets log."""

    begin_us: int | None = None
    end_us: int | None = None
    """Epoch microseconds; None: from the first to the last processed record."""

    columns: Mapping[str, str] | None = None
    """Columns of the processing log by their content, where their names are not the usual ones."""

    unit: str | None = None
    """Of numeric times; None: decided by their size."""


def read_logs(logs: Logs) -> tuple[Evidence, Setup]:
    """Return what the logs show, and what they say about the group.

    Raise ``RefusedError`` or ``AuditError`` if a file cannot be read, there is no such group, or
    the time to explain has no record or is longer than ``LONGEST_US``.
    """
    source = open_source(_processing_files(logs), logs.columns or {}, logs.unit)
    with TemporaryDirectory(prefix="rebalance-blame-") as folder:
        imported = _imported(logs, Path(folder) / "tables", logs.group)
        group = _group(logs, imported)
        work = _work(source, group)
        findings, rows = _found(imported, group)
        generations = lasted(rows, findings.pace.last_ms)
        commits = _commits(imported, group)
    if findings.group_type not in PLAYED or not generations:
        raise RefusedError(
            printable(f"group {group}: the offsets log has no members of it; give more of the log")
        )
    joins = joins_of(rows, generations, work, commits.topics)
    pieces = sorted(taken_apart(work, joins), key=in_order)
    seen = Evidence(tuple(pieces), commits.offsets, _times(generations), joins)
    setup = _setup(group, _within(logs, generations) or generations)
    return _between(logs, seen), replace(setup, carries_epochs=commits.carry_epochs)


# -- the processing log ----------------------------------------------------------------------------


def _work(source: Source, group: str) -> list[Work]:
    """Return the processed ranges; of the events of a run those of *group*."""
    if source.mapped.events:
        source = replace(source, mapped=replace(source.mapped, of_group=group))
    found = list[Work]()
    for done in _rows(source):
        found.append(done)
        if len(found) > MAX_WORK:
            raise RefusedError(
                f"{source.name}: more than {MAX_WORK:,} rows; cut the log to the incident"
            )
    found.sort(key=in_order)
    return found


def _processing_files(logs: Logs) -> tuple[LogFile, ...]:
    try:
        return find_files(logs.processing)
    except AuditError as error:
        if not any(format_of(each) for each in logs.offsets):
            raise
        raise AuditError(
            f"{error}; is it the offsets log? The processing log comes first: "
            "rebalance blame PROCESSING OFFSETS"
        ) from None


def _rows(source: Source) -> Iterator[Work]:
    for part in parts_of(source, _PART_ROWS):
        for rows, _ in read_rows(source, part):
            topics, partitions, consumers = rows.split_keys(rows.keys)
            for place in range(len(rows)):
                name = rows.consumers[consumers[place]]
                yield Work(
                    _member_of(name),
                    TopicPartition(rows.topics[topics[place]], int(partitions[place])),
                    int(rows.lo[place]),
                    int(rows.hi[place]),
                    int(rows.began_us[place]),
                    int(rows.ended_us[place]),
                )


def _member_of(consumer: str) -> str:
    """Return the name of a consumer without the number of its process: ``m1`` of ``m1.2``."""
    name, point, number = consumer.rpartition(".")
    return name if point and number.isdigit() else consumer


# -- the offsets log -------------------------------------------------------------------------------


def _imported(logs: Logs, folder: Path, group: str | None) -> Path:
    request = Request(sources=logs.offsets, output=folder)
    if group is not None:
        request = replace(request, groups=(escape(group),))
    return run_import(request, with_findings=False).folder


def _group(logs: Logs, imported: Path) -> str:
    known = groups_in(imported)
    if logs.group is not None:
        if logs.group in known:
            return logs.group
        known = groups_in(_imported(logs, imported.parent / "all", None))
    if logs.group is None and len(known) == 1:
        return known[0]
    if logs.group is None:
        raise RefusedError(printable(f"--group is missing; there are {', '.join(known[:9])}"))
    near = get_close_matches(logs.group, known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise RefusedError(printable(f"group {logs.group}: not in the offsets log{hint}"))


def _found(imported: Path, group: str) -> tuple[GroupFindings, list[Mapping[str, Any]]]:
    found = explore_group(imported, group)
    assert found is not None
    return found


@dataclass(frozen=True, slots=True)
class _Commits:
    """The committed offsets of a group, and what their records say besides."""

    offsets: tuple[Committed, ...]
    topics: Mapping[str, str]
    """By topic id."""

    carry_epochs: bool | None
    """Whether they have leader epochs; None: some have, or there are no commits."""


def _commits(imported: Path, group: str) -> _Commits:
    columns = [*COMMIT_COLUMNS, "leader_epoch"]
    table = rows_in(imported, "commits").to_table(
        columns=columns, filter=pc.field("group") == group
    )
    rows = sorted(table.to_pylist(), key=lambda row: (row["timestamp"], row["log_offset"]))
    rows = [row for row in rows if not row["is_tombstone"]]
    offsets = tuple(
        Committed(
            row["timestamp"] * 1_000, TopicPartition(row["topic"], row["partition"]), row["offset"]
        )
        for row in rows
    )
    epochs = {row["leader_epoch"] is not None and row["leader_epoch"] >= 0 for row in rows}
    return _Commits(offsets, names_in(table), epochs.pop() if len(epochs) == 1 else None)


def _times(generations: Iterable[Lasted]) -> tuple[int, ...]:
    return tuple(each.generation.place.at_ms * 1_000 for each in generations)


def _setup(group: str, generations: Sequence[Lasted]) -> Setup:
    """Return what the generations of the first protocol say, by the most frequent value."""
    first, *_, last = (each.generation.group_type for each in [*generations, generations[-1]])
    generations = [one for one in generations if one.generation.group_type == first]
    members = [each for one in generations for each in one.generation.roster.values()]
    assignors = [one.generation.assignor for one in generations]
    return Setup(
        group=group,
        protocol=first,
        migrated_to=last if last != first else None,
        assignor=_usual(assignors),
        session_timeout_ms=_usual([each.session_timeout_ms for each in members]),
        rebalance_timeout_ms=_usual([each.rebalance_timeout_ms for each in members]),
        is_static=all(each.instance_id for each in members),
        client_ids=tuple(dict.fromkeys(each.client_id for each in members if each.client_id)),
    )


def _within(logs: Logs, generations: Sequence[Lasted]) -> list[Lasted]:
    """Return the generations of the time to explain."""
    begin_us = logs.begin_us or 0
    return [
        each
        for each in generations
        if (each.generation.place.at_ms + each.for_ms) * 1_000 >= begin_us
        and (logs.end_us is None or each.generation.place.at_ms * 1_000 <= logs.end_us)
    ]


def _usual(values: Iterable[Any]) -> Any:
    counts = Counter(value for value in values if value is not None)
    return max(sorted(counts), key=lambda value: counts[value]) if counts else None


# -- the time to explain ---------------------------------------------------------------------------


def _between(logs: Logs, evidence: Evidence) -> Evidence:
    """Return the part of the logs to explain."""
    begin_us, end_us = logs.begin_us, logs.end_us
    _check_same_time(evidence)

    def is_in(at_us: int) -> bool:
        return (begin_us is None or at_us >= begin_us) and (end_us is None or at_us <= end_us)

    work = tuple(done for done in evidence.work if is_in(done.ended_us))
    if not work:
        raise RefusedError(
            "no record was processed in that time; the processing log covers "
            f"{_span(evidence.work)}"
        )
    if work[-1].ended_us - work[0].ended_us > LONGEST_US:
        raise RefusedError(
            f"the logs cover {_span(work)}, more than {LONGEST_US // 60_000_000} min; choose the "
            "time around the incident with --from and --to"
        )
    return Evidence(
        work,
        tuple(each for each in evidence.commits if is_in(each.at_us)),
        tuple(at_us for at_us in evidence.generations_us if is_in(at_us)),
        tuple(each for each in evidence.joins if is_in(each.at_us)),
    ).until(work[-1].ended_us)


def _check_same_time(evidence: Evidence) -> None:
    """Raise ``RefusedError`` if the two logs do not overlap in time."""
    work = evidence.work
    written = [*(each.at_us for each in evidence.commits), *evidence.generations_us]
    first_us, last_us = min(written), max(written)
    if first_us > work[-1].ended_us or last_us < work[0].began_us:
        raise RefusedError(
            f"the logs are of different times: the processing log covers {_span(work)}, the offsets "
            f"log {moment(first_us)} to {moment(last_us)} (UTC); check the time zone and the unit of "
            "its times (--time-unit)"
        )


def _span(work: Sequence[Work]) -> str:
    return f"{moment(work[0].ended_us)} to {moment(work[-1].ended_us)}"
