"""Sums for the data events of several equal periods (:mod:`emulator.events`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from assignors.types import TopicPartition
from emulator.events import (
    Appended,
    AppendsCounted,
    CommitAccepted,
    CommitAnswered,
    CommitsCounted,
    CommitSent,
    DataEvent,
    Event,
    Processed,
    ProgressCounted,
)
from emulator.world.periods.shift import Shift

_What = TypeVar("_What")

ByKind = Mapping[type, Sequence[tuple[int, Any]]]
"""The contents of the events of a period, each with its time (us), by their type."""

SUMMED_TO_THE_END = frozenset({Processed, Appended})
"""The events of which the sums include the last period."""

Work = list[tuple[int, Processed]]
"""What one consumer processed of one partition in a period, with times."""


def sums_of(
    events: Sequence[Event], first: Shift, adds: Shift, times: int
) -> list[tuple[int, DataEvent]]:
    """Return sums for the data events of *times* periods, each with its time (us).

    *events*: those of one period. *first*: how far the first of the periods is moved; *adds*: how
    far each is moved from the one before. Commits of the last period are not in the sums, nor those
    that are open where the first begins, or where the last but one ends: :func:`open_commits`.
    """
    later_us = first.later_us + (times - 1) * adds.later_us
    found = _by_kind(events)
    sent = [what for _, what in _of(found, CommitSent)]
    left = [what for _, what in _of(_by_kind(open_commits(events)[1]), CommitSent)]
    counts = _commits_in(sent, left, times - 1)
    ahead = _commits_in(filter(_is_ahead, sent), filter(_is_ahead, left), times - 1)
    last = {what.consumer: (at_us, what) for at_us, what in _of(found, CommitSent)}
    return [
        *(_progress(work, first, adds, times) for work in _work_of(found)),
        *(
            (
                at_us + later_us - adds.later_us,
                _commits(what, counts[what.consumer], ahead[what.consumer]),
            )
            for at_us, what in last.values()
            if counts[what.consumer]
        ),
        *((at_us + later_us, _appends(what, adds, times)) for at_us, what in _of(found, Appended)),
    ]


def can_sum(events: Sequence[Event], adds: Shift, leader_epochs: Mapping[int, int]) -> bool:
    """Return whether sums may stand for the data events of a period.

    Not for commits that take longer than a period or lower an offset, nor for appends of a leader
    that has been replaced. *leader_epochs*: by offsets partition.
    """
    found = _by_kind(events)
    return (
        _are_short(found)
        and all(
            what.leader_epoch == leader_epochs.get(what.log_partition)
            for _, what in _of(found, Appended)
        )
        and _rise([what for _, what in _of(found, CommitAccepted)], adds)
        and all(_goes_on(work, adds) for work in _work_of(found))
    )


def open_commits(events: Sequence[Event]) -> tuple[list[Event], list[Event]]:
    """Return the events of commits that are open where a period begins, and where it ends."""
    found = _by_kind(events)
    sent = {what.commit for _, what in _of(found, CommitSent)}
    answered = {what.commit for _, what in _of(found, CommitAnswered)}
    begun, ended = list[Event](), list[Event]()
    for event in events:
        what = event.what
        if isinstance(what, CommitSent | CommitAccepted | CommitAnswered):
            if what.commit not in sent:
                begun.append(event)
            elif what.commit not in answered:
                ended.append(event)
    return begun, ended


def _commits_in(sent: Iterable[CommitSent], left: Iterable[CommitSent], times: int) -> Counter[str]:
    """Return how many commits of each consumer so many periods have; *left*: open at the end of one."""
    counts, open_at_end = (Counter(what.consumer for what in each) for each in (sent, left))
    return Counter({name: times * n - open_at_end[name] for name, n in counts.items()})


def _by_kind(events: Iterable[Event]) -> ByKind:
    found = defaultdict[type, list[tuple[int, Any]]](list)
    for event in events:
        found[type(event.what)].append((event.at_us, event.what))
    return found


def _of(found: ByKind, kind: type[_What]) -> Sequence[tuple[int, _What]]:
    return found.get(kind, ())


def _work_of(found: ByKind) -> list[Work]:
    work: dict[tuple[str, TopicPartition], Work] = {}
    for at_us, what in _of(found, Processed):
        work.setdefault((what.consumer, what.partition), []).append((at_us, what))
    return list(work.values())


# -- what can be summed up ---------------------------------------------------------------------


def _are_short(found: ByKind) -> bool:
    """Return whether each commit was sent or answered within the period; those that were both, whole."""
    sent = Counter(what.commit for _, what in _of(found, CommitSent))
    accepted = Counter(what.commit for _, what in _of(found, CommitAccepted))
    answered = Counter(what.commit for _, what in _of(found, CommitAnswered))
    if not all(accepted[commit] for commit in sent.keys() & answered.keys()):
        return False
    if not accepted.keys() <= sent.keys() | answered.keys():
        return False
    return all(count == 1 for each in (sent, accepted, answered) for count in each.values())


def _is_ahead(sent: CommitSent) -> bool:
    pairs = zip(sent.offsets, sent.processed, strict=True)
    return any(offset > done >= 0 for (_, offset), done in pairs)


def _rise(accepted: Sequence[CommitAccepted], adds: Shift) -> bool:
    """Return whether no commit lowers an offset, also not one of the period before."""
    offsets: dict[tuple[str, TopicPartition], list[int]] = defaultdict(list)
    for what in accepted:
        for tp, offset in what.offsets:
            offsets[what.group, tp].append(offset)
    for (group, tp), found in offsets.items():
        again = found[0] + adds.records[group].get(tp, 0)
        if sorted([*found, again]) != [*found, again]:
            return False
    return True


def _goes_on(work: Work, adds: Shift) -> bool:
    """Return whether the processing of a partition begins where that of the period before ended."""
    (_, first), (_, last) = work[0], work[-1]
    return last.next_offset - first.first == adds.records[first.group].get(first.partition, 0)


# -- sums --------------------------------------------------------------------------------------


def _progress(work: Work, first: Shift, adds: Shift, times: int) -> tuple[int, ProgressCounted]:
    _, what = work[0]
    tp = what.partition
    more, every = first.records[what.group].get(tp, 0), adds.records[what.group].get(tp, 0)
    ends = tuple((each.next_offset + more, at + first.later_us) for at, each in work)
    progress = ProgressCounted(
        consumer=what.consumer,
        group=what.group,
        generation=what.generation,
        partition=tp,
        first=what.first + more,
        next_offset=ends[-1][0] + (times - 1) * every,
        began_us=what.began_us + first.later_us,
        ends=ends,
        every_us=adds.later_us,
    )
    return ends[-1][1] + (times - 1) * adds.later_us, progress


def _commits(what: CommitSent, commits: int, ahead: int) -> CommitsCounted:
    return CommitsCounted(consumer=what.consumer, group=what.group, commits=commits, ahead=ahead)


def _appends(what: Appended, adds: Shift, times: int) -> AppendsCounted:
    return AppendsCounted(
        log_partition=what.log_partition,
        group=what.group,
        records=what.records,
        size=what.size,
        times=times,
        every_us=adds.later_us,
    )
