"""Approximate, before a run, when its members run and how often its groups rebalance.

Acts and faults take effect at the middle of their window. What follows from other events (an
eviction, a retry, a record that never ends) is not predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from assignors.values import dataclass
from emulator.scenario.deploys import is_deployment, replaced_together, started_by
from emulator.scenario.model import Fault, Scenario
from emulator.scenario.resolution import INSTANCE_ID, broker_settings, consumer_settings, members_of
from emulator.scenario.tables.acts import (
    AddPartitions,
    Close,
    CreateTopic,
    MoveCoordinator,
    RollingBrokerRestart,
    RollingRestart,
    Start,
    StopBroker,
    Subscribe,
)
from emulator.scenario.tables.cluster import Cluster
from emulator.scenario.tables.distributions import mean_us
from emulator.scenario.tables.faults import (
    After,
    Crash,
    CrashBroker,
    Cut,
    DrainNode,
    Hang,
    Pause,
    Step,
    Timed,
    ZoneOutage,
)
from emulator.scenario.tables.groups import Group, Member
from emulator.scenario.units import US_PER_MS, US_PER_S

FAILOVER_US = 10_000_000
"""About the time until members use the next coordinator: ``broker.session.timeout.ms``."""

LAG_RECOVERY_US = 60_000_000
"""About the time until lag is back at its level before a fault."""

SCALING_US = 600_000_000
"""About how long an autoscaler changes the number of members."""

SERVERS = ("broker", "controller", "coordinator of")
"""The beginnings of the names of brokers and of the controller."""

CHAIN_MAX = 100
"""The longest chain of faults that wait for each other."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The processes of one member."""

    living_us: int
    """Simulated time from start to end, over all its processes."""

    starts: int


Switch = tuple[int, bool]
"""A time, and whether a member starts (True) or ends."""


def first_members(group: Group) -> tuple[str, ...]:
    """Return the names of the members that start without an act or an autoscaler."""
    return tuple(member.name for member in group.members if member.start != "by act")


def replicas_of(group: Group) -> tuple[tuple[str, ...], ...]:
    """Return the members of each process of a group, by name."""
    names = [member.name for member in group.members]
    begins = range(0, len(names), group.threads)
    return tuple(tuple(names[begin : begin + group.threads]) for begin in begins)


def first_replicas(group: Group) -> tuple[tuple[str, ...], ...]:
    """Return the processes that start without an act or an autoscaler."""
    first = set(first_members(group))
    return tuple(replica for replica in replicas_of(group) if first.issuperset(replica))


def lifetimes(scenario: Scenario) -> dict[str, Lifetime]:
    """Return the lifetime of each member, by name."""
    switches = _switches(scenario)
    return {name: _lifetime(found, scenario.run_for) for name, found in switches.items()}


def rebalances(scenario: Scenario) -> dict[str, int]:
    """Return about how often each group rebalances, by group id; the first time included."""
    switches = _switches(scenario)
    found = {}
    for group in scenario.group:
        dynamic = [
            member.name
            for member in group.members
            if not group.static and INSTANCE_ID not in {*group.settings, *member.settings}
        ]
        changes = sum(at_us > 0 for name in dynamic for at_us, _ in switches[name])
        found[group.id] = 1 + changes + sum(_disturbances(scenario))
    return found


def _disturbances(scenario: Scenario) -> Iterator[int]:
    """Yield how many rebalances each fault causes that starts or ends no process."""
    for fault in scenario.fault:
        if isinstance(fault, Pause | Cut) and fault.lasting >= _session_us(scenario):
            yield 2
        elif isinstance(fault, AddPartitions | CreateTopic | Subscribe):
            yield 1


def _session_us(scenario: Scenario) -> int:
    """Return the shortest session timeout of a group's first member."""
    timeouts = (consumer_settings(g, g.members[0]).session_timeout_ms for g in scenario.group)
    return min(timeouts) * US_PER_MS


def live_us(scenario: Scenario) -> int:
    """Return about how long all members are live because of faults on coordinators.

    They are while a fault waits for a step of a member, while no coordinator serves, and while a
    member that was cut off still works.
    """
    waits = [fault.when.after for fault in scenario.fault if isinstance(fault.when, Step)]
    cuts = [fault.lasting for fault in scenario.fault if _cuts_off_members(fault)]
    return max(waits, default=0) + sum(cuts) + sum(_without_coordinator_us(scenario))


def _cuts_off_members(fault: Fault) -> TypeGuard[Cut]:
    """Return whether a fault drops messages of members; others are between brokers."""
    return isinstance(fault, Cut) and not all(party.startswith(SERVERS) for party in fault.parties)


def _without_coordinator_us(scenario: Scenario) -> Iterator[int]:
    cluster = scenario.cluster
    settings = broker_settings(cluster)
    alone = min(settings.offsets_topic_replication_factor, cluster.brokers) == 1
    for fault in scenario.fault:
        if isinstance(fault, CrashBroker | StopBroker):
            back_us = fault.restart_after or scenario.run_for
            yield back_us if alone else FAILOVER_US
        elif isinstance(fault, MoveCoordinator):
            yield load_us(cluster)


def disturbances(scenario: Scenario) -> list[int]:
    """Return about when something changes in a group, the start of the run included, in order (us)."""
    found = {0}
    for switches in _switches(scenario).values():
        found.update(at_us for at_us, _ in switches)
    for fault, begin_us in begins(scenario):
        found.add(begin_us)
        if isinstance(fault, Crash):
            found.add(begin_us + _session_us(scenario))
    return sorted(at_us for at_us in found if at_us < scenario.run_for)


def broker_changes(scenario: Scenario) -> int:
    """Return how often a broker starts or ends."""
    changes = 0
    for fault in scenario.fault:
        if isinstance(fault, CrashBroker | StopBroker):
            changes += 1 if fault.restart_after is None else 2
        elif isinstance(fault, RollingBrokerRestart):
            every = isinstance(fault.brokers, str)
            changes += 2 * (scenario.cluster.brokers if every else len(fault.brokers))
    return changes


def disturbed_us(scenario: Scenario) -> int:
    """Return how long faults that last disturb a run, in microseconds."""
    lasting = (getattr(fault, "lasting", 0) for fault in scenario.fault)
    return live_us(scenario) + sum(lasting)


def settled_us(scenario: Scenario) -> int:
    """Return about when a run without ``run_for`` has settled: a minute after its last fault."""
    ends = [begin_us + _length_us(scenario, fault) for fault, begin_us in begins(scenario)]
    waits = max(ends, default=0) + _session_us(scenario) + LAG_RECOVERY_US
    return min(waits, scenario.run_for)


def blocked_us(scenario: Scenario, group: Group) -> int:
    """Return about how long a group does nothing because one handler does not return.

    It waits for that member if it rebalances meanwhile, for at most ``max.poll.interval.ms``. A
    record whose processing takes longer than that blocks the group repeatedly.
    """
    slow = [poison for poison in group.poison if poison.offset is not None and poison.work_us(0)]
    hangs = [(each, begin) for each, begin in begins(scenario) if isinstance(each, Hang)]
    if not slow and not hangs:
        return 0
    limit_us = max(consumer_settings(group, m).max_poll_interval_ms for m in group.members)
    limit_us *= US_PER_MS
    if any(poison.work_us(0) >= limit_us for poison in slow):
        return scenario.run_for * 9 // 10
    switches = _switches(scenario)
    changes = sorted(at for m in group.members for at, _ in switches[m.name] if at)
    blocked = 0
    for fault, begin in hangs:
        if any(fault.member == m.name for m in group.members):
            end = min(begin + fault.lasting, scenario.run_for)
            first = next((at for at in changes if begin <= at < end), end)
            blocked += min(end - first, limit_us)
    return blocked


def load_us(cluster: Cluster) -> int:
    """Return how long a coordinator loads the backlog of its offsets partition."""
    by_size = cluster.offsets_backlog / cluster.load_bytes if cluster.load_bytes else 0.0
    records = cluster.offsets_backlog_records
    by_number = records / cluster.load_records if cluster.load_records else 0.0
    return int((by_size + by_number) * US_PER_S)


def begins(scenario: Scenario) -> list[tuple[Fault, int]]:
    """Return each fault and act, and about when it begins, in microseconds."""
    by_id = {each.id: each for each in scenario.fault}
    return [(each, _begin_us(scenario, each, by_id)) for each in scenario.fault]


def _begin_us(scenario: Scenario, fault: Timed, by_id: Mapping[str, Fault]) -> int:
    at_us = 0
    for _ in range(CHAIN_MAX):
        at_us += fault.delay
        if fault.at is not None:
            return at_us + fault.at
        if fault.between is not None:
            return at_us + sum(fault.between) // 2
        if not isinstance(fault.when, After):
            return at_us + (fault.when.after if fault.when is not None else 0)
        following = by_id.get(fault.when.fault)
        if following is None:
            break
        at_us += _length_us(scenario, following) if fault.when.phase == "ends" else 0
        fault = following
    return at_us


def _lifetime(switches: list[Switch], end_us: int) -> Lifetime:
    living, starts, since = 0, 0, None
    for at_us, on in sorted(switches):
        if at_us >= end_us:
            break
        if on and since is None:
            since, starts = at_us, starts + 1
        elif not on and since is not None:
            living, since = living + at_us - since, None
    return Lifetime(living + (end_us - since if since is not None else 0), starts)


def _switches(scenario: Scenario) -> dict[str, list[Switch]]:
    """Return when each member starts and ends, by name."""
    found: dict[str, list[Switch]] = {
        member.name: [] if member.start == "by act" else [(int(member.start), True)]
        for _, member in members_of(scenario)
    }
    for fault, begin_us in begins(scenario):
        for name, at_us, on in _effects(scenario, fault, begin_us):
            if at_us < scenario.run_for and name in found:
                found[name].append((at_us, on))
    for group in scenario.group:
        for name, at_us, on in _scaled(group, scenario.run_for):
            found[name].append((at_us, on))
    return found


def _scaled(group: Group, run_for: int) -> Iterator[tuple[str, int, bool]]:
    """Yield the members that an autoscaler starts, one after the other; without any, those it stops."""
    if group.autoscaler is None:
        return
    running = first_members(group)
    waiting = [member.name for member in group.members if member.name not in running]
    if waiting:
        until_us = min(run_for, SCALING_US)
        for number, name in enumerate(waiting, 1):
            yield name, number * until_us // (len(waiting) + 1), True
        return
    idle = running[group.autoscaler.min_replicas * group.threads :]
    for number, name in enumerate(reversed(idle), 1):
        yield name, number * run_for // (len(idle) + 1), False


def _effects(scenario: Scenario, fault: Timed, at_us: int) -> Iterator[tuple[str, int, bool]]:
    """Yield each member that a fault starts or ends: name, time, whether it starts."""
    if isinstance(fault, Crash | Close):
        for name in _in_process(scenario, fault.member):
            yield name, at_us, False
            if fault.restart_after is not None:
                away_us = fault.restart_after + int(mean_us(fault.start_up))
                yield name, at_us + away_us, True
    elif isinstance(fault, DrainNode | ZoneOutage):
        yield from _of_machines(scenario, fault, at_us)
    elif isinstance(fault, Start):
        yield fault.member, at_us, True
    elif isinstance(fault, RollingRestart):
        restarted = started_by(fault, scenario)
        together = _restarted_together(scenario, fault)
        for number, (_, member) in enumerate(restarted):
            begin_us = at_us + number // together * _restart_us(fault)
            yield member.name, begin_us + fault.pre_stop, False
            yield member.name, begin_us + _restart_us(fault) - fault.gap, True


def _of_machines(
    scenario: Scenario, fault: DrainNode | ZoneOutage, at_us: int
) -> Iterator[tuple[str, int, bool]]:
    """Yield the members that end, and start again, with their machine or rack."""
    if isinstance(fault, DrainNode):
        names = list(fault.members)
        away_us = fault.restart_after
        away_us = None if away_us is None else away_us + int(mean_us(fault.start_up))
    else:
        names = [m.name for g, m in members_of(scenario) if _rack(g, m) == fault.rack]
        away_us = fault.lasting
    for name in names:
        yield name, at_us, False
        if away_us is not None:
            yield name, at_us + away_us, True


def _in_process(scenario: Scenario, member: str) -> list[str]:
    """Return the members that run in the process of a member."""
    for group in scenario.group:
        names = [each.name for each in group.members]
        if member in names:
            return list(replicas_of(group)[names.index(member) // group.threads])
    return [member]


def _restarted_together(scenario: Scenario, fault: RollingRestart) -> int:
    """Return how many members a rolling restart replaces at the same time."""
    group = next(group for group in scenario.group if group.id == fault.group)
    replicas = len(started_by(fault, scenario)) // group.threads
    return group.threads * sum(replaced_together(fault, replicas))


def _rack(group: Group, member: Member) -> str:
    return consumer_settings(group, member).client_rack


def _length_us(scenario: Scenario, fault: Timed) -> int:
    """Return the time from the beginning of a fault to its end."""
    if isinstance(fault, RollingRestart):
        members = len(started_by(fault, scenario))
        rounds = -(-members // _restarted_together(scenario, fault))
        return rounds * _restart_us(fault)
    return getattr(fault, "lasting", None) or getattr(fault, "restart_after", None) or 0


def _restart_us(fault: RollingRestart) -> int:
    """Return about the time from the decision to stop one member to that for the next one."""
    ready_us = fault.ready_after + (fault.probe_every if fault.readiness == "assigned" else 0)
    stop_us = 0 if is_deployment(fault) else fault.pre_stop
    return stop_us + fault.down_time + int(mean_us(fault.start_up)) + ready_us + fault.gap
