"""The report of an audit on a terminal, with advice for each cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table

from emulator.ledger.entries import Cause, EntryKind
from emulator.logs.audit.causes import AuditCause
from emulator.logs.audit.columns import shown
from emulator.logs.audit.ledger import AuditEntry, AuditLedger
from emulator.logs.audit.partitions import PartitionLedger
from emulator.report.figures import cells, fitted
from emulator.report.wording import counted, duration, paragraph

if TYPE_CHECKING:
    from emulator.metrics.checks import Expected

MAX_OWNERS = 5
MAX_PARTITIONS = 10
"""Maximum of lines for each; the others are counted."""

TITLES = {
    EntryKind.LOST: "Lost",
    EntryKind.REPROCESSED: "Reprocessed",
}
MEANING = {
    AuditCause.TWO_OWNERS: "The first owner continued to process the partition after the second one had begun.",
    AuditCause.EXPIRED: "The committed offset had expired, and the position was reset.",
    AuditCause.REWIND: "A lower offset overwrote a higher one, and processing continued from it.",
    AuditCause.REBALANCE: "The partition was reassigned before the processed records were committed.",
    AuditCause.COMMITTED_AHEAD: "An offset beyond them was committed, and no consumer processed them later.",
    AuditCause.RESET: "No offset was committed, and the reset policy skipped them.",
    AuditCause.UNKNOWN: "The logs do not show why.",
}


def audit_screen(
    source: str,
    ledger: AuditLedger,
    expectations: Sequence[Expected],
    *,
    has_commits: bool,
    remarks: Iterable[str],
) -> Iterator[str]:
    """Yield the lines of the report, none of them wider than 100 columns; *remarks*: below all."""
    known = [source, f"group {ledger.group}" if ledger.group else "", _work(ledger)]
    yield from paragraph(" | ".join(part for part in known if part), "", "  ")
    yield ""
    yield from paragraph(_verdict(ledger))
    for kind, title in TITLES.items():
        yield from _causes(ledger, kind, title)
    yield from _owners(ledger)
    yield from _partitions(ledger)
    yield from _advice(ledger, has_commits=has_commits)
    yield from _notes(ledger, remarks)
    yield from _expectations(expectations)


def _work(ledger: AuditLedger) -> str:
    rows = counted(ledger.rows, "row")
    return f"{rows}, {counted(len(ledger.partitions), 'partition')}"


def _verdict(ledger: AuditLedger) -> str:
    again, lost = ledger.total("reprocessed"), ledger.total("lost")
    worked, distinct = ledger.total("processed"), ledger.total("distinct")
    first = f"{counted(worked, 'record was', 'records were')} processed"
    if not again and not lost:
        return f"{first}: none was reprocessed, none was lost."
    return f"{first} ({distinct:,} distinct): {again:,} reprocessed, {lost:,} lost."


def _causes(ledger: AuditLedger, kind: EntryKind, title: str) -> Iterator[str]:
    counts = ledger.by_cause(kind)
    if not counts:
        return
    yield from ("", f"{title}: {counted(sum(counts.values()), 'record')}{_when(ledger, kind)}")
    for cause, records in counts.items():
        entries = [each for each in ledger.entries if each.kind is kind and each.cause == cause]
        largest = max(entries, key=lambda entry: entry.count)
        yield from paragraph(cause, f"{records:>9,}  ", " " * 11)
        yield from paragraph(_meaning(cause), " " * 11)
        yield from paragraph(f"e.g. {_example(largest, len(entries))}", " " * 11, " " * 16)


def _meaning(cause: str) -> str:
    """Return a cause in a sentence; one that only the ledger of a run has, as a run explains it."""
    if cause in MEANING:
        return MEANING[AuditCause(cause)]
    from emulator.report.hints.advice import WHY  # noqa: PLC0415  only for the events of a run

    return WHY[Cause(cause)]


def _when(ledger: AuditLedger, kind: EntryKind) -> str:
    """Return the times between which ranges were reprocessed, or skipped."""
    times = [each.second_at_us for each in ledger.entries if each.kind is kind]
    known = sorted(at_us for at_us in times if at_us is not None)
    if not known:
        return ""
    if known[0] == known[-1]:
        return f", at {shown(known[0])}"
    return f", from {shown(known[0])}, within {duration((known[-1] - known[0]) / 1_000_000)}"


def _example(entry: AuditEntry, entries: int) -> str:
    offsets = f"{entry.first}..{entry.last}" if entry.count > 1 else f"{entry.first}"
    text = f"{entry.id}: {entry.topic}-{entry.partition} {offsets}"
    if entry.kind is EntryKind.REPROCESSED:
        text += f" by {_owner_at(entry.first_owner, entry.first_at_us)}"
        text += f", reprocessed by {_owner_at(entry.second_owner, entry.second_at_us)}"
    else:
        if entry.first_owner is not None:
            text += f", after {_owner_at(entry.first_owner, entry.first_at_us)}"
        if entry.second_owner is not None:
            text += f", before {_owner_at(entry.second_owner, entry.second_at_us)}"
    if entry.detail:
        text += f" ({entry.detail})"
    return text if entries == 1 else f"{text}; {entries:,} entries in all"


def _owner_at(owner: str | None, at_us: int | None) -> str:
    return f"{owner}" if at_us is None else f"{owner} at {shown(at_us)}"


def _owners(ledger: AuditLedger) -> Iterator[str]:
    counts = list(ledger.by_owners().items())
    if not counts:
        return
    yield from ("", "By first owner > second owner, in records")
    for owners, records in counts[:MAX_OWNERS]:
        yield f"{records:>9,}  {owners}"
    if len(counts) > MAX_OWNERS:
        yield f"           … and {len(counts) - MAX_OWNERS} more pairs"


def _partitions(ledger: AuditLedger) -> Iterator[str]:
    touched = [part for part in ledger.partitions if part.reprocessed or part.lost or part.unread]
    if not touched:
        return
    ranked = sorted(touched, key=lambda part: (-(part.reprocessed + part.lost), part.name))
    table = Table(box=box.MARKDOWN)
    table.add_column("in records")
    for label in ("processed", "reprocessed", "lost", "unread"):
        table.add_column(label, justify="right")
    for part in ranked[:MAX_PARTITIONS]:
        table.add_row(*cells(str(part.name), *(f"{number:,}" for number in _figures(part))))
    yield ""
    yield from fitted(table)
    more = len(ranked) - MAX_PARTITIONS
    if more > 0:
        yield f"… and {counted(more, 'more partition')}"


def _figures(part: PartitionLedger) -> tuple[int, ...]:
    return part.processed, part.reprocessed, part.lost, part.unread


def _advice(ledger: AuditLedger, *, has_commits: bool) -> Iterator[str]:
    causes = [AuditCause(cause) for cause in ledger.by_cause() if cause in MEANING]
    if not causes:
        return
    yield from ("", "Hints")
    for cause in causes:
        if cause is AuditCause.UNKNOWN and not has_commits:
            yield from paragraph(
                "With the group's offsets log (--commits) more causes can be found.", "  - "
            )
        else:
            yield from paragraph(f"{cause}: {ADVICE[cause]}", "  - ")


def _notes(ledger: AuditLedger, remarks: Iterable[str]) -> Iterator[str]:
    unread = ledger.total("unread")
    notes = []
    if unread:
        notes.append(
            f"{counted(unread, 'record is', 'records are')} beyond the last processed or committed "
            "offset: not read yet, and not counted as lost."
        )
    if ledger.late:
        notes.append(
            f"{counted(ledger.late, 'row was', 'rows were')} finished after the cut and left out."
        )
    for note in (*notes, *remarks):
        yield ""
        yield from paragraph(note)


def _expectations(expectations: Sequence[Expected]) -> Iterator[str]:
    if not expectations:
        return
    yield from ("", "Expectations")
    for expected in expectations:
        yield from paragraph(expected.message, "  ok      " if expected.ok else "  FAILED  ")


ADVICE: Final[Mapping[AuditCause, str]] = {
    AuditCause.TWO_OWNERS: (
        "Keep slow members in the group: session.timeout.ms above their longest pause, "
        "max.poll.interval.ms above their longest batch, or a smaller max.poll.records. Only the "
        "target of the results can exclude two owners: idempotent writes, transactions."
    ),
    AuditCause.EXPIRED: (
        "Keep committed offsets longer than the group can be stopped: offsets.retention.minutes "
        "of the brokers. auto.offset.reset applies after they have expired."
    ),
    AuditCause.REWIND: (
        "Find the member that committed the lower offset (rebalance import names it). "
        "Never commit an older offset after a newer one: no retry in the callback of commitAsync()."
    ),
    AuditCause.REBALANCE: (
        "Commit before a partition is revoked: commitSync() in onPartitionsRevoked() and before "
        "close(). A killed process cannot: commit more often. Fewer rebalances help, too: "
        "group.instance.id for restarts, cooperative-sticky or group.protocol=consumer for the rest."
    ),
    AuditCause.COMMITTED_AHEAD: (
        "Commit a record only after it is processed: pass offsets to commitSync(), and finish the "
        "batch before close() or the next poll()."
    ),
    AuditCause.RESET: (
        "Set auto.offset.reset=earliest, or commit an offset when a partition is first assigned: "
        "latest skips records that were written before."
    ),
    AuditCause.UNKNOWN: (
        "Look at the consumers' own logs at these times. Possible causes: seek(), a manual reset, "
        "another process with the same name, missing rows in the processing log."
    ),
}
