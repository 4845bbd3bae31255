"""The events of a run, as ``rebalance run --events`` writes them, and the audit of them.

They hold all from which the ledger of the run was computed. So an audit computes that ledger again,
with its counts and its causes. One process reads them, because events have one order.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.events import (
    ConsumerStarted,
    Event,
    Processed,
    ProcessedOutOfOrder,
    RunEnded,
    RunStarted,
)
from emulator.events.parquet import COLUMNS, SHARED_ASSIGNORS
from emulator.events.stored import events_in
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Cause, Entry, EntryKind, Ledger, Owner
from emulator.ledger.totals import PartitionTotals
from emulator.logs.audit.columns import is_text, spelled_out, to_us
from emulator.logs.audit.ledger import AuditEntry, AuditLedger
from emulator.logs.audit.partitions import PartitionLedger
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.reading import Part, Source, batches_of, metadata_of
from emulator.logs.errors import AuditError
from emulator.report.wording import counted
from emulator.scenario.problems import hint, listed

Counts = Counter[tuple[str, TopicPartition, EntryKind]]
"""Records by group, partition and kind."""

COUNTED: Final = (EntryKind.REPROCESSED, EntryKind.LOST)


@dataclass(frozen=True, slots=True)
class RunEvents:
    """The events of one run, which can be read several times."""

    name: str
    read: Callable[[], Iterable[pa.RecordBatch]]
    """Yields their rows in order, with the columns of a file of events."""

    rows: int | None
    """The number of events; None if it is not known without reading."""

    shared: frozenset[str] = field(default_factory=frozenset)
    """The assignors that intentionally assign a partition to several members."""

    def __iter__(self) -> Iterator[Event]:
        """Yield the events; raise AuditError if they are not those of one whole run."""
        try:
            yield from _in_order(events_in(map(_typed, self.read()), self.name), self.name)
        except (RefusedError, pa.ArrowException) as error:
            raise AuditError(str(error)) from None

    @property
    def begin_us(self) -> int:
        """The time of day at which the run began, in microseconds since 1970; 0 without ``start``."""
        for batch in self.read():
            if "clock" not in batch.schema.names or not len(batch):
                return 0
            clock_us = int(to_us(batch.column("clock").slice(0, 1), "us", "clock")[0])
            return clock_us - int(batch.column("at_us")[0].as_py())
        return 0


def events_of(source: Source) -> RunEvents | None:
    """Return the events of a run that a log holds; None for every other log."""
    if not source.mapped.events:
        return None

    def read() -> Iterator[pa.RecordBatch]:
        return chain.from_iterable(batches_of(Part(file)) for file in source.files)

    shared = json.loads(metadata_of(source.files[0]).get(SHARED_ASSIGNORS.encode(), b"[]"))
    return RunEvents(source.name, read, source.rows, frozenset(shared))


def _typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with the types of a file of events; formats of text have others."""
    wanted = [(name, kind) for name, kind in COLUMNS if name != "clock"]
    columns = [_cast(batch.column(name), kind) for name, kind in wanted]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in wanted])


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = spelled_out(column)
    if is_text(column.type) and not is_text(kind):
        column = pc.if_else(pc.equal(column, ""), None, column)
    return pc.cast(column, kind)


def _in_order(events: Iterator[Event], name: str) -> Iterator[Event]:
    """Yield events; raise AuditError if one is missing, or if there are those of a second run."""
    last: Event | None = None
    for event in events:
        if event.row != (0 if last is None else last.row + 1):
            raise AuditError(f"{name}: {_misplaced(event, last)}")
        yield event
        last = event
    if last is not None and not isinstance(last.what, RunEnded):
        raise AuditError(f"{name}: the end of the run is missing: give all events of one run")


def _misplaced(event: Event, last: Event | None) -> str:
    if last is not None and isinstance(event.what, RunStarted):
        return "the events of more than one run: audit each by itself"
    before = "the first row" if last is None else f"the row after row {last.row}"
    return (
        f"{before} is row {event.row} of the events: give all events of one run, in the order of "
        "the column row"
    )


# -- the ledger ------------------------------------------------------------------------------------


class Played:
    """The ledger of a run up to a time, computed from its events."""

    def __init__(
        self, run: RunEvents, end_us: int | None, on_events: Callable[[int], None] = lambda _: None
    ) -> None:
        """Read all events; *end_us*: those that are later do not count, with a clock: times of day."""
        self.begin_us = run.begin_us
        self.rows = Counter[str]()
        """The number of ranges that each group has processed."""

        self.late = Counter[str]()
        """The same after the end."""

        self.groups = set[str]()
        """The groups that had consumers."""

        builder, read = LedgerBuilder(run.shared), 0
        for read, event in enumerate(run, 1):
            in_time = end_us is None or self.begin_us + event.at_us <= end_us
            if in_time:
                builder.feed(event)
            if isinstance(event.what, ConsumerStarted):
                self.groups.add(event.what.group)
            elif isinstance(event.what, Processed | ProcessedOutOfOrder):
                (self.rows if in_time else self.late)[event.what.group] += 1
            if not read % 10_000:
                on_events(read)
        on_events(read)
        self.ledger: Ledger = builder.close()
        self.partitions: tuple[PartitionTotals, ...] = builder.partitions()


def audit_run(run: RunEvents, played: Played, group: str | None) -> AuditLedger:
    """Return the ledger of a run as that of an audit; *group*: whose work counts, None: all.

    Raise AuditError if there is no such group, or if none is named and groups share a topic: each of
    them processes every record.
    """
    if group is None:
        group = _only_group(run, played)
    elif group not in played.groups:
        raise AuditError(
            f"`group={group}`: {run.name} has no work of this group{hint(group, played.groups)}; "
            f"there are {listed(sorted(played.groups))}"
        )
    mine = [
        entry for kind in COUNTED for entry in played.ledger.of(kind) if group in ("", entry.group)
    ]
    counts = _records(mine)
    parts = [each for each in played.partitions if group in ("", each.group)]
    return AuditLedger(
        group=group,
        entries=tuple(_entry(each, played.begin_us) for each in mine),
        partitions=tuple(_partition(part, counts) for part in sorted(parts, key=_by_name)),
        rows=_of(played.rows, group) + _of(played.late, group),
        late=_of(played.late, group),
    )


def notes_on(played: Played, group: str, unused: Sequence[str]) -> Iterator[str]:
    """Yield remarks on what an audit of events does not count, and on inputs that it does not use."""
    truncated = sum(
        each.count for each in played.ledger.of(EntryKind.TRUNCATED) if group in ("", each.group)
    )
    if truncated:
        was = counted(truncated, "record was", "records were")
        yield f"{was} truncated before the group processed them; they do not count as lost."
    if unused:
        yield f"Not used: {', '.join(unused)}; the events of the run hold them."


def _only_group(run: RunEvents, played: Played) -> str:
    """Return the only group of a run; ``""``: there are several, which share no topic."""
    topics = defaultdict[str, set[str]](set)
    for each in played.partitions:
        if each.processed:
            topics[each.group].add(each.partition.topic)
    shared = sorted(
        group
        for group, mine in topics.items()
        if any(mine & theirs for other, theirs in topics.items() if other != group)
    )
    if shared:
        raise AuditError(
            f"{run.name}: the groups {listed(shared)} process the same topic, which is no "
            "duplicate: choose one with `group`"
        )
    return next(iter(played.groups)) if len(played.groups) == 1 else ""


def _of(counts: Counter[str], group: str) -> int:
    return counts[group] if group else counts.total()


def _by_name(part: PartitionTotals) -> tuple[TopicPartition, str]:
    return part.partition, part.group


def _partition(part: PartitionTotals, counts: Counts) -> PartitionLedger:
    again, lost = (counts[part.group, part.partition, kind] for kind in COUNTED)
    return PartitionLedger(
        name=PartitionName(*part.partition),
        base=part.base,
        frontier=part.frontier,
        processed=part.processed,
        distinct=part.distinct,
        reprocessed=again,
        lost=lost,
        unread=part.unread,
        again=(),
        never=(),
    )


def _records(entries: Iterable[Entry]) -> Counts:
    counts: Counts = Counter()
    for entry in entries:
        counts[entry.group, entry.topic_partition, entry.kind] += entry.count
    return counts


def _entry(entry: Entry, begin_us: int) -> AuditEntry:
    """Return an entry of a run's ledger as that of an audit, at times of day if it has a start."""
    assert isinstance(entry.cause, Cause), "only partial entries have none"
    first, second = entry.first_owner, entry.second_owner
    return AuditEntry(
        id=entry.id,
        kind=entry.kind,
        group=entry.group,
        topic=entry.topic,
        partition=entry.partition,
        first=entry.first,
        last=entry.last,
        cause=entry.cause,
        detail=entry.detail,
        first_owner=None if first is None else first.consumer,
        first_at_us=_at(first, begin_us),
        second_owner=None if second is None else second.consumer,
        second_at_us=_at(second, begin_us),
        without_record=entry.without_record,
    )


def _at(owner: Owner | None, begin_us: int) -> int | None:
    return None if owner is None else begin_us + owner.at_us
