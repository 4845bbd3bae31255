"""Puts one run together and plays it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from emulator import events
from emulator.scenario.model import Group, Scenario, Topic
from emulator.scenario.resolution import broker_settings
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.replication import Replication
from emulator.world.cluster.shards import Shard
from emulator.world.cluster.stalls import Stalls
from emulator.world.cluster.stored_segment import LogFiles
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.blueprints import blueprints
from emulator.world.consumer.consumers import Consumers
from emulator.world.consumer.fetches import Fetches
from emulator.world.consumer.handler import WorkTimes
from emulator.world.draws import sampler, stream_key
from emulator.world.faults.acts import Faults
from emulator.world.kernel import Kernel, Rank
from emulator.world.recorder import Recorder, Sink
from emulator.world.router import Router
from emulator.world.run import Run
from emulator.world.sampling import Samples
from emulator.world.telling import EventWriter
from emulator.world.triggers import Triggers
from protocols.offsets_topic.partition import partition_for
from protocols.offsets_topic.records import Record

KAFKA = "4.4.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay of a real history takes from it instead of drawing or making it up."""

    work: WorkTimes | None = None
    member_ids: Callable[[str], str | None] | None = None
    topic_ids: Mapping[str, str] | None = None
    """By name: on them, too, depends in which order a coordinator assigns topics."""

    appended: Callable[[tuple[Record, ...]], None] | None = None
    first_metadata_us: dict[str, int] | None = None
    listened_us: Mapping[str, tuple[int, ...]] | None = None
    """By process: before which instants its first listener calls do not end."""

    log_files: LogFiles | None = None
    """Takes the bytes of the offsets log, if somebody wants them."""

    by_record: bool = False
    """Write the work on each record by itself, when it is done, as a real trace does (slow)."""


NOTHING_REPLAYED = Replay()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished run leaves besides its events."""

    digest: str
    kernel_events: int


def play(
    scenario: Scenario,
    seed: int,
    sinks: tuple[Sink, ...],
    *,
    polls: bool = False,
    replay: Replay = NOTHING_REPLAYED,
    check: bool = False,
    folding: bool = True,
) -> Outcome:
    """Play a scenario with a seed; every event goes to every sink, in order.

    *polls*: also write what each poll handed out. *check*: let machines assert their
    invariants at every sampling instant (slow). *folding*: False lets every consumer poll through
    its client, always (slow; the same events).
    """
    run = _build(scenario, seed, sinks, polls=polls, replay=replay)
    run.folding = folding and not polls and not replay.by_record
    started = events.RunStarted(scenario=scenario.title, seed=seed, kafka=KAFKA)
    run.recorder.write(started)
    _create_topics(run)
    _make_shards(run)
    faults = Faults(run)
    faults.begin()
    _start_consumers(run)
    Samples(run, check=check).begin()
    run.kernel.run(scenario.run_for)
    faults.write_missed()
    _end(run)
    _keep_logs(run)
    return Outcome(run.recorder.digest, run.kernel.scheduled)


def _build(
    scenario: Scenario,
    seed: int,
    sinks: tuple[Sink, ...],
    *,
    polls: bool,
    replay: Replay,
) -> Run:
    kernel = Kernel()
    settings = broker_settings(scenario.cluster)
    recorder = Recorder(kernel, sinks, polls=polls, by_record=replay.by_record)
    run = Run(scenario, seed, kernel, recorder, settings)
    cluster = scenario.cluster

    def replication_us(partition: str) -> int:
        return sampler(cluster.replication, stream_key(seed, "replication", partition))(0)

    run.topics = Topics(
        seed,
        cluster.brokers,
        settings.default_replication_factor,
        replication_us,
        cluster.racks,
        replay.topic_ids,
    )
    run.shards = ()
    run.triggers = Triggers(kernel)
    run.brokers = Brokers(run, cluster.brokers)
    run.controller = Controller(run)
    run.replication = Replication(run)
    run.stalls = Stalls(run)
    run.fetches = Fetches(run, run.topics)
    run.router = Router(run)
    run.events_of = EventWriter(run)
    run.consumers = Consumers(run, blueprints(scenario, seed, replay.work))
    if replay.member_ids is not None:
        run.member_ids = replay.member_ids
    run.listened_us = replay.listened_us or {}
    run.log_files = replay.log_files
    if replay.appended is not None:
        run.appended.append(replay.appended)
    return run


def _create_topics(run: Run) -> None:
    for topic in run.scenario.topic:
        if topic.created == "by act":
            continue
        if topic.created == 0:
            run.create_topic(topic.name, None)
        else:
            _create_later(run, topic, topic.created)


def _create_later(run: Run, topic: Topic, when: int) -> None:
    def create(_: Any) -> None:
        run.create_topic(topic.name, None)

    run.kernel.at(when, Rank.FAULT, 0, create)


def _make_shards(run: Run) -> None:
    """Make the offsets partitions that groups hash to, each led where it is placed."""
    count = run.broker_settings.offsets_topic_num_partitions
    by_number: dict[int, list[Group]] = {}
    for group in run.scenario.group:
        by_number.setdefault(partition_for(group.id, count), []).append(group)
    made = []
    for number, groups in sorted(by_number.items()):
        made.append(Shard(run, number, _replicas(run, number, groups), groups))
    run.shards = tuple(made)
    for shard in run.shards:
        shard.begin()
    run.replication.reevaluate(None)


def _replicas(run: Run, number: int, groups: list[Group]) -> tuple[int, ...]:
    brokers = run.scenario.cluster.brokers
    named = [group.coordinator for group in groups if group.coordinator is not None]
    first = named[0] if named else number % brokers + 1
    factor = min(run.broker_settings.offsets_topic_replication_factor, brokers)
    return tuple((first - 1 + step) % brokers + 1 for step in range(factor))


def _start_consumers(run: Run) -> None:
    for group in run.scenario.group:
        for member in group.members:
            if member.start != "by act":
                _start_later(run, member.name, member.start)


def _start_later(run: Run, consumer: str, when: int) -> None:
    def start(_: Any) -> None:
        run.consumers.start(consumer, None)

    run.kernel.at(when, Rank.FAULT, 1, start)


def _end(run: Run) -> None:
    """Write what is still to be told: progress, request counts, the ends of all logs."""
    positions = []
    for process in run.consumers.everyone():
        process.unfold(before_arrivals=True)
        process.settle()
        process.progress.write_all(process.progress.owned)
        consumer = process.blueprint.name
        positions += [(consumer, tp, offset) for tp, offset in process.progress.positions()]
    run.router.write_counts()
    now = run.kernel.now
    ends = tuple((tp, log.end(now)) for tp, log in run.topics.partitions())
    run.recorder.write(events.RunEnded(log_ends=ends, positions=tuple(positions)))


def _keep_logs(run: Run) -> None:
    """Hand over the offsets log as it is in the end, if somebody wants it."""
    if run.log_files is None:
        return
    for shard in run.shards:
        log, end = shard.leaders_log()
        run.log_files.keep(shard.number, log.content(end))
