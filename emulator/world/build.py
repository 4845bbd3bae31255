"""Build the parts of one run, connect them, and play the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from assignors.values import dataclass
from emulator import events
from emulator.scenario.estimates.periods import period_of, short_period_of
from emulator.scenario.model import Group, Scenario, Topic
from emulator.versions import KAFKA
from emulator.world import faults
from emulator.world.cluster.broker_threads import Loaders
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.coordinator_events import CoordinatorEvents
from emulator.world.cluster.hosts import CoordinatorContext
from emulator.world.cluster.replicas import Peer
from emulator.world.cluster.replication import Replication, Stalls
from emulator.world.cluster.shards import OffsetsTopic, Shard
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.blueprints import blueprints
from emulator.world.consumer.client_events import ClientEvents
from emulator.world.consumer.consumers import Consumers
from emulator.world.consumer.polling.fetches import Fetches
from emulator.world.consumer.polling.folded_time import FoldedShare
from emulator.world.consumer.process import ConsumerContext
from emulator.world.draws import sampler, stream_key
from emulator.world.kernel import MAX_BY_A_PARTY, Rank
from emulator.world.router import Router
from emulator.world.run import NOTHING_REPLAYED, Replay, Run, Sink, new_run
from emulator.world.samples import Ending, Samples
from emulator.world.world import World
from protocols.offsets_topic import partition_for


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a finished run besides its events."""

    digest: str
    kernel_events: int
    folded: FoldedShare


def play(  # noqa: PLR0913  one keyword an option
    scenario: Scenario,
    seed: int,
    sinks: tuple[Sink, ...],
    *,
    polls: bool = False,
    replay: Replay = NOTHING_REPLAYED,
    check: bool = False,
    folding: bool = True,
    each_commit: bool = True,
    ending: Ending | None = None,
) -> Outcome:
    """Play a scenario with a seed; pass every event to every sink, in order.

    *polls*: also write the records that each poll returned. *check*: machines assert their
    invariants at every sampling instant (slow). *folding*: with False, every consumer polls through
    its client, always (slow; the same events). *each_commit*: with False, events of processing and
    commits may be late, or in sums (:mod:`emulator.events`). *ending*: asked after every sample of
    lag whether the run ends.
    """
    run = new_run(
        scenario,
        seed,
        sinks,
        polls=polls,
        replay=replay,
        folding=folding,
        each_commit=each_commit,
    )
    world = build(run)
    run.recorder.write(events.RunStarted(scenario=scenario.title, seed=seed, kafka=KAFKA))
    create_topics(world)
    make_shards(world)
    write_missed_faults = _begin_faults(world)
    _start_consumers(world)
    _begin_autoscalers(world)
    if any(topic.is_compacted for topic in scenario.topic):
        from emulator.world.cleaning import Cleaning  # noqa: PLC0415  few scenarios need it

        Cleaning(world).begin()
    samples = Samples(world, check=check, ending=ending)
    samples.begin()
    if run.skipping:
        _skip_periods(world, samples, ending)
    _know_parties(world)
    run.kernel.run(scenario.run_for)
    write_missed_faults()
    _end(world)
    _keep_logs(world)
    return Outcome(run.recorder.digest, run.kernel.scheduled, run.folded.result())


def _know_parties(world: World) -> None:
    """Name the consumers to the kernel, which stops a run whose clock stands still."""
    run, names = world.run, world.consumers.names
    parties = len(names()) + sum(topic.partitions for topic in run.scenario.topic)
    run.kernel.names = names
    run.kernel.max_at_an_instant += MAX_BY_A_PARTY * parties


def build(run: Run) -> World:
    """Return the connected parts of a run."""
    offsets_topic = OffsetsTopic()
    if any(group.offsets != "kafka" for group in run.scenario.group):
        from emulator.world.stores import add_stores  # noqa: PLC0415  few scenarios need them

        add_stores(run, offsets_topic)
    topics, brokers = _topics(run), Brokers(run, run.scenario.cluster.brokers)

    def peers() -> Iterator[Peer]:
        yield from (log for _, log in topics.partitions())
        yield from offsets_topic

    controller = Controller(run, brokers, peers)
    fetches = Fetches(run, topics, brokers)
    router = Router(
        run,
        brokers=brokers,
        controller=controller,
        topics=topics,
        offsets_topic=offsets_topic,
        fetches=fetches,
    )
    clients = ConsumerContext(
        run=run,
        topics=topics,
        fetches=fetches,
        router=router,
        events=ClientEvents(run, offsets_topic),
    )
    consumers = Consumers(clients, blueprints(run.scenario, run.seed, run.replay.work))
    world = _world(run, brokers, controller, offsets_topic, consumers)
    controller.connect(world.replication, consumers)
    brokers.connect(controller, consumers.plan_again, world.on_broker_died)
    return world


def _world(
    run: Run,
    brokers: Brokers,
    controller: Controller,
    offsets_topic: OffsetsTopic,
    consumers: Consumers,
) -> World:
    """Add the parts that use all others: replication and the coordinators."""
    clients, loaders = consumers.context, Loaders(run.kernel)
    topics, router = clients.topics, clients.router
    stalls = Stalls(run, brokers, topics, offsets_topic)
    return World(
        run=run,
        topics=topics,
        brokers=brokers,
        controller=controller,
        replication=Replication(
            run,
            brokers=brokers,
            controller=controller,
            topics=topics,
            offsets_topic=offsets_topic,
            stalls=stalls,
            readers=consumers,
        ),
        offsets_topic=offsets_topic,
        coordinators=CoordinatorContext(
            run=run,
            brokers=brokers,
            controller=controller,
            topics=topics,
            loaders=loaders,
            events=CoordinatorEvents(run, router.is_connected, consumers.of_group),
            answer=router.answer,
            on_serving=stalls.update_shard,
        ),
        router=router,
        consumers=consumers,
    )


def _topics(run: Run) -> Topics:
    cluster = run.scenario.cluster

    def replication_us(partition: str) -> int:
        return sampler(cluster.replication, stream_key(run.seed, "replication", partition))(0)

    return Topics(
        run.seed,
        cluster.brokers,
        run.broker_settings.default_replication_factor,
        replication_us,
        cluster.racks,
        run.replay.topic_ids,
        run.replay.produced_from_us,
    )


def create_topics(world: World) -> None:
    """Create the topics of the scenario, each at its time."""
    for topic in world.run.scenario.topic:
        if topic.created == "by act":
            continue
        if topic.created == 0:
            world.create_topic(topic.name, None)
        else:
            _create_later(world, topic, topic.created)


def _create_later(world: World, topic: Topic, when: int) -> None:
    def create(_: Any) -> None:
        world.create_topic(topic.name, None)

    world.run.kernel.at(when, Rank.FAULT, 0, create)


def make_shards(world: World) -> None:
    """Create the offsets partitions that groups hash to, each with its configured leader."""
    count = world.run.broker_settings.offsets_topic_num_partitions
    by_number: dict[int, list[Group]] = {}
    for group in world.run.scenario.group:
        by_number.setdefault(partition_for(group.id, count), []).append(group)
    for number, groups in sorted(by_number.items()):
        replicas = _replicas(world.run, number, groups)
        world.offsets_topic.add(Shard(world.coordinators, number, replicas, groups))
    for shard in world.offsets_topic:
        shard.begin()
    world.replication.reevaluate(None)


def _replicas(run: Run, number: int, groups: list[Group]) -> tuple[int, ...]:
    brokers = run.scenario.cluster.brokers
    named = [group.coordinator for group in groups if group.coordinator is not None]
    first = named[0] if named else number % brokers + 1
    factor = min(run.broker_settings.offsets_topic_replication_factor, brokers)
    return tuple((first - 1 + step) % brokers + 1 for step in range(factor))


def _begin_faults(world: World) -> Callable[[], None]:
    """Schedule the faults and acts; return the function that writes those that never took effect."""
    if not world.run.scenario.fault:
        return lambda: None
    scripts = faults.acts.Faults(world)
    scripts.begin()
    return scripts.write_missed


def _start_consumers(world: World) -> None:
    for group in world.run.scenario.group:
        for member in group.members:
            if member.start != "by act":
                _start_later(world, member.name, member.start)


def _begin_autoscalers(world: World) -> None:
    if any(group.autoscaler is not None for group in world.run.scenario.group):
        from emulator.world.autoscaling.loop import (  # noqa: PLC0415  few scenarios need it
            begin_autoscalers,
        )

        begin_autoscalers(world)


def _start_later(world: World, consumer: str, when: int) -> None:
    def start(_: Any) -> None:
        world.consumers.start(consumer, None)

    world.run.kernel.at(when, Rank.FAULT, 1, start)


def _skip_periods(world: World, samples: Samples, ending: Ending | None) -> None:
    """Skip whole periods of the run where it has any."""
    period_us = period_of(world.run.scenario)
    if period_us is None:
        return
    from emulator.world.periods.search import Periods  # noqa: PLC0415  short runs have no periods

    if period_us % world.run.scenario.lag_every == 0:
        samples.recur()
    short_us = short_period_of(world.run.scenario, period_us)
    goes_on = (lambda: True) if ending is None else ending.is_far
    Periods(world, period_us, short_us, goes_on).begin()


def _end(world: World) -> None:
    """Write the last events: progress, request counts, the ends of all logs."""
    positions = []
    for process in world.consumers.everyone():
        process.unfold()
        process.time.end(world.run.kernel.now)
        process.settle()
        process.progress.write_all(process.progress.owned)
        consumer = process.blueprint.name
        positions += [(consumer, tp, offset) for tp, offset in process.progress.positions()]
    world.router.write_counts()
    now = world.run.kernel.now
    ends = tuple((tp, log.end(now)) for tp, log in world.topics.partitions())
    world.run.recorder.write(events.RunEnded(log_ends=ends, positions=tuple(positions)))


def _keep_logs(world: World) -> None:
    """Pass the final offsets log to the replay, if it takes the log."""
    log_files = world.run.replay.log_files
    if log_files is None:
        return
    for shard in world.offsets_topic:
        log, end = shard.leaders_log()
        log_files.keep(shard.number, log.content(end))
