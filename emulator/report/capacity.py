"""Capacity in reports: the load of each group, how busy its members are, and hot partitions.

A member is busy for the records that it processed times its mean work on a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emulator.metrics.members import busy_shares
from emulator.metrics.metrics import Metrics
from emulator.report.subject import FinishedRun, GroupFacts
from emulator.report.wording import counted, duration, figure
from emulator.verdicts.verdict import named

HIGH_LOAD = 0.7
"""The share of the capacity, or of a member's time, from which on reports show it."""

BUSY = 0.3
UNEVEN = 3.0
"""Reports show uneven work if a member is busy for that share, and so many times as long as another."""

LONG_START_S = 15.0
LONG_DRAIN_S = 10.0
LARGE_BACKLOG = 100
"""Shorter start-ups, and shorter or smaller backlogs, are not shown."""

PROCESSED = "processed.by_member"


def capacity_document(run: FinishedRun) -> list[dict[str, Any]]:
    """Return the capacity of each group as a JSON value; rates are in records per second."""
    return [_document(group, run.metrics) for group in run.subject.groups]


def _document(group: GroupFacts, metrics: Metrics) -> dict[str, Any]:
    busy = busy_shares(metrics.tables, group.work_by_member, group.work_by_topic)
    idle = metrics.tables["member_idle.by_member"]
    return {
        "group": group.id,
        "arrival_per_s": group.arrival_per_s,
        "capacity_per_s": group.capacity_per_s,
        "overload": group.overload or None,
        "members": [
            {
                "member": name,
                "processed": metrics.tables[PROCESSED].get(name, 0),
                "capacity_per_s": group.speeds.get(name),
                "busy": round(share, 4),
                "idle_s": idle.get(name, 0),
            }
            for name, share in busy.items()
        ],
        "hot_partitions": [dict(row) for row in _hot(group.id, metrics)],
    }


def capacity_lines(run: FinishedRun) -> Iterator[tuple[str, str]]:
    """Yield what is worth knowing about capacity, each with its title; often nothing."""
    for group in run.subject.groups:
        yield from _of_group(group, run.metrics)
    start_s = run.metrics["start_up_max_s"]
    if start_s >= LONG_START_S:
        first = f", the first record was begun after {duration(run.metrics['first_record_max_s'])}"
        until = f"every partition had an owner {duration(start_s)} after the first member started"
        yield "start-up", until + (first if run.metrics.has("first_record_max_s") else "")


def _of_group(group: GroupFacts, metrics: Metrics) -> Iterator[tuple[str, str]]:
    load = group.arrival_per_s / group.capacity_per_s if group.capacity_per_s else 0.0
    busy = busy_shares(metrics.tables, group.work_by_member, group.work_by_topic)
    least, most = min(busy.values(), default=0.0), max(busy.values(), default=0.0)
    hot = [f"{row['partition']} ({row['share']:.0%})" for row in _hot(group.id, metrics)]
    uneven = most >= BUSY and (hot or most > UNEVEN * least)
    if not uneven and max(load, most) < HIGH_LOAD:
        return
    if load:
        arrival = f"{figure(group.arrival_per_s)} records per second arrive for {group.id}"
        if (
            figure(group.peak_per_s) != figure(group.arrival_per_s)
            and group.peak_per_s > group.arrival_per_s
        ):
            arrival += f" (at most {figure(group.peak_per_s)})"
        yield "load", f"{load:.0%}: {arrival}, {_who(group)} {figure(group.capacity_per_s)}"
    if busy:
        yield "busy", _busy(busy, metrics.tables[PROCESSED])
    if hot:
        yield (
            "hot",
            f"{named(hot)} of the records of {group.id}: one member at a time processes a partition",
        )


def _who(group: GroupFacts) -> str:
    """Return what limits the capacity of a group, with a verb."""
    if group.store_bound:
        return "its database can commit"
    if group.autoscaler:
        return f"the {counted(group.max_running, 'member')} of its autoscaler can process"
    return f"its {counted(group.max_running, 'member')} can process"


def _hot(group: str, metrics: Metrics) -> list[Mapping[str, Any]]:
    return [row for row in metrics.listings["hot_partitions"] if row["group"] == group]


def _busy(busy: Mapping[str, float], processed: Mapping[str, int | float]) -> str:
    """Return how busy the busiest and the least busy member were."""
    most, least = max(busy, key=lambda name: busy[name]), min(busy, key=lambda name: busy[name])
    text = _member(most, busy, processed)
    return text if most == least else f"{text}; {_member(least, busy, processed)}"


def _member(name: str, busy: Mapping[str, float], processed: Mapping[str, int | float]) -> str:
    records = counted(int(processed.get(name, 0)), "record")
    return f"{name} {busy[name]:.0%} of its time ({records} processed)"


def drained(metrics: Metrics) -> str:
    """Return how long the largest backlog lasted; empty if it was short, or follows from a fault."""
    rows = metrics.listings["backlogs"]
    if not rows or metrics.listings["lag_recoveries"]:
        return ""
    large = [row for row in rows if row["peak"] >= LARGE_BACKLOG and row["drained_s"]]
    drained_s = max((row["drained_s"] for row in large), default=0.0)
    return f"drained to a tenth of it in {duration(drained_s)}" if drained_s >= LONG_DRAIN_S else ""
