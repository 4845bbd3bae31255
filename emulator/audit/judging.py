"""Why something was processed again or never, as far as the logs show it.

========================== ====================================================================
cause                      shown by
========================== ====================================================================
two owners at once         one was at work on the partition, and went on when the other had begun
offset expired             the newest record of the partition's offset was a tombstone: it had
                           expired, or somebody had deleted it
rewind                     a commit beyond the range had been overwritten by a lower one
rebalance between          a new generation came after the first processing, before the second
committed before processed a commit covered the range before anybody had gone on beyond it
position reset             nothing was committed when somebody went on beyond it
unknown                    none of these; without an offsets log only the first can be seen
========================== ====================================================================
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from emulator.audit.committed import GONE, Commits, Committed
from emulator.audit.partitions import Stretch
from emulator.audit.ranges import PartitionName
from emulator.audit.times import shown
from emulator.measure import Cause


class AuditCause(enum.StrEnum):
    """What two logs can show of why; where a run's ledger has the cause too, in its words."""

    TWO_OWNERS = Cause.TWO_OWNERS.value
    EXPIRED = Cause.EXPIRED.value
    REWIND = Cause.REWIND.value
    REBALANCE = "rebalance between"
    COMMITTED_AHEAD = Cause.COMMITTED_AHEAD.value
    RESET = Cause.RESET.value
    UNKNOWN = "unknown"


class Judgement(NamedTuple):
    """A cause and what shows it."""

    cause: AuditCause
    detail: str = ""


NOTHING_SHOWN = Judgement(AuditCause.UNKNOWN)
_NONE = Commits(np.array([], np.int64), np.array([], np.int64))


def judge_again(stretch: Stretch, name: PartitionName, log: Committed | None) -> Judgement:
    """Say why a range was processed again."""
    if stretch.overlap:
        return Judgement(AuditCause.TWO_OWNERS)
    if log is None or stretch.second_began_us is None:
        return NOTHING_SHOWN
    before = log.commits.get(name, _NONE).before(stretch.second_began_us)
    if len(before) and before[-1] == GONE:
        return Judgement(AuditCause.EXPIRED, "or deleted")
    newest = int(before[-1]) if len(before) else GONE
    highest = int(before.max(initial=GONE))
    if highest > stretch.first >= newest:
        return Judgement(AuditCause.REWIND, f"{highest} to {newest}")
    told = f"{newest} was committed" if newest != GONE else "nothing was committed"
    between = _rebalance(stretch, log)
    if between is None:
        return Judgement(AuditCause.UNKNOWN, told)
    return Judgement(AuditCause.REBALANCE, f"{between}; {told}")


def _rebalance(stretch: Stretch, log: Committed) -> str | None:
    """Name the generations that came between the two processings of a range."""
    first_us, began_us = stretch.first_us, stretch.second_began_us
    if first_us is None or began_us is None:
        return None
    numbers = [each.number for each in log.generations if first_us < each.at_us <= began_us]
    if not numbers:
        return None
    return (
        f"generation {numbers[-1]}"
        if len(numbers) == 1
        else f"generations {numbers[0]} to {numbers[-1]}"
    )


def judge_never(stretch: Stretch, name: PartitionName, log: Committed | None) -> Judgement:
    """Say why a range was never processed."""
    if log is None:
        return NOTHING_SHOWN
    commits = log.commits.get(name, _NONE)
    until = len(commits.offsets)
    if stretch.second_began_us is not None:
        until = len(commits.before(stretch.second_began_us))
    covering = np.flatnonzero(commits.offsets[:until] > stretch.first)
    if len(covering):
        place = int(covering[0])
        at = shown(int(commits.at_us[place]))
        return Judgement(AuditCause.COMMITTED_AHEAD, f"{commits.offsets[place]} at {at}")
    if until and commits.offsets[until - 1] == GONE:
        return Judgement(AuditCause.EXPIRED, "or deleted; reset beyond it")
    if not until:
        return Judgement(AuditCause.RESET, "nothing was committed")
    return Judgement(AuditCause.UNKNOWN, f"{commits.offsets[until - 1]} was committed")
