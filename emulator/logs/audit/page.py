"""The page of an audit: the affected partitions over time, and each entry of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import emulator
from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.logs.audit.causes import AuditCause
from emulator.logs.audit.columns import shown as shown_time
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.ledger import AuditEntry, AuditLedger
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.run_events import Played, RunEvents
from emulator.logs.audit.sequence import sequence_of
from emulator.report.event_wording import link_text
from emulator.report.explain import explain
from emulator.report.pages.history import GroupHistory, Historian, History, Span
from emulator.report.pages.marks import Mark, anchor_of, words_of
from emulator.report.pages.page import (
    Cell,
    EntryDetails,
    EventLine,
    Figure,
    Number,
    Page,
    Part,
    Table,
    render,
)
from emulator.report.pages.run_page import CAPTION, WHAT
from emulator.report.pages.thinning import largest
from emulator.report.pages.timeline import View, draw_timeline
from emulator.report.wording import counted

Sequences = Mapping[str, Sequence[EventLine]]
"""What led to entries, by their names."""

MAX_GROUPS: Final = 4
MAX_PARTITIONS: Final = 200
MAX_ENTRIES: Final = 200
MAX_EXPLAINED: Final = 24
"""Entries of a run with every event that explains them; the others show their evidence."""

MAX_EVENTS: Final = 400_000
"""Events that are held in memory to explain entries; of a run with more the evidence is shown."""

ONLY_WORK: Final = (
    "The processing log shows who worked when; commits and assignments are in the offsets log of the "
    "group (--commits)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditContent:
    """What the page of an audit shows besides its report."""

    logs: Sequence[str]
    ledger: AuditLedger
    screen: Sequence[str]
    """The report as on a terminal."""

    log: Committed | None = None
    """What the group committed, if that is known."""

    run: RunEvents | None = None
    """The events of the run, if the log is such."""

    played: Played | None = None
    """The ledger of such a run, with the evidence of its entries."""


def audit_page(content: AuditContent) -> str:
    """Return the page of an audit as HTML; the same audit gives the same bytes."""
    ledger = content.ledger
    named = content.logs[0] + (f" and {len(content.logs) - 1} more" if content.logs[1:] else "")
    group = [f"group {ledger.group}"] if ledger.group else []
    version = f"rebalance-emulator {emulator.__version__}"
    return render(
        Page(
            title=f"Audit of {Path(named).name}",
            facts=" | ".join([named, counted(ledger.rows, "row"), *group, version]),
            answer=[_answer(ledger)],
            numbers=_numbers(ledger),
            parts=[*_timeline(content), *_causes(ledger), *_entries(content)],
            text="\n".join(content.screen),
        )
    )


def _moment(at_us: int) -> str:
    return shown_time(at_us).replace("T", " ").removesuffix("Z")


def _answer(ledger: AuditLedger) -> str:
    again, lost = ledger.total("reprocessed"), ledger.total("lost")
    worked = counted(ledger.total("processed"), "record was", "records were")
    return f"{worked} processed: {again:,} reprocessed, {lost:,} lost."


def _numbers(ledger: AuditLedger) -> list[Number]:
    again, lost = ledger.total("reprocessed"), ledger.total("lost")
    return [
        Number(f"{again:,}", "records reprocessed", again > 0),
        Number(f"{lost:,}", "records lost", lost > 0),
        Number(f"{ledger.total('processed'):,}", "records processed"),
        Number(f"{ledger.total('unread'):,}", "records unread"),
        Number(f"{len(ledger.partitions):,}", "partitions"),
    ]


# -- timeline ----------------------------------------------------------------------------------


def _timeline(content: AuditContent) -> Iterator[Part]:
    """Yield the timeline: with owners if the log is the events of a run, else of the entries."""
    history = None if content.run is None else _history(content.run)
    begin_us = 0 if content.run is None else content.run.begin_us
    marks = [_mark(entry, begin_us) for entry in content.ledger.entries]
    if history is not None:
        chosen = content.ledger.group
        named = [each for each in history.groups.values() if each.name == chosen]
        groups = named or list(history.groups.values())[:MAX_GROUPS]
        figures = [
            Figure(
                title=f"Group {group.name}{WHAT}",
                caption=CAPTION,
                drawing=draw_timeline(
                    group,
                    history,
                    marks,
                    lambda at_us: _moment(begin_us + at_us),
                    View(name=f"Timeline of group {group.name}", share=1 / len(groups)),
                ),
            )
            for group in groups
        ]
        yield Part(title="Timeline", anchor="timeline", figures=figures)
    elif marks:
        yield Part(title="Timeline", anchor="timeline", figures=[_affected(content.ledger, marks)])


def _mark(entry: AuditEntry, begin_us: int = 0) -> Mark:
    """Return the mark of an entry at its time since *begin_us*."""
    times = (entry.second_at_us, entry.first_at_us)
    at_us = next((at for at in times if at is not None), begin_us)
    partition = f"{entry.topic}-{entry.partition}"
    cause = "cause unknown" if entry.cause is AuditCause.UNKNOWN else str(entry.cause)
    return Mark(entry.id, entry.kind, partition, entry.count, at_us - begin_us, cause)


def _history(run: RunEvents) -> History:
    """Return the history of a run whose events were audited."""
    historian = Historian()
    for event in run:
        historian.feed(event)
    return historian.close()


def _affected(ledger: AuditLedger, marks: Sequence[Mark]) -> Figure:
    """Return the partitions with entries as rows, with the consumers that worked on them."""
    records = Counter[TopicPartition]()
    for entry in ledger.entries:
        records[TopicPartition(entry.topic, entry.partition)] += entry.count
    kept, left_out = largest(sorted(records), MAX_PARTITIONS, lambda tp: records[tp])
    spans = {TopicPartition(*each.name): each.spans for each in ledger.partitions}
    owners = {
        tp: [Span(each.began_us, each.ended_us, each.consumer) for each in spans.get(tp, ())]
        for tp in kept
    }
    window = _window(ledger, marks)
    drawing = draw_timeline(
        GroupHistory(ledger.group, owners=owners),
        History(end_us=window[1]),
        marks,
        _moment,
        View(name="Entries of the ledger over time", window=window, without="nothing processed"),
    )
    return Figure(
        title="Partitions with reprocessed or lost records: who processed them, over time",
        caption=_affected_caption(left_out),
        drawing=drawing,
    )


def _window(ledger: AuditLedger, marks: Sequence[Mark]) -> tuple[int, int]:
    """Return the time of all entries, from the first work on their records, and some around it."""
    times = [mark.at_us for mark in marks]
    times += [entry.first_at_us for entry in ledger.entries if entry.first_at_us is not None]
    begin_us, end_us = min(times), max(times)
    around_us = max((end_us - begin_us) // 8, 1_000_000)
    return begin_us - around_us, end_us + around_us


def _affected_caption(left_out: int) -> str:
    more = f" {counted(left_out, 'further partition')} are not drawn." if left_out else ""
    return (
        "Each row is a partition with reprocessed (triangle) or lost (cross) records, at the time when "
        "the next consumer processed them again, or continued behind them. Its fill is the consumer "
        "from its first to its last record; broken outline: nothing was processed; crossed: two "
        f"consumers processed records at once.{more}"
    )


# -- tables ------------------------------------------------------------------------------------


def _causes(ledger: AuditLedger) -> Iterator[Part]:
    rows = [
        (kind.value, cause, f"{records:,}")
        for kind in (EntryKind.REPROCESSED, EntryKind.LOST)
        for cause, records in ledger.by_cause(kind).items()
    ]
    owners = [(owners, f"{records:,}") for owners, records in ledger.by_owners().items()]
    if rows:
        tables = [Table(caption="By cause", rows=[("what", "cause", "records"), *rows])]
        if owners:
            head = ("first > next", "records")
            tables.append(Table(caption="Reprocessed, by owners", rows=[head, *owners[:50]]))
        yield Part(title="Causes", anchor="causes", tables=tables)


def _entries(content: AuditContent) -> Iterator[Part]:
    ledger = content.ledger
    if not ledger.entries:
        return
    shown, left_out = largest(ledger.entries, MAX_ENTRIES, lambda entry: entry.count)
    facts = f"The {len(shown)} largest of {len(ledger.entries):,} entries." if left_out else ""
    if content.run is not None and content.played is not None:
        sequences, note = _of_run(content.run, content.played.ledger, shown), ""
    else:
        sequences = _of_logs(content, shown)
        note = "" if content.log else ONLY_WORK
    head = ("entry", "what", "partition", "offsets", "records", "cause")
    rows = [
        (
            Cell(entry.id, anchor_of(entry.id)),
            entry.kind.value,
            f"{entry.topic}-{entry.partition}",
            f"{entry.first}..{entry.last}",
            f"{entry.count:,}",
            str(entry.cause),
        )
        for entry in shown
    ]
    yield Part(
        title="Ledger",
        anchor="ledger",
        facts=facts,
        tables=[Table(caption="Ranges of records, each with one cause", rows=[head, *rows])],
        entries=[_details(entry, sequences[entry.id], note) for entry in shown],
    )


def _details(entry: AuditEntry, lines: Sequence[EventLine], note: str) -> EntryDetails:
    detail = f" ({entry.detail})" if entry.detail else ""
    facts = [("offsets", f"{entry.first}..{entry.last}"), ("cause", f"{entry.cause}{detail}")]
    sides = (
        ("first", entry.first_owner, entry.first_at_us),
        ("then", entry.second_owner, entry.second_at_us),
    )
    facts += [
        (name, f"{owner}{'' if at_us is None else f', {_moment(at_us)}'}")
        for name, owner, at_us in sides
        if owner is not None
    ]
    mark = _mark(entry)
    return EntryDetails(
        anchor=anchor_of(entry.id),
        title=words_of(*mark[:4], mark.cause),
        facts=facts,
        lines=lines,
        note=note,
    )


# -- sequences ---------------------------------------------------------------------------------


def _of_logs(content: AuditContent, entries: Sequence[AuditEntry]) -> Sequences:
    """Return what the processing log, and the offsets log, show of entries."""
    parts = {part.name: part for part in content.ledger.partitions}
    return {
        entry.id: [
            EventLine(_moment(each.at_us), each.text, each.is_evidence)
            for each in sequence_of(
                entry, parts[PartitionName(entry.topic, entry.partition)], content.log
            )
        ]
        for entry in entries
    }


def _of_run(run: RunEvents, ledger: Ledger, entries: Sequence[AuditEntry]) -> Sequences:
    """Return the events that explain the largest entries of a run, and the evidence of the others."""
    largest_, _ = largest(entries, MAX_EXPLAINED, lambda entry: entry.count)
    few = run.rows is not None and run.rows <= MAX_EVENTS
    events, begin_us = list(run) if few else [], run.begin_us
    chosen = {entry.id for entry in largest_} if few else set()

    def lines(entry: Entry) -> Iterator[tuple[int, str, bool]]:
        if entry.id in chosen:
            yield from ((line.at_us, line.text, line.shown) for line in explain(entry, events))
        else:
            yield from ((link.at_us, link_text(link), True) for link in entry.chain)

    return {
        entry.id: [
            EventLine(_moment(begin_us + at_us), text, is_evidence)
            for at_us, text, is_evidence in lines(ledger.entry(entry.id))
        ]
        for entry in entries
    }
