"""Verdicts on autoscalers: flapping, replicas without work, and the records that steps repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId

MIN_REVERSALS = 3
"""Up and down, twice: fewer may follow a load that rose and fell."""

MIN_IDLE = 0.1
"""The share of replica-hours without a partition from which it is a problem."""

SHOWN_STEPS = 6


def scaling_problems(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the problems of each group that has an autoscaler."""
    steps = evidence.metrics.listings["scalings"]
    for row in evidence.metrics.listings["replicas"]:
        mine = [step for step in steps if step["group"] == row["group"]]
        yield from _flaps(row, mine)
        if row["members_max"] > row["partitions"]:
            yield from _idle(row)
        yield from _repeats(row, mine)


def _flaps(row: Mapping[str, Any], steps: list[Mapping[str, Any]]) -> Iterator[Verdict]:
    turns = [step for step in steps if step["reverses"]]
    if len(turns) < MIN_REVERSALS:
        return
    numbers = [steps[0]["before"], *(step["after"] for step in steps)]
    more = "" if len(numbers) <= SHOWN_STEPS else ", …"
    path = ", ".join(map(str, numbers[:SHOWN_STEPS])) + more
    lasted_s = turns[-1]["at_s"] - turns[0]["at_s"]
    every_s = lasted_s / (len(turns) - 1)
    yield Verdict(
        id=VerdictId.AUTOSCALER_FLAPS,
        sentence=(
            f"the autoscaler of {row['group']} flaps: {counted(len(turns), 'step')} of {len(steps)} undid "
            f"a recent one, one every {duration(every_s)} on average ({path} replicas)"
        ),
        numbers={"reversals": len(turns), "steps": len(steps), "every_s": every_s},
        group=row["group"],
        problem=True,
    )


def _idle(row: Mapping[str, Any]) -> Iterator[Verdict]:
    paid, idle = row["replica_hours"], row["idle_hours"]
    if paid and idle >= MIN_IDLE * paid:
        yield Verdict(
            id=VerdictId.IDLE_REPLICAS,
            sentence=(
                f"replicas of {row['group']} had no partition for {idle / paid:.0%} of their time: "
                f"{idle:.2f} of {paid:.2f} replica-hours"
            ),
            numbers={"idle_hours": idle, "replica_hours": paid},
            group=row["group"],
            problem=True,
        )


def _repeats(row: Mapping[str, Any], steps: list[Mapping[str, Any]]) -> Iterator[Verdict]:
    costly = [step for step in steps if step["reprocessed"]]
    records = sum(step["reprocessed"] for step in costly)
    if records:
        yield Verdict(
            id=VerdictId.SCALING_REPEATS,
            sentence=(
                f"{len(costly)} of {counted(len(steps), 'step')} of the autoscaler of {row['group']} "
                f"repeated {counted(records, 'record')}"
            ),
            numbers={"records": records, "steps": len(costly)},
            group=row["group"],
            problem=True,
        )
