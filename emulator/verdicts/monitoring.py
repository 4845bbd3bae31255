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
        noticed = ""
        if stuck:
            late = "" if delay is None else f", after {duration(delay)} at most,"
            noticed = f"noticed {stuck - missed} of {counted(stuck, 'standstill')}{late} and "
        yield Verdict(
            id=VerdictId.MONITOR_WRONG,
            sentence=(
                f"the monitor {row['monitor']} of {row['group']} {noticed}gave "
                f"{counted(false, 'false alarm')}"
                + ("" if row["sees_commits"] else ": it does not see offsets in a database")
            ),
            numbers={
                "missed": missed,
                "stuck": stuck,
                "false": false,
                "sees_commits": row["sees_commits"],
                "window": row["window"],
            },
            group=row["group"],
            problem=True,
        )
