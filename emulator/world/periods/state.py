"""The state of a run at an instant, compared with earlier ones.

Of all requests, only heartbeats and commits may be without a response then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.scenario.estimates import periods
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.shards import Shard
from emulator.world.consumer.blueprints import Blueprint
from emulator.world.consumer.epoch import Unwritten
from emulator.world.consumer.handling.handler import Doing
from emulator.world.consumer.process import Process
from emulator.world.kernel import Deadlines
from emulator.world.periods import in_flight
from emulator.world.world import World
from protocols.consumer.classic.application import COMMIT_SYNC
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.periods import NEXT_BEAT, SESSION_END, deadlines_of
from protocols.consumer.metadata import METADATA, due_us
from protocols.consumer.requests import OpenRequest
from protocols.groups.classic.group import SESSION
from protocols.groups.deletion import EXPIRE_OFFSETS

Offsets = Mapping[TopicPartition, int]
Timers = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that decides what a run does next, and what moves with every period."""

    at_us: int
    shape: tuple[object, ...]
    """All that a period leaves as it is; times and offsets in it are relative."""

    timers: tuple[Timers, ...]
    """The deadlines of each process, those of its heartbeat thread included, and each coordinator."""

    positions: Mapping[str, Offsets]
    """By group."""

    committed: Mapping[str, Offsets]
    unwritten: Mapping[str, Mapping[TopicPartition, Unwritten]]
    """By consumer: finished records that are in no event yet, relative to its positions and to the time."""

    requests: Mapping[str, int]
    """By process: its next correlation id."""

    counts: Counter[str]
    in_flight: Mapping[str, OpenRequest]
    """The heartbeats and commits without a response yet, by name."""

    metadata_us: tuple[int, ...]
    """When each process next requests metadata: this does not recur with a period."""


def state_of(world: World, now: int) -> State | None:
    """Return the state of a run; None: it is not regular, or other requests are in flight.

    What consumers do by arithmetic is played up to now, and timeouts that nothing awaits are
    cancelled. A poll that waits by arithmetic has the same state as one that waits by a timer.
    """
    processes = world.consumers.everyone()
    if not _is_undisturbed(world):
        return None
    shape: list[object] = [_lag_phase_us(processes, now)]
    positions: dict[str, dict[TopicPartition, int]] = {g.id: {} for g in world.run.scenario.group}
    waits: list[Timers] = []
    for process in processes:
        found = _relative(process, now, waits)
        if found is None:
            return None
        shape.append(found)
        positions[process.blueprint.group.id].update(process.client.consumer.positions.offsets)
    for shard in world.offsets_topic:
        found = _of_shard(shard, now)
        if found is None:
            return None
        shape.append(found)
    numbers = {p.name: p.client.state.reads.next_correlation_id for p in processes}
    open_requests = in_flight.open_requests(world)
    on_its_way = in_flight.relative(world, set(open_requests), numbers, positions, now)
    if on_its_way is None:
        return None
    shape.append(on_its_way)
    return State(
        at_us=now,
        shape=tuple(shape),
        timers=_deadlines(world, waits),
        positions=positions,
        committed={group: world.committed(group) for group in positions},
        unwritten={each.blueprint.name: _unwritten(each, now) for each in processes},
        requests=numbers,
        in_flight=open_requests,
        counts=Counter(world.router.counts),
        metadata_us=tuple([_metadata_us(process) for process in processes]),
    )


def _is_undisturbed(world: World) -> bool:
    run = world.run
    return run.triggers.idle and world.router.is_undisturbed and not run.wire.is_cut


def _relative(process: Process, now: int, waits: list[Timers]) -> object:
    """Return a process relative to *now* and to its positions; None: it is not regular.

    Adds to *waits* when its poll runs again, if that waits by arithmetic, and its heartbeat thread.
    """
    client: Any = process.client
    if not _is_regular(process.blueprint) or not client.is_at_rest:
        return None
    if process.paused or process.calls or not process.at_rest:
        return None
    committing = process.application.doing is Doing.COMMITTING
    if committing and not _polls_next(process.blueprint):
        return None
    calm = process.calculated()
    waits.append({POLL: calm.wait_us} if calm is not None and calm.waits_for else {})
    if in_flight.is_classic(process):
        waits[-1].update(deadlines_of(client.state))
    positions = client.consumer.positions.offsets
    parts = (
        process.application.relative(now, positions),
        process.progress.relative(positions),
        process.fetches.relative(process, positions, now),
    )
    if None in parts:
        return None
    state = client.relative(now) if calm is None else client.relative(now, calm)
    process.renew_timers()
    if not committing:
        process.timers.cancel(COMMIT_SYNC)
    return process, state, *parts


def _unwritten(process: Process, now: int) -> dict[TopicPartition, Unwritten]:
    positions = process.client.consumer.positions.offsets
    return {
        tp: Unwritten(first - positions[tp], began_us - now)
        for tp, (first, began_us) in process.progress.unwritten().items()
    }


def _deadlines(world: World, waits: Sequence[Timers]) -> tuple[Timers, ...]:
    """Return the deadlines of each of :func:`timers_of`; *waits*: those that are no timers."""
    found = [timers.times for timers in timers_of(world)]
    for times, more in zip(found, waits, strict=False):  # behind the consumers come coordinators
        times.update(more)
    return tuple(found)


def _metadata_us(process: Process) -> int:
    client: Any = process.client
    return due_us(client.state.metadata, client.consumer)


def _is_regular(blueprint: Blueprint) -> bool:
    """Return whether nothing of a consumer is drawn, but the lags of its threads: they repeat."""
    return blueprint.each_us is not None and blueprint.lateness_us is None


def _polls_next(blueprint: Blueprint) -> bool:
    """Return whether the application polls when its commit has ended, and does nothing else."""
    policy, group = blueprint.commit, blueprint.group
    follows = policy.when == "batch" or (policy.when == "every" and policy.between_batches)
    keeps = policy.call != "sync" or policy.on_refusal == "keep"
    return follows and not keeps and group.is_serial and group.offsets == "kafka"


def _lag_phase_us(processes: list[Process], now: int) -> int | None:
    """Return the time since the lags of threads began again; None: no consumer has two threads."""
    if any(each.blueprint.has_two_threads for each in processes):
        return now % periods.LAGS_REPEAT_US
    return None


def _of_shard(shard: Shard, now: int) -> object:
    if len(shard.hosts) != 1 or len(shard.led) != 1:
        return None
    (host,) = shard.hosts.values()
    found = host.relative(now)
    return None if found is None else (host, found)


def timers_of(world: World) -> list[Deadlines]:
    """Return the timers of all processes and coordinators."""
    found = [process.timers for process in world.consumers.everyone()]
    found += [host.timers for shard in world.offsets_topic for host in shard.hosts.values()]
    return found


Moving = tuple[frozenset[str], ...]
"""The names of the deadlines that move with every period, for each of :func:`timers_of`."""


def moving_timers(before: State, after: State, *, beats_apart: bool = False) -> Moving | None:
    """Return the deadlines that have moved with the state; None: one changed in another way.

    The others have stayed: they are limits. What a check for expired offsets finds depends on their
    age, so it never moves. *beats_apart*: those of heartbeats and sessions may be anywhere.
    """
    found = []
    for old, new in zip(before.timers, after.timers, strict=True):
        if old.keys() != new.keys():
            return None
        later_us = after.at_us - before.at_us
        names = _moved_names(old, new, later_us) - {EXPIRE_OFFSETS}
        if beats_apart:
            names = frozenset([name for name in names if not is_of_beats(name)])
            if any(new[name] != old[name] for name in new.keys() - names if not is_of_beats(name)):
                return None
            found.append(names)
            continue
        names |= {
            name
            for name in new.keys() - names
            if _is_session(name) and _is_renewed(old[name], new[name], before, after)
        }
        if any(new[name] != old[name] for name in new.keys() - names):
            return None
        found.append(names)
    return tuple(found)


def _is_session(name: str) -> bool:
    """Return whether a deadline is the end of a session, as the coordinator or the client sees it."""
    return name.startswith(SESSION) or name == SESSION_END


def is_of_beats(name: str) -> bool:
    """Return whether heartbeats change a deadline."""
    return name in (HEARTBEAT, NEXT_BEAT) or _is_session(name)


def beats_move(state: State, moving: Moving) -> bool:
    """Return whether all heartbeats, and the sessions that they renew, move with a period."""
    return all(
        name in names
        for timers, names in zip(state.timers, moving, strict=True)
        for name, when in timers.items()
        if name == NEXT_BEAT or (name == SESSION_END and when != NEVER)
    )


def _is_renewed(old: int, new: int, before: State, after: State) -> bool:
    """Return whether a session that ended at *old* was renewed between two states, and will be again.

    The next stretch of time then renews it as this one did, whenever it began: the first session of
    a generation begins with that, later ones with a heartbeat or a commit. It must not end in between.
    """
    later_us = after.at_us - before.at_us
    return before.at_us + 2 * later_us < old < new and after.at_us + 2 * later_us < new


def _moved_names(old: Timers, new: Timers, later_us: int) -> frozenset[str]:
    return frozenset(name for name in new if new[name] == old.get(name, -1) + later_us)


def moves_again(mark: State, state: State, moving: Moving) -> bool:
    """Return whether these deadlines are where they were, relative to the state."""
    later_us = state.at_us - mark.at_us
    return all(
        names <= _moved_names(old, new, later_us)
        for old, new, names in zip(mark.timers, state.timers, moving, strict=True)
    )


def first_limit_us(state: State, moving: Moving, apart: AbstractSet[str] = frozenset()) -> int:
    """Return the earliest deadline that does not move, without those of upkeep.

    *apart*: nor these. The session of a member that has ended is a limit.
    """
    due = [
        when
        for timers, names in zip(state.timers, moving, strict=True)
        for name, when in timers.items()
        if name not in names and name not in (METADATA, EXPIRE_OFFSETS)
        if name not in apart
    ]
    return min(due, default=NEVER)


def grown(before: Mapping[Any, int], after: Mapping[Any, int]) -> dict[Any, int]:
    """Return how much each value has grown."""
    return {key: value - before.get(key, 0) for key, value in after.items()}


def without(counts: Mapping[str, int], kinds: AbstractSet[str]) -> Counter[str]:
    """Return counts without those of some kinds."""
    return Counter({kind: n for kind, n in counts.items() if kind not in kinds})


def is_same(before: State, after: State) -> bool:
    """Return whether two states differ only in what every period moves."""
    return before.requests.keys() == after.requests.keys() and before.shape == after.shape
