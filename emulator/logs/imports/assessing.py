"""Assess a group: from its history and its partitions' progress to findings, and its pace."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from emulator.logs.imports.generations import Change
from emulator.logs.imports.group_history import GroupStatus, History, status_of
from emulator.logs.imports.progress import Progress, Rewind, Tenure, merged
from emulator.logs.imports.reasons import Explained, Habits, deploys, explained
from emulator.logs.imports.values import (
    Assumptions,
    CadenceFinding,
    Curve,
    GroupFindings,
    MemberFinding,
    Pace,
    PartitionFinding,
    Reasons,
    RewindFinding,
)

HOUR_MS: Final = 3_600_000
SHORTEST_FOR_A_RATE_MS: Final = HOUR_MS
"""No rate per hour is computed for shorter times: the forming of the group would dominate it."""


def pace_of(changes: Sequence[Explained], first_ms: int, last_ms: int) -> Pace:
    """Return the pace of a group that was seen from its first to its last record."""
    rebalances = sorted(
        (each for each in changes if each.is_rebalance), key=lambda each: each.change.place.at_ms
    )
    worst = _worst_hour(rebalances)
    active_ms = _active_ms(changes, last_ms)
    often = len(rebalances) * HOUR_MS / active_ms if active_ms >= SHORTEST_FOR_A_RATE_MS else None
    return Pace(
        first_ms=first_ms,
        last_ms=last_ms,
        active_ms=active_ms,
        rebalances=len(rebalances),
        an_hour=often,
        worst_hour=len(worst),
        worst_hour_from_ms=worst[0].change.place.at_ms if worst else None,
        reasons=_reasons(rebalances),
        worst_hour_reasons=_reasons(worst),
    )


def _worst_hour(rebalances: Sequence[Explained]) -> Sequence[Explained]:
    """Return the rebalances of the first hour with the most rebalances."""
    times = [each.change.place.at_ms for each in rebalances]
    worst: Sequence[Explained] = ()
    for number, at_ms in enumerate(times):
        end = bisect_right(times, at_ms + HOUR_MS)
        if end - number > len(worst):
            worst = rebalances[number:end]
    return worst


def _reasons(rebalances: Iterable[Explained]) -> Reasons:
    """Return the number of rebalances by reason, descending."""
    return tuple(Counter(each.reason for each in rebalances).most_common())


def _active_ms(changes: Sequence[Explained], last_ms: int) -> int:
    """Return for how long the group had members."""
    ends = [*(each.change.place.at_ms for each in changes[1:]), last_ms]
    return sum(
        max(end - each.change.place.at_ms, 0)
        for each, end in zip(changes, ends, strict=False)
        if each.change.members
    )


MAX_CURVES: Final = 24


def assess(
    history: History | None, partitions: Iterable[Progress], assumptions: Assumptions
) -> GroupFindings:
    """Return the findings about a group.

    *history*: closed; None if there are only commits. *partitions*: by topic and number.
    """
    progress = list(partitions)
    history = history or History(progress[0].group)
    changes = explained(history.changes, _habits(progress))
    status = status_of(history, assumptions, progress)
    last = history.changes[-1] if history.changes else None
    intervals = merged(each.intervals_ms for each in progress)
    return GroupFindings(
        group=history.group,
        group_type=last.group_type if last else None,
        state=status.state,
        epoch=last.epoch if last else None,
        assumptions=assumptions,
        members=tuple(history.roster.values()),
        assignors=tuple(sorted(history.assignors.items(), key=lambda each: (-each[1], each[0]))),
        commits=sum(each.commits for each in progress),
        in_transactions=sum(each.in_transactions for each in progress),
        deletions=sum(each.deletions for each in progress),
        advanced=sum(each.advanced for each in progress),
        rate=_sum(_rate_of(each) for each in progress),
        intervals_ms=tuple(intervals.rows()),
        median_ms=intervals.quantile(0.5),
        p95_ms=intervals.quantile(0.95),
        pace=pace_of(changes, *_seen(history, progress)),
        changes=tuple(changes),
        deploys=tuple(deploys(changes)),
        rewound=sum(each.rewound for each in progress),
        rewinds=tuple(_rewinds(progress, history.changes)),
        cadence=tuple(_cadences(progress)),
        partitions=tuple(_partition(each, status, intervals.quantile(0.95)) for each in progress),
        member_findings=tuple(_member_findings(history, status)),
        curves=tuple(_curves(progress)),
    )


# -- the group -------------------------------------------------------------------------------------


def _seen(history: History, progress: Sequence[Progress]) -> tuple[int, int]:
    """Return the times of a group's first and last records."""
    spans = [(history.first_ms, history.last_ms)] if history.records else []
    for each in progress:
        if each.commits:
            spans.append((each.first_ms, each.last_ms))
        if each.deleted_ms is not None:
            spans.append((each.deleted_ms, each.deleted_ms))
    return min(first for first, _ in spans), max(last for _, last in spans)


def _habits(progress: Sequence[Progress]) -> Habits:
    spans: dict[str, list[tuple[int, int]]] = {}
    for each in progress:
        for tenure in each.tenures:
            if tenure.owner is not None and tenure.commits:
                mine = spans.setdefault(tenure.owner.member_id, [])
                mine.append((tenure.first_ms, tenure.last_ms))
    return Habits(spans, merged(each.intervals_ms for each in progress).quantile(0.95))


def _member_findings(history: History, status: GroupStatus) -> Iterator[MemberFinding]:
    present: dict[tuple[str, str], list[str]] = {}
    for member in history.roster.values():
        seen = member.seen
        present.setdefault((seen.name, seen.host), []).append(member.member_id)
    for (name, host), presence in sorted(history.presences.items()):
        ids = present.get((name, host), [])
        had = status.assigned
        yield MemberFinding(
            name=name,
            host=host,
            first_ms=presence.first_ms,
            last_ms=presence.last_ms,
            joins=presence.joins,
            leaves=presence.leaves,
            returns=presence.returns,
            flapping=presence.flapping,
            present=len(ids),
            assigned=None if had is None else sum(had.get(each, 0) for each in ids),
        )


# -- partitions ------------------------------------------------------------------------------------


def _partition(progress: Progress, status: GroupStatus, usual_ms: int | None) -> PartitionFinding:
    expires_ms = status.expires_ms(progress)
    return PartitionFinding(
        topic=progress.topic,
        partition=progress.partition,
        offset=progress.offset,
        commits=progress.commits,
        in_transactions=progress.in_transactions,
        deletions=progress.deletions,
        deleted_ms=progress.deleted_ms,
        first_ms=progress.first_ms if progress.commits else None,
        last_ms=progress.last_ms if progress.commits else None,
        advanced=progress.advanced,
        advanced_ms=progress.advanced_ms,
        rate=_rate_of(progress),
        median_ms=progress.intervals_ms.quantile(0.5),
        p95_ms=progress.intervals_ms.quantile(0.95),
        rewinds=progress.rewound,
        owner=str(progress.owner) if progress.owner else None,
        owned_since_ms=progress.owned_since_ms if progress.owner else None,
        idle=status.is_idle(progress, usual_ms),
        expires_ms=expires_ms,
        at_risk=status.is_at_risk(expires_ms),
    )


def _rate_of(progress: Progress) -> float | None:
    """Return the rate up to its last advance, as later commits of the same offset add no record."""
    return _rate(progress.advanced, (progress.advanced_ms or 0) - progress.first_ms)


def _rate(advanced: int, taken_ms: int) -> float | None:
    """Return records a second; None where no time passed."""
    return advanced * 1000 / taken_ms if taken_ms > 0 else None


def _sum(rates: Iterable[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _cadences(progress: Iterable[Progress]) -> Iterator[CadenceFinding]:
    """Yield the tenures in which something was committed."""
    for each in progress:
        yield from (_cadence(each, tenure) for tenure in each.tenures if tenure.commits)


def _cadence(progress: Progress, tenure: Tenure) -> CadenceFinding:
    return CadenceFinding(
        member=str(tenure.owner) if tenure.owner else None,
        member_id=tenure.owner.member_id if tenure.owner else None,
        topic=progress.topic,
        partition=progress.partition,
        since_ms=tenure.since_ms,
        first_ms=tenure.first_ms,
        last_ms=tenure.last_ms,
        commits=tenure.commits,
        median_ms=tenure.intervals_ms.quantile(0.5),
        p95_ms=tenure.intervals_ms.quantile(0.95),
        advanced=tenure.advanced,
        rate=_rate(tenure.advanced, tenure.last_ms - tenure.counted_from_ms),
    )


def _curves(progress: Sequence[Progress]) -> Iterator[Curve]:
    """Yield the curves to draw: partitions with rewinds first, then those that advanced most."""
    chosen = sorted(progress, key=lambda each: (-each.rewound, -each.advanced))[:MAX_CURVES]
    for each in sorted(chosen, key=lambda each: (each.topic, each.partition)):
        if each.points:
            yield Curve(topic=each.topic, partition=each.partition, points=tuple(each.points))


# -- rewinds ---------------------------------------------------------------------------------------


def _rewinds(progress: Sequence[Progress], changes: Sequence[Change]) -> Iterator[RewindFinding]:
    places = [change.place[:2] for change in changes]
    times = [change.place.at_ms for change in changes]
    known = [(each, rewind) for each in progress for rewind in each.rewinds]
    for each, rewind in sorted(
        known, key=lambda one: (one[1].place.at_ms, one[1].place.log_offset)
    ):
        now = bisect_right(places, rewind.place[:2])
        then = min(bisect_right(times, rewind.before_ms), now)
        yield _rewind(each, rewind, _epoch(changes, now), _epoch(changes, then))


def _epoch(changes: Sequence[Change], behind: int) -> int | None:
    """Return the epoch after this number of changes."""
    return changes[behind - 1].epoch if behind else None


def _rewind(
    progress: Progress, rewind: Rewind, epoch: int | None, epoch_before: int | None
) -> RewindFinding:
    return RewindFinding(
        topic=progress.topic,
        partition=progress.partition,
        at_ms=rewind.place.at_ms,
        log_partition=rewind.place.log_partition,
        log_offset=rewind.place.log_offset,
        from_offset=rewind.from_offset,
        to_offset=rewind.to_offset,
        member=str(rewind.member) if rewind.member else None,
        member_id=rewind.member.member_id if rewind.member else None,
        epoch=epoch,
        member_before=str(rewind.member_before) if rewind.member_before else None,
        epoch_before=epoch_before,
        words=_why_back(rewind, epoch, epoch_before),
    )


def _why_back(rewind: Rewind, epoch: int | None, epoch_before: int | None) -> str:
    """Return the probable cause of a rewind."""
    if rewind.member is None and epoch is not None:
        return "the partition had no owner: probably a manual reset"
    if rewind.member is None:
        return "the owner of the partition is not in the log"
    if rewind.member != rewind.member_before:
        return "a new owner continued from an older offset"
    if epoch != epoch_before:
        return "the same owner continued from an older offset after a rebalance"
    return "the same owner: probably a delayed older commit, or a seek backwards"
