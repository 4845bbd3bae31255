"""Problems that lag shows: partitions without progress, overload, and lag that grows without end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emulator.metrics.members import busy_shares
from emulator.report.wording import counted, duration, figure
from emulator.scenario.estimates.loads import ENOUGH, Load
from emulator.scenario.units import US_PER_S
from emulator.verdicts.brokers import kept_by_brokers
from emulator.verdicts.facts import GroupEnd
from emulator.verdicts.group import Growth, Stalled
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, culprit, slow_record_text


def lag_problems(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the problems that lag shows."""
    yield from _unread(evidence)
    yield from _stalled(evidence)
    yield from _overload(evidence)
    yield from _lag_grows(evidence)


def _unread(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the backlogs that a group without committed offsets leaves unread."""
    for (group, topic), number in evidence.unread().items():
        unit = evidence.facts.lag_unit
        yield Verdict(
            id=VerdictId.BACKLOG_UNREAD,
            sentence=(
                f"{group} did not read {counted(number, unit)} of the backlog of {topic}: it had no "
                "committed offsets, and auto.offset.reset=latest begins at the end"
            ),
            numbers={"records": number},
            group=group,
            problem=True,
        )


# -- partitions without progress -----------------------------------------------------------------

STALLED_S: Final = 60


def _stalled(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the partitions that an owner has, but does not process."""
    for group in evidence.facts.groups:
        stalled = _stalled_partitions(evidence, group)
        if stalled:
            yield _stalled_verdict(evidence, group.group, stalled)


def _stalled_partitions(evidence: Evidence, group: GroupEnd) -> list[Stalled]:
    """Return the partitions of a group that stalled for long; none if a fault explains it."""
    facts = evidence.facts
    if facts.lasting or not group.running:
        return []
    rows = evidence.metrics.listings.get("without_owner", ())
    known = {str(row["partition"]) for row in rows if row["group"] == group.group}
    known |= {str(stuck.partition) for stuck in group.stuck}
    return [
        each
        for each in group.stalled
        if str(each.partition) not in known
        and facts.ended_us - _without_progress_since(each, evidence) >= STALLED_S * 1_000_000
    ]


def _without_progress_since(stalled: Stalled, evidence: Evidence) -> int:
    """Return since when a partition has waited for a record of its own, not for those of others."""
    if slow_record_text(evidence.facts.slow_records, str(stalled.partition), stalled.offset):
        return stalled.since_us
    return max(stalled.since_us, stalled.worked_us)


def _stalled_verdict(evidence: Evidence, group: str, stalled: list[Stalled]) -> Verdict:
    records = evidence.facts.slow_records
    worst, slow = culprit(stalled, records, lambda each: (-each.since_us, each.behind))
    waited_s = (evidence.facts.ended_us - worst.since_us) / 1_000_000
    sentence = (
        f"{worst.partition} made no progress at offset {worst.offset} in the last "
        f"{duration(waited_s)}, and {counted(worst.behind, evidence.facts.lag_unit)} wait"
    )
    sentence += slow
    more = len(stalled) - 1
    sentence += f"; so did {counted(more, 'other partition')}" if more else ""
    return Verdict(
        id=VerdictId.PARTITION_STALLED,
        sentence=sentence,
        numbers={
            "partitions": len(stalled),
            "offset": worst.offset,
            "waited_s": waited_s,
            "slow": bool(slow),
        },
        group=group,
        problem=True,
    )


# -- overload, and growing lag --------------------------------------------------------------------


def _overload(evidence: Evidence) -> Iterator[Verdict]:
    for load in evidence.loads:
        if not load.is_overload:
            continue
        yield Verdict(
            id=VerdictId.OVERLOAD,
            sentence=overload_text(load),
            numbers={
                "arrival_per_s": load.arrival,
                "capacity_per_s": load.capacity,
                "members": load.members,
                "partitions": load.partitions,
                "enough_members": load.members_for(),
                "hottest_per_s": load.hottest_arrival,
                "fastest_per_s": load.fastest,
                "hot": load.is_hot,
                "hot_key": load.key_arrival * ENOUGH > load.fastest,
                "uneven": load.is_uneven,
                "slow_member": load.has_slow_member,
                "fullest_partitions": load.fullest,
                "fullest_per_s": load.fullest_arrival,
                "topics": load.topics,
                "failing": load.failing,
                "store_bound": load.store == load.capacity,
                **_best(load),
            },
            group=load.group,
            problem=True,
        )


def overload_text(load: Load) -> str:
    """Return what arrives for an overloaded group, member or partition, and what it can process."""
    if load.is_uneven:
        return (
            f"at least one of the {counted(load.members, 'member')} of {load.group} gets "
            f"{load.fullest} of the {load.partitions} partitions: {figure(load.fullest_arrival)} records "
            f"arrive for it per second, and it can process at most "
            f"{figure(load.of_member)}{_failing(load)}: "
            f"{_end_of_overload(load, load.fullest_arrival, load.of_member)}"
        )
    if load.has_slow_member:
        return (
            f"{load.slowest}, the slowest of the {counted(load.members, 'member')} of {load.group}, gets at "
            f"least {load.fewest} of the {load.partitions} partitions: {figure(load.fewest_arrival)} records "
            f"arrive for it per second, and it can process at most {figure(load.slowest_speed)}"
            f"{_failing(load)}: {_end_of_overload(load, load.fewest_arrival, load.slowest_speed)}"
        )
    arrival, capacity = load.arrival, load.capacity
    processor, what = f"its {counted(load.members, 'member')}", f"records arrive for {load.group}"
    of_each = f" (rate is that of each of {load.partitions} partitions)" * (load.partitions > 1)
    each = _of_each_member(load)
    if not load.is_short:
        each = ""
        arrival, capacity = load.hottest_arrival, load.fastest
        processor = "the owner of a partition"
        key = f" ({figure(load.key_arrival)} with the key {load.hottest_key})"
        what = f"records arrive in {load.hottest}{key if load.hottest_key else ''}"
        of_each = ""
    elif load.store == capacity:
        processor, each = "its database, with one transaction a batch,", ""
    return (
        f"{figure(arrival)} {what} per second{of_each}, and {processor} can process at most "
        f"{figure(capacity)}{each}{_failing(load)}: {_end_of_overload(load, arrival, capacity)}"
    )


def _of_each_member(load: Load) -> str:
    """Return what one of several members can process, in brackets."""
    least, most = figure(min(load.speeds.values())), figure(max(load.speeds.values()))
    if load.members == 1:
        return ""
    return f" ({least} each)" if least == most else f" ({least} to {most} each)"


def _end_of_overload(load: Load, arrival: float, capacity: float) -> str:
    """Return where an overload leads to, by what arrives per second and what can be processed."""
    if arrival <= capacity:
        return "the lag that a fault or rebalance leaves hardly falls"
    if load.compacted:
        return "lag grows until compaction removes what it cannot process"
    return "lag grows without end"


def _best(load: Load) -> dict[str, float]:
    """Return the records of a hot key, or the number of members that would process more, if any."""
    if not load.best_members:
        return {"key_per_s": load.key_arrival} if load.hottest_key else {}
    return {"best_members": load.best_members, "best_per_s": load.best}


NOTABLE: Final = 0.1
"""A share of the members' time from which on failing records are named."""


def _failing(load: Load) -> str:
    """Return a clause about the records that take long or fail; empty: they take little time."""
    if load.failing < NOTABLE:
        return ""
    return f", as records that take long or fail, with their back-offs, need {load.failing:.0%} of the time"


GROWTH_S: Final = 60
PERIODS: Final = 4
"""Lag has to grow over so many periods of a rate that varies."""


def _lag_grows(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the groups whose lag grows although their members can process what arrives."""
    facts = evidence.facts
    loads = {load.group: load for load in evidence.loads if not load.is_overload}
    waiting = {str(row["group"]) for row in evidence.metrics.listings.get("without_owner", ())}
    kept = kept_by_brokers(evidence)
    for group in facts.groups if not facts.lasting else ():
        growth, load = group.growth, loads.get(group.group)
        if growth is None or load is None or group.group in waiting:
            continue
        explained = bool(group.loops or group.stuck or group.failures or group.thrown)
        explained |= not group.running or bool(_stalled_partitions(evidence, group))
        explained |= group.group in kept
        lasted_s = (facts.ended_us - growth.since_us) / 1_000_000
        if not explained and lasted_s >= max(GROWTH_S, PERIODS * load.period_s):
            yield _growth_verdict(evidence, group, load, growth)


def _growth_verdict(evidence: Evidence, group: GroupEnd, load: Load, growth: Growth) -> Verdict:
    lasted_s = (evidence.facts.ended_us - growth.since_us) / 1_000_000
    busy = _busy(evidence, load)
    return Verdict(
        id=VerdictId.LAG_GROWS,
        sentence=(
            f"lag of {load.group} grew from {growth.before:,} to "
            f"{counted(growth.after, evidence.facts.lag_unit)} in the last "
            f"{duration(lasted_s)}, although {figure(load.arrival)} records arrive per second and its "
            f"{counted(load.members, 'member')} can process {figure(load.capacity)}{_worked(busy)}"
        ),
        numbers={
            "before": growth.before,
            "after": growth.after,
            "lasted_s": lasted_s,
            "busiest": max(busy.values(), default=0.0),
            "idlest": min(busy.values(), default=0.0),
            "running": group.running,
            "members": load.members,
            "partitions": load.partitions,
            "topics": load.topics,
            "even_members": load.even_members,
            "failing": load.failing,
            "failed": len(evidence.facts.slow_records),
            **_of_work(load),
        },
        group=load.group,
        problem=True,
    )


def _of_work(load: Load) -> dict[str, float]:
    """Return what is known of work that depends on something."""
    found: dict[str, float] = {"different_work": True} if load.different_work else {}
    if load.depends:
        found |= {"late_per_s": load.late_capacity, "late_above": load.late_above}
        found |= {"arrival_per_s": load.arrival}
    return found


def _worked(busy: Mapping[str, float]) -> str:
    """Return how long the busiest and the least busy member worked, after a colon."""
    if not busy:
        return ""
    most, least = max(busy, key=lambda name: busy[name]), min(busy, key=lambda name: busy[name])
    if f"{busy[most]:.0%}" == f"{busy[least]:.0%}":
        return f": each worked {busy[most]:.0%} of its time"
    return f": {most} worked {busy[most]:.0%} of its time, {least} {busy[least]:.0%}"


def _busy(evidence: Evidence, load: Load) -> dict[str, float]:
    """Return the share of its running time that each member worked; nothing if work depends on the run."""
    times_us = {name: US_PER_S / speed for name, speed in load.speeds.items()}
    return {} if load.depends else busy_shares(evidence.metrics.tables, times_us, load.times)
