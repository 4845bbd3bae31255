"""Notices on the findings about a group, the most urgent first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from assignors.values import dataclass
from emulator.logs.imports.reasons import Reason, forming
from emulator.logs.imports.values import GroupFindings, MemberFinding, Pace, PartitionFinding, State
from emulator.report.wording import counted, duration, figure, joined

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def clock(at_ms: int) -> str:
    """Return a time to the second; a time outside the calendar in milliseconds.

    >>> clock(1795258473245), clock(-10**17)
    ('2026-11-21 10:54:33', '-100000000000000000 ms')
    """
    try:
        time = EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return f"{at_ms} ms"
    return time.strftime("%Y-%m-%d %H:%M:%S")


def iso(at_ms: int) -> str:
    """Return a time for charts, in UTC; for a time outside the calendar, the epoch.

    >>> iso(1795258473245)
    '2026-11-21T10:54:33.245'
    """
    try:
        time = EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        time = EPOCH
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}"


MAX_NAMED: Final = 5
SILENT: Final = (Reason.EXPIRED, Reason.LATE_POLL)
OFTEN_AN_HOUR: Final = 6
"""From this number of rebalances in an hour on there is a notice, not counting the forming."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One finding that needs attention."""

    weight: int
    """Urgency; 0: for information only."""

    short: str
    """Short form for a cell of a table."""

    words: str
    details: tuple[str, ...] = ()


def notices(found: GroupFindings) -> list[Notice]:
    """Return the notices about a group."""
    result = [notice for make in _MAKERS for notice in make(found)]
    return sorted(result, key=lambda notice: -notice.weight)


def weight(found: GroupFindings) -> int:
    """Return the total urgency of a group's notices."""
    return sum(notice.weight for notice in notices(found))


# -- one function a subject ------------------------------------------------------------------------


def _rewinds(found: GroupFindings) -> Iterator[Notice]:
    if not found.rewound:
        return
    records = sum(each.records for each in found.rewinds)
    details = [
        f"{each.topic}-{each.partition} at {clock(each.at_ms)}: {each.from_offset:,} to "
        f"{each.to_offset:,} ({counted(each.records, 'record')}), "
        f"{_by_whom(each.member, found.term, each.epoch)}{each.words}"
        for each in found.rewinds[:MAX_NAMED]
    ]
    times = counted(found.rewound, "time")
    words = f"committed offsets went backwards {times}: {counted(records, 'record')} to reprocess"
    yield Notice(100, counted(found.rewound, "rewind"), words, _cut(details, found.rewound))


def _by_whom(member: str | None, term: str, epoch: int | None) -> str:
    parts = [*([member] if member else []), *([] if epoch is None else [f"{term} {epoch}"])]
    return f"{', '.join(parts)}; " if parts else ""


def _retention(found: GroupFindings) -> Iterator[Notice]:
    risky = [each for each in found.partitions if each.at_risk]
    first_ms = min((each.expires_ms for each in risky if each.expires_ms is not None), default=None)
    if first_ms is None:
        return
    kept = duration(found.assumptions.retention_ms / 1000)
    left_ms = first_ms - found.assumptions.end_ms
    if left_ms > 0:
        when = f"from {clock(first_ms)} on, {duration(left_ms / 1000)} after the end of the log"
        short = f"offsets expire in {duration(left_ms / 1000)}"
    else:
        when = f"since {clock(first_ms)}, if the brokers keep them no longer than {kept}"
        short = "offsets expired"
    words = f"offsets of {counted(len(risky), 'partition')} will be deleted {when}"
    yield Notice(60, short, f"{words} (offsets.retention {kept})", _places(risky))


def _flapping(found: GroupFindings) -> Iterator[Notice]:
    some = [each for each in found.member_findings if each.flapping]
    if not some:
        return
    details = [f"{each} returned {counted(each.returns, 'time')}" for each in some[:MAX_NAMED]]
    words = f"{counted(len(some), 'member')} left and returned repeatedly within an hour"
    yield Notice(50, f"{len(some)} flapping", words, _cut(details, len(some)))


def _rebalances(found: GroupFindings) -> Iterator[Notice]:
    pace = found.pace
    if not found.changes:
        return
    often = pace.worst_hour - len(forming(found.changes)) >= OFTEN_AN_HOUR
    rate = "" if pace.an_hour is None else f", {figure(pace.an_hour)} an hour while it had members"
    details = [f"{number:>5}  {reason}" for reason, number in pace.reasons]
    words = f"{counted(pace.rebalances, 'rebalance')}{rate}{_worst_hour(pace) if often else ''}"
    yield Notice(
        20 if often else 0, f"{pace.worst_hour} rebalances in an hour", words, tuple(details)
    )


def _worst_hour(pace: Pace) -> str:
    why = joined([f"{number} {reason}" for reason, number in pace.worst_hour_reasons])
    return f"; {pace.worst_hour} within the hour from {clock(pace.worst_hour_from_ms or 0)}: {why}"


def _expired(found: GroupFindings) -> Iterator[Notice]:
    bad = [each for each in found.changes if each.reason in SILENT]
    if not bad:
        return
    details = [f"{clock(each.change.place.at_ms)}: {each.words}" for each in bad[-MAX_NAMED:]]
    words = f"{counted(len(bad), 'rebalance')} because members probably stopped sending heartbeats or polling"
    yield Notice(30, counted(len(bad), "silent member"), words, _cut(details, len(bad)))


def _deploys(found: GroupFindings) -> Iterator[Notice]:
    details = [
        f"{clock(each.from_ms)} to {clock(each.to_ms)}: {counted(each.renewed, 'member')} replaced, "
        f"{counted(each.rebalances, 'rebalance')}"
        for each in found.deploys[-MAX_NAMED:]
    ]
    if details:
        words = (
            f"probably {counted(len(found.deploys), 'deploy')}: members replaced one after another"
        )
        short = counted(len(found.deploys), "deploy")
        yield Notice(1, short, words, _cut(details, len(found.deploys)))


def _idle_partitions(found: GroupFindings) -> Iterator[Notice]:
    idle = [each for each in found.partitions if each.idle]
    if idle:
        words = (
            f"{counted(len(idle), 'partition')} assigned without progress of the committed offset: "
            "no new records, or a stuck consumer"
        )
        yield Notice(10, counted(len(idle), "idle partition"), words, _places(idle))


def _idle_members(found: GroupFindings) -> Iterator[Notice]:
    idle = [each for each in found.member_findings if each.idle]
    if idle:
        names = joined([*map(str, idle[:MAX_NAMED]), *_more(idle)])
        words = f"{counted(len(idle), 'member')} without a partition: {names}"
        yield Notice(5, counted(len(idle), "idle member"), words)


def _more(member_findings: list[MemberFinding]) -> list[str]:
    return [f"{len(member_findings) - MAX_NAMED} more"] if len(member_findings) > MAX_NAMED else []


def _deletions(found: GroupFindings) -> Iterator[Notice]:
    if found.state is State.DELETED:
        yield Notice(
            0, "deleted", "the group was deleted, by an administrator or because it was unused"
        )
    gone = [each for each in found.partitions if each.deletions]
    if gone and found.state is not State.DELETED:
        words = (
            f"committed offsets of {counted(len(gone), 'partition')} expired or were deleted: "
            "consumers that continued started at auto.offset.reset"
        )
        details = [
            f"{each.topic}-{each.partition}: at {clock(each.deleted_ms or 0)}"
            + ("" if each.offset is None else f"; {each.offset:,} was committed since")
            for each in gone[:MAX_NAMED]
        ]
        short = f"{counted(len(gone), 'offset')} deleted"
        yield Notice(70, short, words, _cut(details, len(gone)))


def _transactions(found: GroupFindings) -> Iterator[Notice]:
    if found.in_transactions:
        yield Notice(0, "", f"{counted(found.in_transactions, 'commit')} in transactions")


def _places(partitions: list[PartitionFinding]) -> tuple[str, ...]:
    named = [f"{each.topic}-{each.partition}" + _since(each) for each in partitions[:MAX_NAMED]]
    return _cut(named, len(partitions))


def _since(each: PartitionFinding) -> str:
    last = "never committed" if each.last_ms is None else f"last committed {clock(each.last_ms)}"
    return f": {last}, owner {each.owner}" if each.owner else f": {last}"


def _cut(details: list[str], number: int) -> tuple[str, ...]:
    more = number - len(details)
    return tuple([*details, f"and {more:,} more; Parquet has them"] if more > 0 else details)


_MAKERS: Final[tuple[Callable[[GroupFindings], Iterator[Notice]], ...]] = (
    _rewinds,
    _deletions,
    _retention,
    _flapping,
    _expired,
    _rebalances,
    _idle_partitions,
    _idle_members,
    _deploys,
    _transactions,
)
