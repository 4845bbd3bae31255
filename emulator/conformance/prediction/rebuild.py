"""Convert a captured run to a scenario that predicts it.

Taken from the capture: names, ids, settings, partition leaders, production times,
processing times, times of actions; the time from each process's start to its first JoinGroup;
the time of the first members' first assignment; the heartbeats that classic members logged before
the fault (a seed draws them instead), the faulted member's last contact and the leader's last
metadata refresh before the fault; the lookups between which the brokers heard that the coordinator
was killed. Everything else is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from statistics import median

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.production import Production
from emulator.conformance.captured.traces import MemberSettings
from emulator.conformance.prediction import facts
from emulator.conformance.prediction.beginning import listener_begins, listener_ends
from emulator.conformance.prediction.contacts import heartbeat_lateness
from emulator.conformance.prediction.facts import start_us
from emulator.conformance.prediction.faults import acts_of, broker_settings
from emulator.conformance.prediction.noise import (
    EVENT_LOOP,
    METADATA_P99_US,
    METADATA_US,
    Noise,
    background_noise_of,
    broker_session_ms,
    noise_of,
)
from emulator.scenario.model import (
    Bursts,
    Cluster,
    CommitPolicy,
    Constant,
    Distribution,
    Group,
    Lognormal,
    LognormalShape,
    Member,
    Network,
    Scenario,
    Topic,
)
from emulator.world.consumer.handling.handler import WorkTimes
from emulator.world.draws import draw, stream_key
from emulator.world.run import Replay

MS = 1_000
_POLICIES = {
    "auto": CommitPolicy(call="auto"),
    "sync-per-poll": CommitPolicy(call="sync", when="batch"),
    "async-per-poll": CommitPolicy(call="async", when="batch"),
    "sync-per-record": CommitPolicy(call="sync", when="record"),
    "noargs-per-record": CommitPolicy(call="sync", when="record", arguments=False),
    "sync-before": CommitPolicy(call="sync", when="before"),
    "store": CommitPolicy(call="store", when="record"),
    "none": CommitPolicy(call="none"),
}


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A scenario, and the values that a run of it replays instead of drawing them."""

    scenario: Scenario
    replay: Callable[[], Replay]
    """Returns a new replay: it counts the values it has returned, so each run needs its own."""


def rebuild(capture: Capture, seed: int | None = None) -> Rebuilt:
    """Return the scenario of a captured run.

    *seed*: draws the delays of the machine; None: uses their means.
    """
    noise = noise_of(capture)
    members = facts.members(capture)
    group = Group(
        id=capture.group,
        members=tuple(_member(capture, member) for member in members),
        topics=_first_topics(members),
        pattern=next((member.pattern for member in members if member.pattern), None),
        pattern_by=next((member.pattern_by for member in members if member.pattern), "client"),
        coordinator=capture.coordinator,
        lateness=_lateness(noise, seed),
        wake_up=noise.wake_up,
        listener=Constant(constant=max(member.listener_us for member in members)),
    )
    scenario = Scenario(
        title=capture.name,
        run_for=capture.end_us,
        cluster=Cluster(
            brokers=3,
            replication=Constant(constant=_replication_us(capture)),
            metadata_time=_metadata_time(seed),
            pattern_time=facts.pattern_time_us(capture),
            settings={
                "min.insync.replicas": 2,
                "broker.session.timeout.ms": broker_session_ms(capture, seed),
                **broker_settings(capture),
            },
        ),
        network=Network(latency=_latency(noise, seed)),
        topic=tuple(_topic(capture, production, seed) for production in capture.productions),
        group=(group,),
        fault=acts_of(capture, noise, seed),
    )
    return Rebuilt(scenario, lambda: _replay(capture, seed))


def _first_topics(members: tuple[MemberSettings, ...]) -> tuple[str, ...]:
    return next((member.topics for member in members if member.topics), ())


# -- the cluster -----------------------------------------------------------------------------------


def _latency(noise: Noise, seed: int | None) -> Distribution:
    if seed is None:
        return Constant(constant=noise.way_mean)
    return Lognormal(lognormal=LognormalShape(median=noise.way, p99=noise.way_p99))


def _lateness(noise: Noise, seed: int | None) -> Distribution:
    if seed is None:
        return Constant(constant=noise.late_mean)
    return Lognormal(lognormal=LognormalShape(median=noise.late, p99=noise.late_p99))


def _metadata_time(seed: int | None) -> Distribution:
    """Return how long brokers take to apply a decision of the controller.

    No log shows when the controller decided, so only the differences between brokers are known.
    """
    if seed is None:
        return Constant(constant=0)
    return Lognormal(lognormal=LognormalShape(median=METADATA_US, p99=METADATA_P99_US))


def _replication_us(capture: Capture) -> int:
    """Return how long an append takes to be durable: the median commitSync less its latency."""
    taken = facts.commit_sync_times(capture)
    return max(1 * MS, int(median(taken)) - 1 * MS) if taken else 2 * MS


# -- topics ----------------------------------------------------------------------------------------


def _topic(capture: Capture, production: Production, seed: int | None) -> Topic:
    leaders = facts.partition_leaders(capture)
    partitions = [TopicPartition(production.topic, p) for p in range(production.partitions)]
    acts = [act.do for act in capture.actions if act.topic == production.topic]
    lasting_us = _preload_us(capture, production, seed)
    come_slowly = lasting_us > 0
    from_us = min(_begins(capture, production)) - lasting_us
    return Topic(
        name=production.topic,
        partitions=production.partitions,
        rate=_rate(capture, production, lasting_us),
        backlog=0 if come_slowly else production.preload,
        backlog_at=0 if come_slowly or not production.preload_when_formed else production.start_us,
        record_size=production.record_bytes,
        retention=production.retention_us,
        created="by act" if acts[:1] == ["maketopic"] else 0,
        produce_from=from_us,
        produce_until=max(from_us, _last_due(capture, production) + 1),  # no record may have come
        leaders=tuple(leaders.get(tp, tp.partition % 3 + 1) for tp in partitions),
    )


def _begins(capture: Capture, production: Production) -> tuple[int, ...]:
    """Return when records were first due in each topic of this name, in order of their creation."""
    former = (each.start_us for each in capture.formers if each.topic == production.topic)
    return (*former, production.start_us)


def _preload_us(capture: Capture, production: Production, seed: int | None) -> int:
    """Return the duration of a preload for a formed group.

    No log shows it: it is less than the time from the group's forming to the other production.
    """
    window_us = production.start_us - capture.formed_us
    if seed is None or not production.preload_when_formed or window_us <= 0:
        return 0
    return int(draw(stream_key(seed, "preload", production.topic), 0) * window_us)


def _rate(capture: Capture, production: Production, lasting_us: int) -> Bursts | float:
    """Return the production rate; with a preload that takes time, as bursts of two rates."""
    steady = 1e9 / (production.tick_ns * production.partitions)
    if not lasting_us:
        return steady
    fast = production.preload * 1e6 / lasting_us
    shape = {"rate": fast, "for": lasting_us, "every": capture.end_us, "between": steady}
    return Bursts.model_validate({"bursts": shape})


def _last_due(capture: Capture, production: Production) -> int:
    """Return when the last record of a topic is due; production ends by count."""
    due = [
        facts.due_us(production, partition, end - production.preload - 1)
        for partition, end in enumerate(production.ends[: production.partitions])
    ]
    added = [
        facts.due_us(addition, partition, production.ends[partition] - 1)
        for addition in capture.additions
        if addition.topic == production.topic
        for partition in range(addition.first, addition.to)
    ]
    return max([*due, *added])


# -- members ---------------------------------------------------------------------------------------


def _member(capture: Capture, member: MemberSettings) -> Member:
    first = next(up for up in facts.start_ups(capture) if up.member == member.member)
    late = any(act.do == "start" and act.member == member.member for act in capture.actions)
    begins_late = late and first.started_us >= capture.fault_us - 1_000_000
    return Member(
        name=member.member,
        client=member.client,  # type: ignore[arg-type]  # one of the names of LIBRARIES
        read_with=member.read_with if member.client != "java" else None,
        settings=facts.kafka_settings(capture, member),
        topics=member.topics or None,
        pattern=member.pattern,
        commit=_policy(member),
        poll_timeout=member.poll_timeout_us,
        start="by act" if begins_late else start_us(capture, first),
    )


def _policy(member: MemberSettings) -> CommitPolicy:
    if member.mode in _POLICIES:
        return _POLICIES[member.mode]
    return CommitPolicy(
        call="sync",
        when="every",
        every=member.commit_every_us,
        on_revoke=member.mode == "timer-sync-on-revoke",
    )


# -- what is replayed --------------------------------------------------------------------------------


def _replay(capture: Capture, seed: int | None) -> Replay:
    background = background_noise_of(capture)
    return Replay(
        work=_work_times(capture),
        member_ids=_member_ids(capture),
        topic_ids=facts.topic_ids(capture),
        produced_from_us={each.topic: _begins(capture, each) for each in capture.productions},
        listened_us=listener_ends(capture),
        called_us=listener_begins(capture),
        poll_lateness=Constant(constant=0) if seed is None else _lateness(EVENT_LOOP, seed),
        heartbeat_late_us=heartbeat_lateness(capture) if seed is None else None,
        background_lateness=None if background is None else _lateness(background, seed),
    )


def _work_times(capture: Capture) -> WorkTimes:
    """Replay the real duration of each processing of a record, in order; else the median."""
    taken = facts.service_times(capture)
    usual, most = _usual_and_longest(capture)
    done: dict[tuple[TopicPartition, int], int] = {}

    def time_of(tp: TopicPartition, offset: int) -> int:
        key = (tp, offset)
        times = taken.get(key, ())
        number = done.get(key, 0)
        done[key] = number + 1
        time = times[number] if number < len(times) else usual
        return time if time <= most else usual

    return time_of


@lru_cache(maxsize=1)
def _usual_and_longest(capture: Capture) -> tuple[int, int]:
    """Return the median processing time of a record, and the longest one that is replayed."""
    every = [time for times in facts.service_times(capture).values() for time in times]
    usual = int(median(every)) if every else MS
    hung = any(act.do == "hang" for act in capture.actions)
    return usual, 1_000_000 if hung else max(every, default=usual)


def _member_ids(capture: Capture) -> Callable[[str], str | None]:
    """Return the function that hands out the real member ids in order, by client or instance id.

    The coordinator assigns the ids of classic members, other members choose their own.
    """
    left: dict[str, Iterator[str]] = {}
    by_prefix: dict[str, list[str]] = {}
    for trace in sorted(capture.traces, key=lambda trace: trace.started_us):
        for member_id in trace.member_ids:
            prefix = trace.member if trace.protocol == "consumer" else member_id[:-37]
            by_prefix.setdefault(prefix, []).append(member_id)
    for prefix, ids in by_prefix.items():
        left[prefix] = iter(dict.fromkeys(ids))
    return lambda prefix: next(left.get(prefix, iter(())), None)
