"""The sequence of an entry: what the logs show of its records and its partition, in order of time.

A processing log shows who worked on the partition, and when; with the offsets log of the group also
what was committed of it in between, and when the group got new assignments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from emulator.ledger.entries import EntryKind
from emulator.logs.audit.causes import AuditCause
from emulator.logs.audit.columns import shown
from emulator.logs.audit.commits import GONE, NO_COMMITS, Commits, Committed
from emulator.logs.audit.ledger import AuditEntry
from emulator.logs.audit.partitions import AffectedRange, PartitionLedger
from emulator.report.wording import counted

MOST_ALIKE: Final = 6
"""Commits, assignments or times of work that a sequence shows: of more, the first and the last."""


class Happening(NamedTuple):
    """One line of a sequence; lines of one time are in the order of their ranks."""

    at_us: int
    rank: int
    text: str
    is_evidence: bool = False
    """Whether it shows what happened to the records."""


COMMIT, ASSIGNMENT, WORK, RECORD = range(4)
"""The ranks: what a consumer does follows from what it was assigned, and from what was committed."""


def sequence_of(
    entry: AuditEntry, part: PartitionLedger, log: Committed | None
) -> Sequence[Happening]:
    """Return the lines of an entry; *part*: its partition, *log*: the history of its group."""
    affected = _affected(entry, part)
    lines = [*_records(entry), *_work(entry, part)]
    if log is not None:
        lines += [*_commits(entry, affected, log.commits.get(part.name, NO_COMMITS))]
        lines += [*_assignments(entry, affected, log)]
    return sorted(lines)


def _affected(entry: AuditEntry, part: PartitionLedger) -> AffectedRange:
    """Return the range that an entry was made of."""
    ranges = part.again if entry.kind is EntryKind.REPROCESSED else part.never
    return next(
        each
        for each in ranges
        if (each.first, each.second_owner, each.second_us)
        == (entry.first, entry.second_owner, entry.second_at_us)
    )


def _records(entry: AuditEntry) -> Iterator[Happening]:
    """Yield the two times that an entry has: of its first record, or of the records around it."""
    again = entry.kind is EntryKind.REPROCESSED
    first = (
        f"offset {entry.first}" if again else f"offset {entry.first - 1}, before the lost records"
    )
    then = f"offset {entry.first} again" if again else f"offset {entry.last + 1}, behind them"
    for owner, at_us, what in (
        (entry.first_owner, entry.first_at_us, first),
        (entry.second_owner, entry.second_at_us, then),
    ):
        if owner is not None and at_us is not None:
            yield Happening(at_us, RECORD, f"{owner} has processed {what}", True)


def _work(entry: AuditEntry, part: PartitionLedger) -> Iterator[Happening]:
    """Yield who worked on the partition from the first time of an entry to the second."""
    times = [at for at in (entry.first_at_us, entry.second_at_us) if at is not None]
    begin_us, end_us = min(times, default=0), max(times, default=0)
    spans = [each for each in part.spans if each.ended_us >= begin_us and each.began_us <= end_us]

    def line(place: int) -> Happening:
        span = spans[place]
        until = _until(span.ended_us, span.began_us)
        return Happening(
            span.began_us, WORK, f"{span.consumer} works on {_name(entry)} until {until}"
        )

    yield from _few(range(len(spans)), line, "further time of work", "further times of work")


def _commits(entry: AuditEntry, affected: AffectedRange, commits: Commits) -> Iterator[Happening]:
    """Yield the commits of the partition between the two times, and the next ones around."""
    first_us, until_us, count = affected.first_us, affected.second_began_us, len(commits.offsets)
    begin = 0 if first_us is None else commits.count_by(first_us)
    end = count if until_us is None else commits.count_by(until_us)
    evidence = _evidence(entry, commits, end)

    def line(place: int) -> Happening:
        at_us, offset = int(commits.at_us[place]), int(commits.offsets[place])
        return Happening(at_us, COMMIT, _commit(entry, offset), place in evidence)

    yield from _few(
        range(max(begin - 1, 0), min(end + 1, count)), line, "further commit", "", evidence
    )


def _evidence(entry: AuditEntry, commits: Commits, count: int) -> Sequence[int]:
    """Return which of the first *count* commits show the cause."""
    if not count:
        return ()
    if entry.kind is EntryKind.LOST:
        covering = commits.first_beyond(entry.first, count)
        return (count - 1 if covering is None else covering,)
    highest = commits.first_beyond(commits.top(count) - 1, count)
    if entry.cause is AuditCause.REWIND and highest is not None:
        return (highest, count - 1)
    return (count - 1,)


def _commit(entry: AuditEntry, offset: int) -> str:
    if offset == GONE:
        return f"the committed offset of {_name(entry)} expires or is deleted"
    return f"the group commits offset {offset} of {_name(entry)}"


def _assignments(entry: AuditEntry, affected: AffectedRange, log: Committed) -> Iterator[Happening]:
    """Yield the new assignments of the group between the two times."""
    first_us, until_us, generations = affected.first_us, affected.second_began_us, log.generations
    begin = 0 if first_us is None else bisect_right(generations, first_us, key=_at)
    end = len(generations) if until_us is None else bisect_right(generations, until_us, key=_at)
    is_evidence = entry.cause is AuditCause.REBALANCE

    def line(place: int) -> Happening:
        at_us, number = generations[place]
        text = f"{log.group} assigns its partitions: generation {number}"
        return Happening(at_us, ASSIGNMENT, text, is_evidence)

    yield from _few(range(begin, end), line, "further assignment")


_at = attrgetter("at_us")


def _name(entry: AuditEntry) -> str:
    return f"{entry.topic}-{entry.partition}"


def _until(at_us: int, since_us: int) -> str:
    """Return a time; without the date if it is on the same day as another one."""
    text, since = (shown(each).removesuffix("Z") for each in (at_us, since_us))
    day, has_day, time = text.partition("T")
    return time if has_day and since.startswith(day) else text


def _few(
    places: range,
    line: Callable[[int], Happening],
    one: str,
    many: str = "",
    evidence: Sequence[int] = (),
) -> Iterator[Happening]:
    """Yield the lines of some places: of many the first and the last, the evidence, and a count."""
    half = MOST_ALIKE // 2
    inner = places[half:-half]
    left_out = len(inner) - sum(place in inner for place in evidence)
    if left_out < 2:
        yield from map(line, sorted({*places, *evidence}))
        return
    yield from map(line, sorted({*places[:half], *places[-half:], *evidence}))
    first, last = line(inner[0]), line(inner[-1])
    text = f"{counted(left_out, one, many)} until {_until(last.at_us, first.at_us)}"
    yield Happening(first.at_us, first.rank, text)
