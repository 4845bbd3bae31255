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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One conclusion about a run."""

    id: VerdictId
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers in the sentence, by name."""

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
    """Return the verdicts of a finished run, the inconclusive ones first."""
    evidence = Evidence(ledger, metrics, facts)
    found = [verdict for rule in RULES for verdict in rule(evidence)]
    return tuple(sorted(found, key=lambda verdict: not verdict.inconclusive))


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


RULES: tuple[Callable[[Evidence], Iterator[Verdict]], ...] = (
    _missed,
    _lasting,
    _without_owner,
    _rebalancing,
    _session_running,
    _in_flight,
    _reprocessing,
)
"""In order of the screen."""
