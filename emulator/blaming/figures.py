"""The figures by which an explanation is compared with what was seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from operator import attrgetter
from statistics import median

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.blaming.evidence import Committed, Evidence, Work, grouped

SECOND = 1_000_000

RELATIVE = 0.25
"""The part of a value by which runs of one incident differ anyway."""

NEVER_S = -5.0
"""Stands for a time of something that did not happen."""

Figures = dict[str, float]
"""Values by the name of their figure."""

Range = tuple[float, float, float]
"""The smallest, median and largest value of some runs."""


TIMES = 100
"""A count that is smaller by this factor is as good as none: how many there are is partly chance."""

CONTRADICTION = 0.3
"""What a contradicted figure adds to the distance of an explanation: it takes a quarter of its fit."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its words, its unit, and the difference that runs with one cause may have."""

    words: str
    unit: str
    tolerance: float
    disproves: float | None = None
    """From this value on, it cannot be where an explanation has none; None: it disproves nothing."""

    def is_contradicted(self, lowest: float, highest: float, seen: float) -> bool:
        """Return whether *seen* cannot be, where runs have values from *lowest* to *highest*."""
        if self.disproves is None or lowest <= seen <= highest:
            return False
        near = lowest if seen < lowest else highest
        less, more = sorted((seen, near))
        return more >= self.disproves and more >= TIMES * less

    def difference(self, found: float, seen: float) -> float:
        """Return the difference of two values in units of the tolerance, wider for large values."""
        return abs(found - seen) / (self.tolerance + RELATIVE * max(abs(found), abs(seen)))


BEFORE: Mapping[str, Figure] = {
    "commit_every_s": Figure("time between two commits of a partition", "s", 0.05),
    "commit_delay_s": Figure("from a record to the commit behind it", "s", 1),
    "uncommitted": Figure("records processed and not committed at a commit", "", 1.5),
    "ahead": Figure("commits of records that were not processed", "%", 4, disproves=30),
}
"""Of the time in which nothing happens: they tell commit policies apart."""

AFTER: Mapping[str, Figure] = {
    "repeated": Figure("records reprocessed", "", 8, disproves=16),
    "repeated_by_others": Figure("of them by another consumer", "%", 15),
    "repeated_by_former": Figure("of them by a former owner", "%", 15),
    "repeated_partitions": Figure("partitions with repeats", "", 0.8),
    "skipped": Figure("records never processed", "", 2, disproves=1),
    "generations": Figure("new generations", "", 0.6, disproves=1),
    "first_generation_s": Figure("until the first of them", "s", 1.5),
    "last_generation_s": Figure("until the last of them", "s", 2),
    "joins": Figure("new member ids", "", 0.4, disproves=1),
    "longest_stall_s": Figure("longest stop of a partition", "s", 1.2),
    "stalled_partitions": Figure("partitions that stop", "", 1),
    "median_stall_s": Figure("median of the longest stops", "s", 1),
    "silent_commits_s": Figure("longest time without a commit of a partition", "s", 2),
    "returned_s": Figure("until the stopped consumer processes again", "s", 1.5),
}
"""Of the incident itself."""

FIGURES: Mapping[str, Figure] = {**BEFORE, **AFTER}

CLOCKS_DIFFER_US = 100_000
"""The clocks of a consumer and of a broker may differ by this time."""

EARLIER_US = 500_000
"""An incident that begins with a generation may begin so much earlier in a run: a member that looks for
changes of topics twice a second finds one at any time within that."""

_AT_ONCE_US = 50_000
"""Commits that follow within this time are those of one request, or of one moment."""

_ONE_COMMIT = 50.0
"""The tolerance (percent) of a share of one commit; that of more falls with the root of their number."""

_PARTITION = attrgetter("partition")


def figures_for(
    commits: Sequence[Committed], formed_us: int, onset_us: int
) -> Mapping[str, Figure]:
    """Return the figures, with a wider tolerance where a part of few commits is one of them.

    A consumer with a record in hand at one of three commits says little about the share of such
    commits. Commits at the same time count once. Where records are not rare, the last one before any
    commit has just ended.
    """
    times = sorted(each.at_us for each in commits if formed_us < each.at_us < onset_us)
    apart = sum(two - one > _AT_ONCE_US for one, two in pairwise([0, *times]))
    ahead = BEFORE["ahead"]
    tolerance = max(ahead.tolerance, _ONE_COMMIT / sqrt(max(1, apart)))
    wide = replace(ahead, tolerance=tolerance, disproves=max(30.0, 3 * tolerance))
    found = {**FIGURES, "ahead": wide}
    if not _are_rare(commits):
        del found["commit_delay_s"]
    return found


def _are_rare(commits: Sequence[Committed]) -> bool:
    """Return whether most partitions have one new record at most from one commit to the next."""
    each = grouped(commits, _PARTITION).values()
    steps = [two.offset - one.offset for some in each for one, two in pairwise(some)]
    return bool(steps) and median(steps) <= 1


def differences(found: Figures, seen: Figures, figures: Mapping[str, Figure] = FIGURES) -> Figures:
    """Return the difference of every figure in units of its tolerance, the largest first."""
    off = {name: each.difference(found[name], seen[name]) for name, each in figures.items()}
    return dict(sorted(off.items(), key=lambda each: -each[1]))


def contradicted(
    found: Mapping[str, Range], seen: Figures, figures: Mapping[str, Figure] = FIGURES
) -> tuple[str, ...]:
    """Return the figures that cannot be as seen; *found*: their values in the runs."""
    return tuple(
        name
        for name, each in figures.items()
        if each.is_contradicted(found[name][0], found[name][2], seen[name])
    )


def misfits(
    found: Mapping[str, Range], seen: Figures, figures: Mapping[str, Figure] = FIGURES
) -> list[str]:
    """Return the figures that do not fit: the contradicted ones, then others, the worst first.

    A figure does not fit if it differs from all values of the runs by more than its tolerance.
    """
    first = contradicted(found, seen, figures)
    off = {
        name: each.difference(min(max(seen[name], found[name][0]), found[name][2]), seen[name])
        for name, each in figures.items()
        if name not in first
    }
    others = sorted((name for name in off if off[name] > 1), key=lambda name: -off[name])
    return [*first, *others]


def before(evidence: Evidence, formed_us: int, onset_us: int) -> Figures:
    """Return the figures of the quiet time between two instants."""
    commits = [each for each in evidence.commits if formed_us < each.at_us < onset_us]
    behind = _behind(evidence.work, commits)
    return {
        "commit_every_s": _commit_every_s(evidence.commits, commits, onset_us - formed_us),
        "commit_delay_s": _commit_delay_s(evidence.work, commits),
        "uncommitted": median(behind) if behind else -1,
        "ahead": _percent(sum(each < 0 for each in behind), len(behind)),
    }


def _commit_every_s(
    commits: Sequence[Committed], quiet: Sequence[Committed], quiet_us: int
) -> float:
    """Return the usual time between two commits, that of the quiet time if it is long enough.

    In a time shorter than two of them, most partitions have one commit, and those of a rebalance at its
    beginning or end follow one another sooner.
    """
    usual_s = usual_interval_s(commits)
    is_long = quiet_us >= 2 * usual_s * SECOND
    return usual_interval_s(quiet) if is_long and intervals_s(quiet) else usual_s


def _commit_delay_s(work: Sequence[Work], commits: Sequence[Committed]) -> float:
    """Return the median time from the end of a record to the first commit behind it; -1 if there is none.

    Where records are rare, it tells commits at an interval from those after each record.
    """
    ended = {(each.partition, each.next_offset): each.ended_us for each in reversed(work)}
    first = {(each.partition, each.offset): each.at_us for each in reversed(commits)}
    delays = [max(0, at_us - ended[place]) for place, at_us in first.items() if place in ended]
    return median(delays) / SECOND if delays else -1


def usual_interval_s(commits: Sequence[Committed]) -> float:
    """Return the upper quartile of times between two commits of one partition; an hour if none has two.

    Commits at a rebalance make single times shorter, and none makes one longer.
    """
    times = sorted(intervals_s(commits))
    return times[len(times) * 3 // 4] if times else 3_600


def intervals_s(commits: Sequence[Committed]) -> list[float]:
    """Return the times between two commits of one partition."""
    return [
        (two.at_us - one.at_us) / SECOND
        for each in grouped(commits, _PARTITION).values()
        for one, two in pairwise(each)
    ]


def _behind(work: Sequence[Work], commits: Sequence[Committed]) -> list[int]:
    """Return for each commit how many processed records it does not cover; negative: is ahead.

    A record that ends shortly after a commit is not ahead of it: clocks of hosts differ as much.
    """
    ends = grouped(work, _PARTITION)
    times = {partition: [done.ended_us for done in each] for partition, each in ends.items()}

    def behind(commit: Committed, at_us: int) -> int | None:
        place = bisect_right(times.get(commit.partition, []), at_us)
        return ends[commit.partition][place - 1].next_offset - commit.offset if place else None

    found = []
    for commit in commits:
        records = behind(commit, commit.at_us)
        if records is not None and records < 0:
            records = min(0, behind(commit, commit.at_us + CLOCKS_DIFFER_US) or 0)
        if records is not None:
            found.append(records)
    return found


def after(evidence: Evidence, onset_us: int, stopped: Sequence[str]) -> Figures:
    """Return the figures of the incident; *stopped*: the consumers that stopped at its beginning."""
    repeats = repeats_of(evidence.work)
    late = [each for each in repeats if each.at_us >= onset_us]
    records = sum(each.records for each in late)
    generations = [at_us for at_us in evidence.generations_us if at_us >= onset_us - EARLIER_US]
    stalls = sorted(_stalls(evidence.work, onset_us).values())
    return {
        "repeated": records,
        "repeated_by_others": _percent(
            sum(each.records for each in late if each.by_another), records
        ),
        "repeated_by_former": _percent(
            sum(each.records for each in late if each.by_former), records
        ),
        "repeated_partitions": len({each.partition for each in late}),
        "skipped": _skipped(evidence.work, onset_us),
        "generations": len(generations),
        "first_generation_s": (generations[0] - onset_us) / SECOND if generations else NEVER_S,
        "last_generation_s": (generations[-1] - onset_us) / SECOND if generations else NEVER_S,
        "joins": sum(each.at_us >= onset_us for each in evidence.joins),
        "longest_stall_s": stalls[-1] if stalls else 0,
        "stalled_partitions": sum(stall > 1.5 for stall in stalls),
        "median_stall_s": median(stalls) if stalls else 0,
        "silent_commits_s": _silent_commits(evidence, onset_us),
        "returned_s": _returned(evidence.work, onset_us, stopped),
    }


@dataclass(frozen=True, slots=True)
class Repeat:
    """Records of one piece of work that had been processed before."""

    at_us: int
    partition: TopicPartition
    records: int
    by_another: bool
    """By another consumer than the one that processed them first."""

    by_former: bool
    """By a consumer that began them before another one finished records of the partition."""


def repeats_of(work: Sequence[Work]) -> list[Repeat]:
    """Return what was reprocessed, in order of time."""
    done: dict[TopicPartition, list[Work]] = {}
    reached: dict[TopicPartition, int] = {}
    found = []
    for each in work:
        earlier = done.setdefault(each.partition, [])
        end = reached.get(each.partition, each.first)
        if end > each.first:
            found.append(_repeat(each, earlier, min(end, each.next_offset) - each.first))
        earlier.append(each)
        reached[each.partition] = max(end, each.next_offset)
    return found


def _repeat(work: Work, earlier: Sequence[Work], records: int) -> Repeat:
    first = next(one for one in earlier if one.next_offset > work.first)
    others = (one.ended_us for one in reversed(earlier) if one.consumer != work.consumer)
    former = work.began_us < next(others, 0)
    return Repeat(work.ended_us, work.partition, records, first.consumer != work.consumer, former)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0


def _skipped(work: Sequence[Work], onset_us: int) -> int:
    """Return how many records between those processed were not.

    0 where offsets were skipped before the incident, too: compacted and transactional topics have
    offsets without records.
    """
    missing = earlier = 0
    for each in grouped(work, _PARTITION).values():
        each.sort(key=lambda done: done.first)
        reached = each[0].first
        for done in each:
            gap = max(0, done.first - reached)
            missing += gap
            earlier += gap if done.ended_us < onset_us else 0
            reached = max(reached, done.next_offset)
    return 0 if earlier else missing


def _stalls(work: Sequence[Work], onset_us: int) -> dict[TopicPartition, float]:
    """Return the longest time without a finished record of each partition, in seconds."""
    found = {}
    for partition, each in grouped(work, _PARTITION).items():
        times = [done.ended_us for done in each]
        place = max(0, bisect_right(times, onset_us) - 1)
        pauses = [two - one for one, two in pairwise([*times[place:], work[-1].ended_us])]
        found[partition] = max(pauses, default=0) / SECOND
    return found


def _silent_commits(evidence: Evidence, onset_us: int) -> float:
    late = [commit for commit in evidence.commits if commit.at_us >= onset_us]
    end_us = evidence.work[-1].ended_us
    pauses = [
        two - one
        for each in grouped(late, _PARTITION).values()
        for one, two in pairwise([onset_us, *(commit.at_us for commit in each), end_us])
    ]
    return max(pauses, default=end_us - onset_us) / SECOND


def _returned(work: Sequence[Work], onset_us: int, stopped: Sequence[str]) -> float:
    """Return when the consumer that stopped first works again, in seconds; -5 if it does not."""
    if not stopped:
        return 0
    later = [
        one.ended_us
        for one in work
        if one.consumer == stopped[0] and one.ended_us > onset_us + SECOND // 5
    ]
    return (later[0] - onset_us) / SECOND if later else NEVER_S
