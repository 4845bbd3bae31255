"""The consumers of a scenario as blueprints, from which each incarnation and its client is built.

``group.protocol`` selects the client. All random values of a client are drawn by address, so the
same seed gives both kinds of client the same world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assignors.java import hash_map_order, topic_partition_hash
from assignors.registry import load_assignor
from assignors.types import Assignor, RebalanceProtocol, TopicPartition
from assignors.values import dataclass
from emulator.scenario.deploys import Deploy, deployed
from emulator.scenario.isolation import reads_committed
from emulator.scenario.model import CommitPolicy, Group, Member, OwnHandler, Scenario
from emulator.scenario.patterns import client_matcher
from emulator.scenario.resolution import (
    INSTANCE_ID,
    commit_policy,
    consumer_settings,
    poll_timeout_us,
    profile_with_deviations,
    subscription_of,
    work_of,
)
from emulator.scenario.resolution import (
    topics_of as read_by,
)
from emulator.world import consumer
from emulator.world.consumer import handling
from emulator.world.consumer.handling.handler import Batch, WorkTimes, work_times
from emulator.world.draws import Sampler, constant_of, draw, sampler, stream_key
from protocols.consumer.calls import CloseOperation
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.machine import Client as ClassicClient
from protocols.consumer.classic.state import Consumer as ClassicConsumer
from protocols.consumer.classic.state import Membership, punctual
from protocols.consumer.clients import ClientProfile
from protocols.settings import ConsumerSettings
from protocols.values import replace

if TYPE_CHECKING:
    from emulator.world.consumer.handling.conditions import Conditions
    from emulator.world.consumer.handling.poison import Rules
    from protocols.consumer.classic.background import BackgroundClient
    from protocols.consumer.kip848.background_client import (
        BackgroundClient as AsyncBackgroundClient,
    )
    from protocols.consumer.kip848.machine import Client as AsyncClient
    from protocols.machine import SetTimer

    AnyClient = ClassicClient | BackgroundClient | AsyncClient | AsyncBackgroundClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """One consumer of the scenario, the same for each of its starts."""

    name: str
    index: int
    """Its order among all consumers at equal times."""

    group: Group
    member: Member
    as_written: tuple[Group, Member]
    """Both as in the scenario file; a deploy changes these."""

    settings: ConsumerSettings
    profile: ClientProfile
    """Its client."""

    assigned: tuple[TopicPartition, ...] | None
    """The partitions that it assigns to itself; None: its group does."""

    commit: CommitPolicy
    poll_timeout_us: int
    listener_us: Sampler
    lateness_us: Sampler | None
    """How late its timers run out; None: never."""

    heartbeat_late_us: Sampler | None
    """How late a classic client's heartbeats are; None: as other timers."""

    each_us: int | None
    """Processing time of each record, if it is constant, no record is poisoned and no code is the user's."""

    work: WorkTimes
    conditions: Conditions | None
    """What the time of a record depends on beside the record itself."""

    poison: Rules | None
    reads_forwarded: bool
    """Whether consumers of the run append records to one of its topics."""

    reads_gaps: bool
    """Whether one of its topics has offsets without a record."""

    reads_committed: bool
    seed: int
    epoch_ms: int
    brokers: tuple[int, ...]

    @property
    def close_timeout_us(self) -> int:
        """How long close() may take."""
        return self.group.close_timeout

    @property
    def close_operation(self) -> CloseOperation:
        """The leave-group behaviour of close()."""
        return CloseOperation[self.group.close_operation]

    @property
    def plain(self) -> bool:
        """Whether the application does nothing but poll and work, until it commits by time."""
        if not self.group.is_serial or self.reads_forwarded or self.group.deduplication:
            return False
        polls_on = self.commit.call in ("auto", "none") or self.commit.is_by_time
        return polls_on and self.conditions is None and self.poison is None

    @property
    def has_two_threads(self) -> bool:
        """Whether it is the Java client of the consumer protocol: two threads share its calls."""
        return self.settings.group_protocol == "consumer" and not self.profile.in_background

    @property
    def commits_by_timer(self) -> bool:
        """Whether a thread of the consumer commits to ZooKeeper by itself."""
        return self.group.offsets == "zookeeper" and self.commit.call == "auto"

    @property
    def zookeeper_commit_us(self) -> int | None:
        """The interval of these commits; None: there are none."""
        if not self.commits_by_timer:
            return None
        return max(1, self.settings.auto_commit_interval_ms) * 1_000

    @property
    def per_record(self) -> bool:
        """Whether the application looks at each record, not only at the end of a batch."""
        policy = self.commit
        if self.group.deduplication is not None:
            return True
        return policy.when == "record" or (policy.when == "every" and not policy.between_batches)

    def work_us(self, tp: TopicPartition, offset: int) -> int:
        """Return the processing time of one record."""
        if self.each_us is not None:
            return self.each_us
        if self.conditions is not None:
            self.conditions.look()
        return self.work(tp, offset)

    def plan(self, batch: Batch) -> None:
        """Set the processing time of each record of a batch, and the records that fail."""
        if self.each_us is not None:
            batch.take_each(self.each_us)
            return
        if self.conditions is not None:
            self.conditions.look()
        batch.take(self.work)
        if self.group.work_by is not None and self.group.work_by.batch:
            batch.lengthen(0, self.group.work_by.batch)
        if self.poison is not None:
            failing = self.poison.failing
            rules = ((index, failing(*record)) for index, record in enumerate(batch.records()))
            batch.flaws = {index: rule for index, rule in rules if rule is not None} or None


def blueprints(scenario: Scenario, seed: int, work: WorkTimes | None) -> list[Blueprint]:
    """Return every consumer of a scenario, in its order.

    *work*: the time of each record, instead of the scenario's distributions.
    """
    found: list[Blueprint] = []
    for group in scenario.group:
        has_gaps = any(topic.has_gaps for topic in read_by(group, scenario))
        for member in group.members:
            index = len(found)
            found.append(
                _blueprint(scenario, group, member, index, seed, work, reads_gaps=has_gaps)
            )
    return found


def _blueprint(
    scenario: Scenario,
    group: Group,
    member: Member,
    index: int,
    seed: int,
    work: WorkTimes | None,
    *,
    reads_gaps: bool,
) -> Blueprint:
    constant = constant_of(work_of(group, member))
    rules = handling.poison.Rules(group, seed) if group.poison else None
    forwarded = _reads_forwarded(scenario, group, member)
    own = not group.is_serial and group.pool is None
    plain = not (work or rules or forwarded or group.deduplication or group.work_by or own)
    conditions = _conditions(group, member)
    late = sampler(group.lateness, stream_key(seed, "lateness", member.name))
    return Blueprint(
        name=member.name,
        index=index,
        group=group,
        member=member,
        as_written=(group, member),
        settings=_client_settings(group, member),
        profile=profile_with_deviations(group, member),
        assigned=None if member.assign is None else _assigned(member.assign, scenario),
        commit=commit_policy(group, member),
        poll_timeout_us=poll_timeout_us(group, member),
        listener_us=sampler(group.listener, stream_key(seed, "listener", member.name)),
        lateness_us=None if constant_of(group.lateness) == 0 else late,
        heartbeat_late_us=None,
        each_us=constant if plain else None,
        work=work or work_times(group, work_of(group, member), seed, rules, conditions),
        conditions=conditions,
        poison=rules,
        reads_forwarded=forwarded,
        reads_gaps=reads_gaps,
        reads_committed=reads_committed(group, member),
        seed=seed,
        epoch_ms=int(scenario.start.timestamp() * 1000) if scenario.start else 0,
        brokers=tuple(range(1, scenario.cluster.brokers + 1)),
    )


def _assigned(
    assign: Mapping[str, str | tuple[int, ...]], scenario: Scenario
) -> tuple[TopicPartition, ...]:
    """Return partitions in the order of a Java HashMap, those of a topic together."""
    counts = {topic.name: topic.partitions for topic in scenario.topic}
    wanted = [
        TopicPartition(topic, number)
        for topic, numbers in assign.items()
        for number in (range(counts[topic]) if isinstance(numbers, str) else dict.fromkeys(numbers))
    ]
    mixed = hash_map_order(wanted, topic_partition_hash)
    topics = list(dict.fromkeys(tp.topic for tp in mixed))
    return tuple(sorted(mixed, key=lambda tp: topics.index(tp.topic)))


def _client_settings(group: Group, member: Member) -> ConsumerSettings:
    """Return the settings of a client; one whose offsets are elsewhere does not commit to Kafka.

    ``assign()`` makes no use of the instance id that ``static = true`` gives each member.
    """
    settings = consumer_settings(group, member)
    if member.assign is not None:
        settings = replace(settings, group_instance_id=None)
    if group.offsets == "kafka":
        return settings
    return replace(settings, enable_auto_commit=False)


def _reads_forwarded(scenario: Scenario, group: Group, member: Member) -> bool:
    if not any(each.poison or isinstance(each.handler, OwnHandler) for each in scenario.group):
        return False
    from emulator.scenario.checks.poison import reads_forwarded  # noqa: PLC0415  few scenarios need it

    return reads_forwarded(scenario, group, member)


def _conditions(group: Group, member: Member) -> Conditions | None:
    if group.work_by is None or not group.work_by.depends:
        return None
    return handling.conditions.Conditions(group.work_by, group.id, member.name)


def redeployed(old: Blueprint, act: Deploy) -> Blueprint:
    """Return a blueprint with the settings that an act starts its consumer with."""
    group, member = deployed(*old.as_written, act)
    return replace(
        old,
        group=group,
        member=member,
        settings=_client_settings(group, member),
        profile=profile_with_deviations(group, member),
        commit=commit_policy(group, member),
        reads_committed=reads_committed(group, member),
    )


def with_instance_id(old: Blueprint, instance_id: str) -> Blueprint:
    """Return a blueprint of a static member with another instance id."""

    def changed(member: Member) -> Member:
        return member.model_copy(update={"settings": {**member.settings, INSTANCE_ID: instance_id}})

    group, member = old.as_written
    return replace(
        old,
        member=changed(old.member),
        as_written=(group, changed(member)),
        settings=replace(old.settings, group_instance_id=instance_id),
    )


def resubscribed(old: Blueprint, topics: tuple[str, ...]) -> Blueprint:
    """Return a blueprint whose consumer subscribes to these topics instead of its group's."""
    other = {"topics": topics, "pattern": None}
    group, member = old.as_written
    return replace(
        old,
        member=old.member.model_copy(update=other),
        as_written=(group, member.model_copy(update=other)),
    )


MemberIds = Callable[[str], str | None]
"""Returns the next member id of a real history for a client id; None: generate one."""


def new_client(blueprint: Blueprint, process: str, member_ids: MemberIds) -> AnyClient:
    """Return the client of a new incarnation, by the protocol its settings name.

    *member_ids*: used by a client that generates its own member id.
    """
    if blueprint.profile.in_background or blueprint.profile.fetches_when_drained:
        return consumer.background_client.new_client(blueprint, process, member_ids)
    if blueprint.settings.group_protocol == "consumer":
        return consumer.async_client.new_client(blueprint, process, member_ids)
    return ClassicClient(classic_consumer(blueprint, process))


def classic_consumer(blueprint: Blueprint, process: str) -> ClassicConsumer:
    """Return the configuration of a client of the classic protocol."""
    assignors = make_assignors(blueprint.settings, blueprint.member)
    topics, pattern = subscription_of(blueprint.group, blueprint.member)
    return ClassicConsumer(
        name=process,
        group_id="" if blueprint.group.offsets == "none" else blueprint.group.id,
        assigned=blueprint.assigned,
        settings=blueprint.settings,
        assignors=assignors,
        protocol=common_protocol(assignors),
        topics=None if pattern else topics,
        matches=client_matcher(pattern) if pattern else None,
        jitter=jitter(blueprint),
        epoch_ms=blueprint.epoch_ms,
        brokers=blueprint.brokers,
        late=blueprint.heartbeat_late_us or blueprint.lateness_us or punctual,
        profile=blueprint.profile,
    )


def make_assignors(settings: ConsumerSettings, member: Member) -> tuple[Assignor, ...]:
    """Return a consumer's own assignors, in its order of preference."""
    names = settings.partition_assignment_strategy
    return tuple(load_assignor(name, member.assignor_config, folders=None) for name in names)


def common_protocol(assignors: tuple[Assignor, ...]) -> RebalanceProtocol:
    """Return the highest protocol all assignors support (``ConsumerCoordinator``)."""
    shared = set(assignors[0].rebalance_protocols)
    for assignor in assignors[1:]:
        shared &= set(assignor.rebalance_protocols)
    return max(shared)


def jitter(blueprint: Blueprint) -> Callable[[str, int], float]:
    """Return the function that draws the jitter of a consumer's waits by their start time."""
    key = stream_key(blueprint.seed, "jitter", blueprint.name)
    return lambda _what, when: draw(key, when)


def is_stable(client: AnyClient) -> bool:
    """Return whether the client's member is in its group, with no rebalance in progress."""
    if client.consumer.settings.group_protocol == "consumer":
        return client.state.member.state.name == "STABLE"  # type: ignore[union-attr]  # its own
    return client.state.membership is Membership.STABLE  # type: ignore[union-attr]  # its own


def runs_out_us(blueprint: Blueprint, client: AnyClient, timer: SetTimer) -> int:
    """Return when (us) a timer runs out: late, unless it represents the time that a thread takes to run."""
    late, due_us = blueprint.lateness_us, timer.deadline_us
    if timer.name == HEARTBEAT and blueprint.heartbeat_late_us is not None:
        late = blueprint.heartbeat_late_us
    two_threads = client.consumer.settings.group_protocol == "consumer"
    if late is None or (two_threads and timer.name in consumer.async_client.WAKE_UPS):
        return due_us
    return due_us + late(due_us)
