"""Verdicts on monitors: standstills that they missed, and alarms without one."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId


def monitor_problems(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each monitor that missed something or gave false alarms."""
    for row in evidence.metrics.listings["monitors"]:
        missed, false, stuck = row["missed"], row["false"], row["stuck"]
        if not missed and not false:
            continue
        delay = row["delay_max_s"]
        late = "" if delay is None else f"; it noticed the others after {duration(delay)} at most"
        yield Verdict(
            id=VerdictId.MONITOR_WRONG,
            sentence=(
                f"the monitor {row['monitor']} of {row['group']} missed {missed} of "
                f"{counted(stuck, 'standstill')} of a partition and gave "
                f"{counted(false, 'false alarm')}{late}"
            ),
            numbers={"missed": missed, "stuck": stuck, "false": false},
            group=row["group"],
            problem=True,
        )
