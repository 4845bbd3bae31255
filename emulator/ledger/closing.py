"""Close a ledger at the end of a run: determine lost, in-hand and unread records.

If the last owner of a partition is gone, a virtual next owner begins at the committed offset, so
that records committed and never processed count as lost. If it runs, the records that poll returned
to it are ``in_hand`` and the unread ones are ``backlog``. Without a committed offset the start of a
next owner is unknown, and nothing more counts as skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events.run import records_between
from emulator.ledger.accounts import Account, Draft, PartialWork
from emulator.ledger.causes import Opening
from emulator.ledger.commits import NONE_COMMITTED, CommittedOffsets
from emulator.ledger.coverage import Segment
from emulator.ledger.entries import Entry, EntryKind, Ledger, Owner
from emulator.ledger.epochs import Attribution, Epoch
from emulator.ledger.ownership import Ownership

LETTERS = {
    EntryKind.REPROCESSED: "D",
    EntryKind.LOST: "L",
    EntryKind.TRUNCATED: "T",
    EntryKind.PARTIAL: "P",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The state of a ledger after the last event."""

    accounts: tuple[Account, ...]
    retired: tuple[Account, ...]
    """The accounts of deleted topics and of truncated records."""

    partials: tuple[PartialWork, ...]
    log_ends: Mapping[TopicPartition, int]
    read: Mapping[str, tuple[TopicPartition, ...]]
    """Group: the partitions of its topics at the last sample of lag."""

    processed: int
    reprocessed: int
    undone: int
    duplicates_avoided: int


@dataclass(slots=True)
class Unread:
    """Records that were neither processed nor lost at the end."""

    in_hand: int = 0
    backlog: int = 0
    compacted: int = 0
    """Removed by compaction before they were processed."""


Timed = tuple[int, Entry]
"""When an entry began, and the entry without its id."""


def ledger_of(closing: Closing, offsets: CommittedOffsets, ownership: Ownership) -> Ledger:
    """Return the ledger of a run that is over."""
    unread = Unread()
    repeats, losses, truncated = list[Timed](), list[Timed](), list[Timed]()
    for account in (*closing.accounts, *closing.retired):
        for draft in _joined(account):
            repeats += _reprocessed(account, draft)
    for account in closing.accounts:
        _add_next_owner(account, offsets, ownership)
        log_end = closing.log_ends.get(account.partition, account.coverage.frontier)
        losses += _close_account(account, log_end, unread)
    for account in closing.retired:
        if account.truncated is None:
            of_deleted = Unread()
            losses += _close_account(account, account.coverage.frontier, of_deleted)
            unread.compacted += of_deleted.compacted
        else:
            losses += _lost_before_truncation(account)
            truncated += _truncated(account)
    _add_never_opened(closing, ownership, unread)
    partials = [_partial(work) for work in closing.partials]
    kinds = (repeats, losses, truncated, partials)
    return Ledger(
        entries=tuple(entry for timed in kinds for entry in _numbered(timed)),
        processed=closing.processed,
        distinct=sum(a.coverage.processed() for a in (*closing.accounts, *closing.retired)),
        reprocessed=closing.reprocessed,
        undone=closing.undone,
        lost=_records(losses),
        truncated=_records(truncated),
        partial=len(partials),
        duplicates_avoided=closing.duplicates_avoided,
        in_hand=unread.in_hand,
        backlog=unread.backlog,
        to_reprocess=sum(map(_to_reprocess, closing.accounts)),
        compacted=unread.compacted,
        unresolved=_unresolved(closing),
    )


def _joined(account: Account) -> Iterable[Draft]:
    """Return the drafts of an account; those of records finished out of order join their neighbours."""
    if not account.overtakes:
        return account.drafts
    joined: list[Draft] = []
    for draft in sorted(account.drafts, key=lambda draft: (draft.start, draft.second.number)):
        before = joined[-1] if joined else None
        if before is None or _owners(before) != _owners(draft) or not before.adjoins(draft.start):
            joined.append(draft)
        else:
            before.end = draft.end
            before.records += draft.records
            before.first_us = min(before.first_us, draft.first_us)
            before.second_us = min(before.second_us, draft.second_us)
    return joined


def _owners(draft: Draft) -> tuple[Epoch, Epoch, Attribution]:
    return draft.first, draft.second, draft.attribution


def _to_reprocess(account: Account) -> int:
    """Return the records that the present owner will reprocess if it continues."""
    latest = account.latest
    if latest is None or latest.closed_by is not None:
        return 0
    overtaken = sum(end - first for first, end in (latest.out_of_order or {}).items())
    return account.coverage.processed(latest.cursor, latest.passable) - overtaken


def _unresolved(closing: Closing) -> int:
    """Return the records in flight at the end of a process that may still be processed or lost."""
    in_flight: dict[tuple[str, TopicPartition, str], set[int]] = {}
    for work in closing.partials:
        key = (work.fact.group, work.fact.partition, work.topic_id)
        in_flight.setdefault(key, set()).add(work.fact.offset)
    return sum(
        _undecided(account, offset)
        for account in closing.accounts
        if not account.reader_gone
        for offset in in_flight.get((account.group, account.partition, account.topic_id), ())
    )


def _undecided(account: Account, offset: int) -> bool:
    """Return whether a record was neither processed nor skipped."""
    gaps = account.coverage.gaps()
    return offset >= account.coverage.frontier or any(
        gap.start <= offset < gap.end and gap.attribution is None for gap in gaps
    )


def _add_next_owner(account: Account, offsets: CommittedOffsets, ownership: Ownership) -> None:
    """Begin a virtual owner at the committed offset if the last owner is gone."""
    before = account.latest
    assert before is not None, "an account begins with an epoch"
    committed = offsets.of(account.group, account.partition)
    start, coverage = committed.offset, account.coverage
    if before.closed_by is None or start == NONE_COMMITTED or account.reader_gone:
        return
    for attribution in account.undone:
        coverage.read_again(start, attribution)
    if committed.truncation is not None:
        return
    if start > coverage.frontier or account.unread_gaps:
        opening = Opening(
            epoch=replace(before, start=start),
            before=before,
            source="committed",
            why="",
            committed=committed,
            failover=None,
        )
        attribution = ownership.attributions.for_skip(opening, virtual=True)
        low = coverage.base if account.unread_gaps else coverage.frontier
        coverage.skip(low, start, attribution)


def _close_account(account: Account, log_end: int, unread: Unread) -> Iterator[Timed]:
    """Yield the losses of one account; add unread records to *unread*."""
    coverage = account.coverage
    latest = account.latest
    reading = latest.cursor if latest is not None and latest.closed_by is None else None
    hands = [(epoch.cursor, epoch.position) for epoch in account.open]
    gaps = [replace(g, end=min(g.end, log_end)) for g in coverage.gaps() if g.start < log_end]
    unread.compacted += coverage.removed_up_to(log_end)
    if log_end > coverage.frontier and not account.reader_gone:
        gaps.append(Segment(coverage.frontier, log_end, None, None))
    for gap in gaps:
        for start, end in _pieces(gap, hands, reading):
            if any(low <= start < high for low, high in hands):
                unread.in_hand += coverage.count(start, end)
            elif gap.attribution is None or (reading is not None and start >= reading):
                unread.backlog += coverage.count(start, end)
            else:
                yield from _lost(account, start, end, gap.attribution)


def _lost_before_truncation(account: Account) -> Iterator[Timed]:
    """Yield the records of a tail that had been skipped before they were truncated."""
    for gap in account.coverage.gaps():
        if gap.attribution is not None:
            yield from _lost(account, gap.start, _end_of(account, gap), gap.attribution)


def _truncated(account: Account) -> Iterator[Timed]:
    """Yield the records of a tail that were neither processed nor skipped."""
    assert account.truncated is not None, "the account holds truncated records"
    (next_offset, attribution), coverage = account.truncated, account.coverage
    before = attribution.before
    first = None if before is None else before.owner_at(before.last_finished_us)
    unread = [gap for gap in coverage.gaps() if gap.attribution is None]
    for gap in (*unread, Segment(coverage.frontier, next_offset, None, None)):
        for part in account.split_by_incarnation(gap.start, _end_of(account, gap)):
            entry = _entry(account, EntryKind.TRUNCATED, part, attribution, first, None)
            yield attribution.chain[-1].at_us, entry


def _end_of(account: Account, gap: Segment) -> int:
    """Return the end of the records in a gap: a skip may go beyond the end of the log."""
    return gap.end if account.truncated is None else min(gap.end, account.truncated[0])


def _records(timed: list[Timed]) -> int:
    return sum(entry.count for _, entry in timed)


def _pieces(
    gap: Segment, hands: list[tuple[int, int]], reading: int | None
) -> Iterator[tuple[int, int]]:
    """Split a gap where its records may count differently."""
    borders = {border for hand in hands for border in hand}
    if reading is not None:
        borders.add(reading)
    inner = sorted(border for border in borders if gap.start < border < gap.end)
    starts, ends = [gap.start, *inner], [*inner, gap.end]
    return zip(starts, ends, strict=True)


def _add_never_opened(closing: Closing, ownership: Ownership, unread: Unread) -> None:
    """Add the records in partitions of a read topic that have had no owner."""
    opened_topics = {(account.group, account.partition.topic) for account in closing.accounts}
    sampled = {(group, tp.topic) for group, read in closing.read.items() for tp in read}
    reads = sorted(opened_topics | sampled)
    opened = {(key.group, key.partition) for key in ownership.accounts}
    for group, topic in reads:
        for partition in ownership.topics.partitions(topic):
            if (group, partition) not in opened:
                start = ownership.topics.of(topic).log_start(partition.partition)
                end = max(closing.log_ends.get(partition, start), start)
                gaps = ownership.topics.of(topic).gaps_for(group, partition.partition)
                unread.backlog += records_between(gaps, start, end)
                if partition.partition in ownership.topics.of(topic).removed:
                    unread.compacted += end - start - records_between(gaps, start, end)


def _reprocessed(account: Account, draft: Draft) -> Iterator[Timed]:
    first = draft.first.owner_at(draft.first_us)
    second = draft.second.owner_at(draft.second_us)
    for part in _with_records(account, draft.start, draft.end):
        entry = _entry(account, EntryKind.REPROCESSED, part, draft.attribution, first, second)
        if draft.second.gaps is not None:
            entry = replace(entry, without_record=draft.end - draft.start - draft.records)
        yield draft.second_us, entry


def _lost(account: Account, start: int, end: int, attribution: Attribution) -> Iterator[Timed]:
    before, after = attribution.before, attribution.after
    first = before.owner_at(before.last_finished_us) if before is not None else None
    second = after.owner_at(after.opened_us) if after is not None else None
    for part in _with_records(account, start, end):
        entry = _entry(account, EntryKind.LOST, part, attribution, first, second)
        yield attribution.chain[-1].at_us, entry


def _with_records(account: Account, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and incarnation of the parts of a range that hold records."""
    for part in account.split_by_incarnation(start, end):
        if account.coverage.count(part[0], part[1]):
            yield part


def _entry(
    account: Account,
    kind: EntryKind,
    part: tuple[int, int, int],
    attribution: Attribution,
    first: Owner | None,
    second: Owner | None,
) -> Entry:
    start, end, incarnation = part
    return Entry(
        id="",
        kind=kind,
        group=account.group,
        topic=account.partition.topic,
        topic_id=account.topic_id,
        log_incarnation=incarnation,
        partition=account.partition.partition,
        first=start,
        last=end - 1,
        without_record=end - start - account.coverage.count(start, end),
        first_owner=first,
        second_owner=second,
        cause=attribution.cause,
        detail=attribution.detail,
        root=attribution.root,
        chain=attribution.chain,
    )


def _partial(work: PartialWork) -> Timed:
    fact = work.fact
    return work.link.at_us, Entry(
        id="",
        kind=EntryKind.PARTIAL,
        group=fact.group,
        topic=fact.partition.topic,
        topic_id=work.topic_id,
        log_incarnation=work.log_incarnation,
        partition=fact.partition.partition,
        first=fact.offset,
        last=fact.offset,
        first_owner=work.owner,
        second_owner=None,
        cause=None,
        detail="",
        root=work.root,
        chain=(work.link,),
    )


def _numbered(timed: Iterable[Timed]) -> Iterator[Entry]:
    """Yield entries with ids that count by time, then partition."""
    position = attrgetter("group", "topic", "partition", "first")
    ordered = sorted(timed, key=lambda item: (item[0], position(item[1])))
    for number, (_, entry) in enumerate(ordered, start=1):
        yield replace(entry, id=f"{LETTERS[entry.kind]}{number}")
