"""The end of a run: who would come next, what is lost for good, what is only not yet done.

Where the last owner is gone, a virtual next one begins at the committed offset, so that
records committed and never processed count as lost. Where it lives, what it has in hand is
``in_hand`` and what it has not read is ``backlog``. Without a committed offset nothing says
where a next owner would begin: nothing more is passed over then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from assignors.types import TopicPartition
from emulator.ledger.accounting import Segment
from emulator.ledger.accounts import Account, Draft, PartialWork
from emulator.ledger.entries import Entry, EntryKind, Ledger, Owner
from emulator.ledger.epochs import Blame, Epoch
from emulator.ledger.offsets import NONE_COMMITTED, OffsetBook
from emulator.ledger.openings import Opening
from emulator.ledger.ownership import Ownership

LETTERS = {
    EntryKind.REPROCESSED: "D",
    EntryKind.LOST: "L",
    EntryKind.TRUNCATED: "T",
    EntryKind.PARTIAL: "P",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What the accountant has when the events end."""

    accounts: tuple[Account, ...]
    retired: tuple[Account, ...]
    """Of topics that were deleted, and of what truncations took."""

    partials: tuple[PartialWork, ...]
    log_ends: Mapping[TopicPartition, int]
    processed: int
    reprocessed: int
    duplicates_avoided: int


@dataclass(slots=True)
class Unread:
    """What was neither processed nor lost at the end, in records."""

    in_hand: int = 0
    backlog: int = 0


Timed = tuple[int, Entry]
"""When an entry began, and the entry without its id."""


def close_books(balance: Balance, offsets: OffsetBook, ownership: Ownership) -> Ledger:
    """Return the ledger of a run that is over."""
    unread = Unread()
    repeats, losses, truncated = list[Timed](), list[Timed](), list[Timed]()
    for account in (*balance.accounts, *balance.retired):
        for draft in account.drafts:
            repeats += _repeated(account, draft)
    for account in balance.accounts:
        _add_next_owner(account, offsets, ownership)
        log_end = balance.log_ends.get(account.partition, account.coverage.frontier)
        losses += _settle(account, log_end, unread)
    for account in balance.retired:
        if account.gone is None:
            losses += _settle(account, account.coverage.frontier, Unread())
        else:
            losses += _lost_of(account)
            truncated += _gone_of(account)
    unread.backlog += _never_opened(balance, ownership)
    partials = [_partial(work) for work in balance.partials]
    kinds = (repeats, losses, truncated, partials)
    return Ledger(
        entries=tuple(entry for timed in kinds for entry in _numbered(timed)),
        processed=balance.processed,
        distinct=sum(a.coverage.processed() for a in (*balance.accounts, *balance.retired)),
        reprocessed=balance.reprocessed,
        lost=_records(losses),
        truncated=_records(truncated),
        partial=len(partials),
        duplicates_avoided=balance.duplicates_avoided,
        in_hand=unread.in_hand,
        backlog=unread.backlog,
    )


def _add_next_owner(account: Account, offsets: OffsetBook, ownership: Ownership) -> None:
    """Let a virtual owner begin at the committed offset if the last owner is gone."""
    before = account.latest
    assert before is not None, "an account begins with an epoch"
    committed = offsets.of(account.group, account.partition)
    start, coverage = committed.offset, account.coverage
    if before.closed_event is None or start == NONE_COMMITTED or account.left:
        return
    if committed.beyond is not None:
        return
    if start > coverage.frontier or (account.unreached and start > coverage.base):
        epoch = replace(before, start=start)
        opening = Opening(
            epoch=epoch,
            before=before,
            source="committed",
            why="",
            committed=committed,
            failover=None,
        )
        blame = ownership.blames.for_skip(opening, virtual=True)
        coverage.pass_over(coverage.base if account.unreached else coverage.frontier, start, blame)


def _settle(account: Account, log_end: int, unread: Unread) -> Iterator[Timed]:
    """Yield what is lost of one account; add what is only unread to *unread*."""
    coverage = account.coverage
    latest = account.latest
    reading = latest.cursor if latest is not None and latest.closed_event is None else None
    hands = [(epoch.cursor, epoch.position) for epoch in account.open]
    gaps = [replace(g, end=min(g.end, log_end)) for g in coverage.gaps() if g.start < log_end]
    if log_end > coverage.frontier and not account.left:
        gaps.append(Segment(coverage.frontier, log_end, None, None))
    for gap in gaps:
        for start, end in _pieces(gap, hands, reading):
            if any(low <= start < high for low, high in hands):
                unread.in_hand += end - start
            elif gap.blame is None or (reading is not None and start >= reading):
                unread.backlog += end - start
            else:
                yield from _lost(account, start, end, gap.blame)


def _lost_of(account: Account) -> Iterator[Timed]:
    """Yield what had been passed over before it, or its last reader's copy of it, was gone."""
    for gap in account.coverage.gaps():
        if gap.blame is not None:
            yield from _lost(account, gap.start, _there(account, gap), gap.blame)


def _gone_of(account: Account) -> Iterator[Timed]:
    """Yield what a truncation took before anybody had processed it or passed it over."""
    assert account.gone is not None, "these are the books of what a truncation took"
    (next_offset, blame), coverage = account.gone, account.coverage
    unread = [gap for gap in coverage.gaps() if gap.blame is None]
    for gap in (*unread, Segment(coverage.frontier, next_offset, None, None)):
        for start, end, incarnation in account.layers(gap.start, _there(account, gap)):
            first = (
                None if blame.before is None else blame.before.owner_at(_last_worked(blame.before))
            )
            entry = _entry(
                account, EntryKind.TRUNCATED, (start, end, incarnation), blame, first, None
            )
            yield blame.chain[-1].at_us, entry


def _there(account: Account, gap: Segment) -> int:
    """Return the end of what a gap held, as far as there ever were records."""
    return gap.end if account.gone is None else min(gap.end, account.gone[0])


def _records(timed: list[Timed]) -> int:
    return sum(entry.count for _, entry in timed)


def _pieces(
    gap: Segment, hands: list[tuple[int, int]], reading: int | None
) -> Iterator[tuple[int, int]]:
    """Cut a gap where its records' fate may change."""
    borders = {border for hand in hands for border in hand}
    if reading is not None:
        borders.add(reading)
    inner = sorted(border for border in borders if gap.start < border < gap.end)
    starts, ends = [gap.start, *inner], [*inner, gap.end]
    return zip(starts, ends, strict=True)


def _never_opened(balance: Balance, ownership: Ownership) -> int:
    """Count the records of partitions that a group reads and nobody has begun yet."""
    reads = sorted({(account.group, account.partition.topic) for account in balance.accounts})
    opened = {(key.group, key.partition) for key in ownership.accounts}
    waiting = 0
    for group, topic in reads:
        for partition in ownership.topics.partitions(topic):
            if (group, partition) not in opened:
                start = ownership.topics.of(topic).log_start(partition.partition)
                waiting += max(0, balance.log_ends.get(partition, start) - start)
    return waiting


def _repeated(account: Account, draft: Draft) -> Iterator[Timed]:
    first = draft.first.owner_at(draft.first_us)
    second = draft.second.owner_at(draft.second_us)
    for layer in account.layers(draft.start, draft.end):
        entry = _entry(account, EntryKind.REPROCESSED, layer, draft.blame, first, second)
        yield draft.second_us, entry


def _lost(account: Account, start: int, end: int, blame: Blame) -> Iterator[Timed]:
    before, after = blame.before, blame.after
    first = before.owner_at(_last_worked(before)) if before is not None else None
    second = after.owner_at(after.opened_us) if after is not None else None
    for layer in account.layers(start, end):
        entry = _entry(account, EntryKind.LOST, layer, blame, first, second)
        yield blame.chain[-1].at_us, entry


def _last_worked(epoch: Epoch) -> int:
    if epoch.marks:
        return epoch.marks[-1].at_us
    return epoch.opened_us if epoch.closed_event is None else epoch.closed_us


def _entry(
    account: Account,
    kind: EntryKind,
    layer: tuple[int, int, int],
    blame: Blame,
    first: Owner | None,
    second: Owner | None,
) -> Entry:
    return Entry(
        id="",
        kind=kind,
        group=account.group,
        topic=account.partition.topic,
        topic_id=account.topic_id,
        log_incarnation=layer[2],
        partition=account.partition.partition,
        first=layer[0],
        last=layer[1] - 1,
        first_owner=first,
        second_owner=second,
        cause=blame.cause,
        detail=blame.detail,
        root=blame.root,
        chain=blame.chain,
    )


def _partial(work: PartialWork) -> Timed:
    what = work.what
    return work.link.at_us, Entry(
        id="",
        kind=EntryKind.PARTIAL,
        group=what.group,
        topic=what.partition.topic,
        topic_id=work.topic_id,
        log_incarnation=work.log_incarnation,
        partition=what.partition.partition,
        first=what.offset,
        last=what.offset,
        first_owner=work.owner,
        second_owner=None,
        cause=None,
        detail="",
        root=work.root,
        chain=(work.link,),
    )


def _numbered(timed: Iterable[Timed]) -> Iterator[Entry]:
    """Yield entries with ids that count by time, then partition."""
    place = attrgetter("group", "topic", "partition", "first")
    ordered = sorted(timed, key=lambda item: (item[0], place(item[1])))
    for number, (_, entry) in enumerate(ordered, start=1):
        yield replace(entry, id=f"{LETTERS[entry.kind]}{number}")
