"""Find the cause of a reprocessed or lost range, if the logs show it.

========================== ====================================================================
cause                      shown by
========================== ====================================================================
two owners at once         the first owner continued after the second one had begun
offset expired             the newest record of the partition's offset was a tombstone: the
                           offset had expired or was deleted
rewind                     a commit beyond the range had been overwritten by a lower one
rebalance between          a new generation came between the two processings
committed before processed a commit covered the range before any consumer continued beyond it
position reset             no offset was committed when a consumer continued beyond it
unknown                    none of these; without an offsets log only the first can be seen
========================== ====================================================================

The events of a run have the causes of that run's ledger (:mod:`emulator.logs.audit.run_events`).
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from emulator.ledger.entries import Cause
from emulator.logs.audit.columns import shown
from emulator.logs.audit.commits import GONE, NO_COMMITS, Committed
from emulator.logs.audit.partitions import AffectedRange
from emulator.logs.audit.ranges import PartitionName


class AuditCause(enum.StrEnum):
    """The causes that two logs can show; those that a run's ledger has too share its names."""

    TWO_OWNERS = Cause.TWO_OWNERS.value
    EXPIRED = Cause.EXPIRED.value
    REWIND = Cause.REWIND.value
    REBALANCE = "rebalance between"
    COMMITTED_AHEAD = Cause.COMMITTED_AHEAD.value
    RESET = Cause.RESET.value
    UNKNOWN = "unknown"


class Judgement(NamedTuple):
    """A cause and its evidence."""

    cause: AuditCause | Cause
    """The causes of a run's ledger occur in audits of its events only."""

    detail: str = ""


NOTHING_SHOWN = Judgement(AuditCause.UNKNOWN)


def judge_again(affected: AffectedRange, name: PartitionName, log: Committed | None) -> Judgement:
    """Return why a range was reprocessed."""
    if affected.overlap:
        return Judgement(AuditCause.TWO_OWNERS)
    if log is None or affected.second_began_us is None:
        return NOTHING_SHOWN
    commits = log.commits.get(name, NO_COMMITS)
    count = commits.count_by(affected.second_began_us)
    newest, highest = commits.newest(count), commits.top(count)
    if count and newest == GONE:
        return Judgement(AuditCause.EXPIRED, "or deleted")
    if highest > affected.first >= newest:
        return Judgement(AuditCause.REWIND, f"{highest} to {newest}")
    detail = f"{newest} was committed" if newest != GONE else "nothing was committed"
    between = _rebalance(affected, log)
    if between is None:
        return Judgement(AuditCause.UNKNOWN, detail)
    return Judgement(AuditCause.REBALANCE, f"{between}; {detail}")


def _rebalance(affected: AffectedRange, log: Committed) -> str | None:
    """Return the generations between the two processings of a range, as text."""
    first_us, began_us = affected.first_us, affected.second_began_us
    if first_us is None or began_us is None:
        return None
    at_us = attrgetter("at_us")
    low = bisect_right(log.generations, first_us, key=at_us)
    high = bisect_right(log.generations, began_us, key=at_us)
    if low >= high:
        return None
    first, last = log.generations[low].number, log.generations[high - 1].number
    return f"generation {first}" if high - low == 1 else f"generations {first} to {last}"


def judge_never(affected: AffectedRange, name: PartitionName, log: Committed | None) -> Judgement:
    """Return why a range was never processed."""
    if log is None:
        return NOTHING_SHOWN
    commits = log.commits.get(name, NO_COMMITS)
    count = len(commits.offsets)
    if affected.second_began_us is not None:
        count = commits.count_by(affected.second_began_us)
    covering = commits.first_beyond(affected.first, count)
    if covering is not None:
        at = shown(int(commits.at_us[covering]))
        return Judgement(AuditCause.COMMITTED_AHEAD, f"{commits.offsets[covering]} at {at}")
    if not count:
        return Judgement(AuditCause.RESET, "nothing was committed")
    if commits.newest(count) == GONE:
        return Judgement(AuditCause.EXPIRED, "or deleted; reset beyond it")
    return Judgement(AuditCause.UNKNOWN, f"{commits.newest(count)} was committed")
