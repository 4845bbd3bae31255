"""Hints for commits that were refused because their group rebalanced, whether they cost records or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emulator.ledger.entries import Cause, Entry, EntryKind, Ledger
from emulator.metrics.group_figures import figures_of
from emulator.metrics.metrics import Metrics
from emulator.report.hints.advice import given
from emulator.report.hints.cases import GivenHint, Hint
from emulator.report.hints.downtime import KEPT_BY_ID, are_back
from emulator.report.subject import Subject

IN_REBALANCE: Final = "REBALANCE_IN_PROGRESS"

EAGER = Hint(
    "eager",
    "Commits were refused during rebalances: members of a cooperative group work on while it rebalances. "
    "With an eager assignor (partition.assignment.strategy=sticky, roundrobin or range) a member gives up its "
    "partitions before it joins, and has nothing to commit until it has new ones (switching a running "
    "group takes two rolling restarts). Trade-off: each rebalance stops all partitions.",
)

CONSUMER_PROTOCOL = Hint(
    "consumer-protocol",
    "With group.protocol=consumer commits are accepted during a rebalance: no generation ends for all "
    "members at once (a running group can be migrated by a rolling restart). Trade-off: brokers of Kafka 4.0 or "
    "newer, and timeouts that the brokers set.",
)


def refused_in_rebalance(metrics: Metrics) -> bool:
    """Return whether rebalances refused commits, one for each of them at least."""
    refused = metrics.tables["commits_refused.by_error"].get(IN_REBALANCE, 0)
    return refused >= max(metrics["rebalances"], 1)


def refusal_hints(subject: Subject, metrics: Metrics, ledger: Ledger) -> Iterator[GivenHint]:
    """Yield what ends such refusals, for each cooperative group of the classic protocol that they harm.

    They cost records, or put them at risk: members that committed more than once in a rebalance worked
    on without a committed offset, and a crash would have repeated that. A single refused commit of a
    member, which its next one covers, does neither.
    """
    repeated = {entry.group for entry in ledger.of(EntryKind.REPROCESSED) if _is_refused(entry)}
    for group in subject.groups:
        figures = figures_of(metrics, group.id)
        if group.by_coordinator or not group.cooperative or not figures.rebalances:
            continue
        if group.id not in repeated and figures.refused <= figures.joined:
            continue
        if are_back(subject, group, figures):
            yield given(KEPT_BY_ID, subject, group)
        yield given(EAGER, subject, group)
        yield given(CONSUMER_PROTOCOL, subject, group)


def _is_refused(entry: Entry) -> bool:
    return entry.cause is Cause.REFUSED and IN_REBALANCE in entry.detail


CAUSE: Final = str(Cause.REFUSED)
"""The cause of the records that these refusals repeat."""
