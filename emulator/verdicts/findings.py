"""Turn ledger, metrics and facts of a run into verdicts.

:func:`verdicts_of` is a pure function. A verdict has an id that does not change, a sentence, and the
numbers in it. An *inconclusive* verdict says that the run ended before its consequences: the metrics
in ``cut_short`` are then lower bounds, or without evidence.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.ledger.entries import Ledger
from emulator.metrics.catalogue import VALUES
from emulator.metrics.metrics import Metrics
from emulator.report.wording import counted, duration, joined
from emulator.verdicts.facts import Facts

MOST_NAMED = 3
"""Partitions, faults or consumers named in a sentence; the others are counted."""


class VerdictId(enum.StrEnum):
    """The id of a verdict, as in JSON."""

    FAULT_MISSED = "fault-missed"
    FAULT_LASTING = "fault-lasting"
    WITHOUT_OWNER = "without-owner"
    REBALANCING = "rebalancing"
    SESSION_RUNNING = "session-running"
    IN_FLIGHT = "in-flight"
    REPROCESSING = "reprocessing"
    NOTHING_PROCESSED = "nothing-processed"
    MEMBERS_DIED = "members-died"
    GROUP_DEAD = "group-dead"
    MEMBER_LOOP = "member-loop"
    PARTITION_STUCK = "partition-stuck"
    LONG_DOWNTIME = "long-downtime"
    FOUND_LATE = "found-late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One conclusion about a run."""

    id: VerdictId
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers in the sentence, by name."""

    group: str = ""
    """The group that it is about; empty: the run."""

    reasons: frozenset[str] = frozenset()
    """Why its members left, were removed, or ended."""

    problem: bool = False
    """Whether it names a dead, stuck or looping group or member."""

    cut_short: frozenset[str] = frozenset()
    """The metrics whose values the end of the run cut short; empty: the verdict is conclusive."""

    @property
    def inconclusive(self) -> bool:
        """Whether the run was too short, or did not do what the scenario says."""
        return bool(self.cut_short)


_INDEPENDENT = ("requests", "log_", "member_hours", "run_s", "unreadable_", "commit_messages_lost")
"""Beginnings of the names of metrics that do not follow from a group's recovery."""

EVERYTHING = frozenset(metric.name for metric in VALUES)
CONSEQUENCES = frozenset(name for name in EVERYTHING if not name.startswith(_INDEPENDENT))
"""Metrics of a group whose recovery is incomplete."""

OF_RECORDS_IN_FLIGHT = frozenset({"lost", "truncated", "processed", "backlog", "in_hand"})
OF_REPROCESSING = frozenset(
    {"reprocessed", "processed", *(name for name in EVERYTHING if name.startswith("lag_processed"))}
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that verdicts follow from."""

    ledger: Ledger
    metrics: Metrics
    facts: Facts


def verdicts_of(ledger: Ledger, metrics: Metrics, facts: Facts) -> tuple[Verdict, ...]:
    """Return the verdicts of a finished run, problems first, then what it was too short for."""
    evidence = Evidence(ledger, metrics, facts)
    found = [verdict for rule in RULES for verdict in rule(evidence)]
    return tuple(sorted(found, key=lambda verdict: not verdict.problem))


def inconclusive(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the sentences that say why a run is inconclusive; empty if it is conclusive."""
    return tuple(verdict.sentence for verdict in verdicts if verdict.inconclusive)


def cut_short(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the metrics that the end of a run cut short, each with the first reason."""
    reasons: dict[str, str] = {}
    for verdict in verdicts:
        for name in sorted(verdict.cut_short):
            reasons.setdefault(name, verdict.sentence)
    return reasons


def named(names: Sequence[str]) -> str:
    """Return the first names and the number of the others.

    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 others')
    """
    more = len(names) - MOST_NAMED
    others = [f"{more} other{'s' if more > 1 else ''}"] if more > 0 else []
    return joined([*names[:MOST_NAMED], *others])


# -- inconclusive --------------------------------------------------------------------------------


def _missed(evidence: Evidence) -> Iterator[Verdict]:
    missed = [each.fault for each in evidence.facts.missed]
    if missed:
        yield Verdict(
            id=VerdictId.FAULT_MISSED,
            sentence=f"{named(missed)} did not fire",
            numbers={"faults": len(missed)},
            cut_short=EVERYTHING,
        )


def _lasting(evidence: Evidence) -> Iterator[Verdict]:
    lasting = [f"{each.fault} ({each.target})" for each in evidence.facts.lasting]
    if lasting:
        yield Verdict(
            id=VerdictId.FAULT_LASTING,
            sentence=f"{named(lasting)} had not ended",
            numbers={"faults": len(lasting)},
            cut_short=CONSEQUENCES,
        )


def _without_owner(evidence: Evidence) -> Iterator[Verdict]:
    rows = evidence.metrics.listings.get("without_owner", ())
    for group in sorted({str(row["group"]) for row in rows}):
        mine = [row for row in rows if row["group"] == group]
        since_s = min(float(row["since_s"]) for row in mine)
        waited_s = evidence.facts.ended_us / 1_000_000 - since_s
        partitions = counted(len(mine), "partition")
        yield Verdict(
            id=VerdictId.WITHOUT_OWNER,
            sentence=f"{partitions} of {group} had no owner, for up to {duration(waited_s)}",
            numbers={"partitions": len(mine), "longest_s": waited_s},
            cut_short=CONSEQUENCES,
        )


def _rebalancing(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if group.rebalancing_since_us is None:
            continue
        lasted_s = (evidence.facts.ended_us - group.rebalancing_since_us) / 1_000_000
        yield Verdict(
            id=VerdictId.REBALANCING,
            sentence=f"a rebalance of {group.group} had run for {duration(lasted_s)}",
            numbers={"lasted_s": lasted_s},
            cut_short=CONSEQUENCES,
        )


def _session_running(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if group.absent:
            processes = "process" if len(group.absent) == 1 else "processes"
            yield Verdict(
                id=VerdictId.SESSION_RUNNING,
                sentence=(
                    f"{named(group.absent)} ended, and {group.group} had not removed the "
                    f"{processes} yet"
                ),
                numbers={"members": len(group.absent)},
                cut_short=CONSEQUENCES,
            )


def _in_flight(evidence: Evidence) -> Iterator[Verdict]:
    number = evidence.ledger.unresolved
    if number:
        verb = "was" if number == 1 else "were"
        yield Verdict(
            id=VerdictId.IN_FLIGHT,
            sentence=f"{counted(number, 'record')} in flight at a kill {verb} not processed yet",
            numbers={"records": number},
            cut_short=OF_RECORDS_IN_FLIGHT,
        )


def _reprocessing(evidence: Evidence) -> Iterator[Verdict]:
    number = evidence.ledger.to_reprocess
    if number:
        verb = "was" if number == 1 else "were"
        yield Verdict(
            id=VerdictId.REPROCESSING,
            sentence=(f"{counted(number, 'processed record')} {verb} about to be reprocessed"),
            numbers={"records": number},
            cut_short=OF_REPROCESSING,
        )


# -- dead, stuck and looping ---------------------------------------------------------------------

LONG_DOWNTIME_S = 60
LEAST_TIMES = 3
"""A member that left or was removed so often is in a loop."""


def _nothing_processed(evidence: Evidence) -> Iterator[Verdict]:
    groups = evidence.facts.groups
    if evidence.metrics["processed"] or not any(group.consumers for group in groups):
        return
    waiting = sum(group.waiting for group in groups)
    yield Verdict(
        id=VerdictId.NOTHING_PROCESSED,
        sentence=f"nothing was processed, and {counted(waiting, 'record')} waited",
        numbers={"waiting": waiting},
        problem=True,
        cut_short=CONSEQUENCES,
    )


def _dead(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if not group.failures:
            continue
        dead = sorted({failure.consumer for failure in group.failures})
        reasons = dict.fromkeys(failure.reason or "an error" for failure in group.failures)
        members = counted(group.consumers, "member")
        sentence = (
            f"{len(dead)} of {members} of {group.group} ended with an error: "
            f"{named(dead)} ({named(list(reasons))})"
        )
        if not group.running:
            sentence += f"; none runs any more, and {counted(group.waiting, 'record')} waited"
        yield Verdict(
            id=VerdictId.MEMBERS_DIED if group.running else VerdictId.GROUP_DEAD,
            sentence=sentence,
            numbers={"members": len(dead), "of": group.consumers, "waiting": group.waiting},
            group=group.group,
            reasons=frozenset(reasons),
            problem=True,
            cut_short=frozenset() if group.running else CONSEQUENCES,
        )


def _loops(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        loops = [loop for loop in group.loops if loop.times >= LEAST_TIMES]
        if loops:
            times = sum(loop.times for loop in loops)
            members = sorted({loop.consumer for loop in loops})
            reasons = list(dict.fromkeys(loop.reason for loop in loops))
            yield Verdict(
                id=VerdictId.MEMBER_LOOP,
                sentence=(
                    f"{named(members)} dropped out of {group.group} {times} times, although the "
                    f"process ran: {named(reasons)}"
                ),
                numbers={"times": times, "members": len(members)},
                group=group.group,
                reasons=frozenset(reasons),
                problem=True,
            )


def _stuck(evidence: Evidence) -> Iterator[Verdict]:
    records = evidence.facts.slow_records
    for group in evidence.facts.groups:
        if not group.stuck:
            continue
        worst = max(group.stuck, key=lambda stuck: (stuck.owners, stuck.behind))
        slow = [record for record in records if record.endswith(f" of {worst.partition}")]
        sentence = (
            f"{worst.partition} does not get past offset {worst.offset}: {worst.owners} owners in "
            f"a row started there, and {counted(worst.behind, 'record')} wait behind it"
        )
        sentence += f"; {slow[0]} is the one that takes long or fails" if slow else ""
        yield Verdict(
            id=VerdictId.PARTITION_STUCK,
            sentence=sentence,
            numbers={
                "partitions": len(group.stuck),
                "offset": worst.offset,
                "owners": worst.owners,
                "records": worst.behind,
            },
            group=group.group,
            problem=True,
        )


def _long_downtime(evidence: Evidence) -> Iterator[Verdict]:
    longest_s = evidence.metrics["downtime_max_s"]
    if longest_s < LONG_DOWNTIME_S:
        return
    table = evidence.metrics.tables["downtime.by_partition"]
    long = [name for name, down_s in table.items() if down_s >= LONG_DOWNTIME_S]
    partitions = counted(len(long), "partition")
    yield Verdict(
        id=VerdictId.LONG_DOWNTIME,
        sentence=(
            f"{partitions} had no owner that processes for a minute or more, one for "
            f"{duration(longest_s)}"
        ),
        numbers={
            "partitions": len(long),
            "longest_s": longest_s,
            "rebalance_s": evidence.metrics["time_to_stable_max_s"],
        },
        problem=True,
    )


FOUND_LATE_S = 30


def _found_late(evidence: Evidence) -> Iterator[Verdict]:
    for group, topic, after_us in evidence.facts.found:
        if after_us >= FOUND_LATE_S * 1_000_000:
            waited = duration(after_us / 1_000_000)
            yield Verdict(
                id=VerdictId.FOUND_LATE,
                sentence=f"new partitions of {topic} had an owner in {group} only after {waited}",
                numbers={"after_s": after_us / 1_000_000},
                group=group,
                problem=True,
            )


RULES: tuple[Callable[[Evidence], Iterator[Verdict]], ...] = (
    _nothing_processed,
    _dead,
    _loops,
    _stuck,
    _long_downtime,
    _found_late,
    _missed,
    _lasting,
    _without_owner,
    _rebalancing,
    _session_running,
    _in_flight,
    _reprocessing,
)
"""In order of the screen."""
