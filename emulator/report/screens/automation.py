"""The figures of autoscalers and monitors on a run's screen; only some scenarios have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from emulator.metrics.metrics import Metrics
from emulator.report.wording import counted, duration, figure


def automation_lines(metrics: Metrics, moment: Callable[[int], str]) -> Iterator[tuple[str, str]]:
    """Yield the replicas of each group with an autoscaler and each monitor, with their titles."""
    groups = {row["group"] for name in ("replicas", "monitors") for row in metrics.listings[name]}
    several = len(groups) > 1
    for row in metrics.listings["replicas"]:
        name = f"{row['group']}: " if several else ""
        yield "replicas", name + _replicas(row, metrics)
    for row in metrics.listings["monitors"]:
        name = f"{row['monitor']} of {row['group']}" if several else row["monitor"]
        yield "monitor", f"{name}: {_monitor(row, metrics, moment)}"


def _replicas(row: Any, metrics: Metrics) -> str:
    steps = [step for step in metrics.listings["scalings"] if step["group"] == row["group"]]
    numbers = [number for step in steps for number in (step["before"], step["after"])]
    hours, idle = f"{figure(row['replica_hours'])} replica-hours", row["idle_hours"]
    if idle:
        hours += f", {figure(idle)} of these without a partition"
    if not steps:
        return f"{row['replicas_max']} from begin to end, no step of the autoscaler; {hours}"
    undone = f", {row['reversals']} of these undid a recent one" if row["reversals"] else ""
    text = f"{min(numbers)} to {max(numbers)} in {counted(len(steps), 'step')}{undone}; {hours}"
    again = sum(step["reprocessed"] for step in steps)
    return f"{text}; {counted(again, 'record')} reprocessed because of steps" if again else text


def _monitor(row: Any, metrics: Metrics, moment: Callable[[int], str]) -> str:
    """Return the alarms of a monitor: when, how many of them false, and what it missed."""
    if not row["sees_commits"]:
        unseen = f", {counted(row['stuck'], 'standstill')} missed" if row["stuck"] else ""
        return f"no alarm: it does not see offsets in a database{unseen}"
    text = counted(row["alarms"], "alarm")
    if row["alarms"]:
        begins = [
            each["from_s"]
            for each in metrics.listings["monitor_alarms"]
            if (each["group"], each["monitor"]) == (row["group"], row["monitor"])
        ]
        first = "the first " if len(begins) > 1 else ""
        text += f", {first}at {moment(round(min(begins) * 1_000_000))}, {row['false']} false"
    if not row["stuck"]:
        return f"{text}; no partition was stuck"
    stuck = counted(row["stuck"], "standstill")
    text += f"; {row['missed']} of {stuck} missed" if row["missed"] else f"; {stuck} noticed"
    delay_s = row["delay_max_s"]
    return text if delay_s is None else f"{text}, after {duration(delay_s)} at most"
