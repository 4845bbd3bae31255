"""Offsets partitions: replicas, brokers that believe they lead, coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from assignors.types import TopicPartition
from emulator.events import LogTruncated
from emulator.scenario.model import Group
from emulator.world.cluster.broker_threads import LogCleaner, log_settings
from emulator.world.cluster.hosts import CoordinatorContext, Host
from emulator.world.cluster.offsets_log.leader_log import Copy, LeaderLog
from emulator.world.cluster.offsets_log.stored_log import Amount, StoredLog
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.replicas import ReplicaSet
from emulator.world.draws import base64_id, sampler, stream_key, text_id
from protocols.coordinator.dispatch import reject_not_coordinator
from protocols.facts import CommitRefused, Fact, OffsetsDropped
from protocols.machine import Report, Send
from protocols.messages import DeleteGroupsRequest, Envelope

OFFSETS_TOPIC = "__consumer_offsets"


class Shard:
    """One offsets partition that some group of the scenario hashes to."""

    def __init__(
        self,
        context: CoordinatorContext,
        number: int,
        brokers: tuple[int, ...],
        groups: Iterable[Group],
    ) -> None:
        run = self._run = context.run
        self._context = context
        self.number = number
        self.groups = frozenset(group.id for group in groups)
        self.replicas = ReplicaSet(TopicPartition(OFFSETS_TOPIC, number), brokers)
        cluster = run.scenario.cluster
        key = stream_key(run.seed, "offsets replication", str(number))
        self._replication_us = sampler(cluster.replication, key)
        self.load_us = sampler(cluster.load, stream_key(run.seed, "load", str(number)))
        self._ids = stream_key(run.seed, "member ids", str(number))
        self._next_id = 0
        files = run.replay.log_files
        log = StoredLog(
            Amount(cluster.offsets_backlog, cluster.offsets_backlog_records),
            log_settings(run.broker_settings),
            is_compacted=run.broker_settings.log_cleaner_enable,
            spool=files.spool(number) if files else None,
        )
        self._copies = {broker: Copy(broker, log) for broker in brokers}
        self.led: dict[int, LeaderLog] = {}
        """The log on each broker that believes it is the leader."""

        self._cleaner = LogCleaner(run, context.brokers, number, self.led)

        self.hosts: dict[int, Host] = {}
        """The coordinators, each on a broker that believes it is the leader."""

        self._missing: dict[tuple[str, TopicPartition], str] = {}

    # -- leaders --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the first leader serve: the log is empty, or was loaded before the run."""
        self._lead(self.replicas.leader).begin()

    def settle(self, now: int) -> None:
        """Store the log end of each follower before a change."""
        for log in self.led.values():
            log.settle(now)

    def take_roles(self, cause: int | None) -> None:
        """Make every broker with current metadata lead or follow accordingly."""
        leader = self.replicas.leader
        for broker in self.replicas.brokers:
            if not self._context.controller.in_touch(broker):
                continue
            if broker == leader:
                self._take_the_lead(broker, cause)
            else:
                self._step_down(broker, cause)

    def _take_the_lead(self, broker: int, cause: int | None) -> None:
        """Lead, or continue to lead in a new epoch; load unless a coordinator exists already."""
        if broker in self.hosts:
            self.led[broker].lead(self.replicas.epoch, self.replicas.isr)
        else:
            self._lead(broker).load(cause)

    def _lead(self, broker: int) -> Host:
        log = self.led.get(broker)
        if log is None:
            log = self.led[broker] = self._led_by(broker)
        log.lead(self.replicas.epoch, self.replicas.isr)
        self._cleaner.leads(log)
        host = self.hosts[broker] = Host(self._context, self, broker, log)
        return host

    def _led_by(self, broker: int) -> LeaderLog:
        copy = self._copies[broker]
        copy.detach()

        def durable(log_offset: int) -> None:
            host = self.hosts.get(broker)
            if host is not None:
                host.durable(log_offset)

        return LeaderLog(
            self._run.kernel,
            self.number,
            copy,
            self._replication_us,
            durable,
            partial(self._cleaner.rolled, broker),
            self._run.epoch_ms,
        )

    def _step_down(self, broker: int, cause: int | None) -> None:
        host = self.hosts.pop(broker, None)
        if host is not None:
            host.unload(cause)
        log = self.led.pop(broker, None)
        if log is not None:
            log.gate(NEVER)

    def discard(self, broker: int) -> None:
        """Discard the coordinator on a broker: the broker died."""
        host = self.hosts.pop(broker, None)
        if host is not None:
            host.discard()

    # -- replicas (what Replication asks of every partition) ---------------------------------------

    @property
    def replication_us(self) -> int:
        """From an append to the high watermark that covers it, at this time."""
        return self._replication_us(self._run.kernel.now)

    def on_new_leader(
        self, complete_us: int, wrote_until_us: int, now: int, *, clean: bool
    ) -> None:
        """Learn that another replica leads: what it has is known exactly here."""
        del complete_us, wrote_until_us, now, clean

    def copied_by(self, since_us: int, late_us: int = 0) -> int:
        """Return the time itself: what a follower has is known exactly here."""
        return since_us - late_us

    def is_behind(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower lacks records of its leader's log."""
        del until_us
        log = self.led.get(self.replicas.leader)
        return log is not None and log.is_behind(broker, now)

    def caught_up(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower has all that is safe, and all from before this epoch."""
        del until_us
        log = self.led.get(self.replicas.leader)
        return log is not None and log.caught_up(broker, now)

    def follow(self, log: LeaderLog, broker: int, late_us: int, cause: int | None) -> None:
        """Make a replica fetch from a leader; records beyond their common history are truncated."""
        copy = self._copies[broker]
        before = copy.end
        agreed = log.follow(copy, late_us, self._run.kernel.now)
        if agreed < before:
            truncated = LogTruncated(
                partition=self.replicas.partition,
                broker=broker,
                first=agreed,
                next_offset=before,
                leader_epoch=log.epoch,
            )
            self._run.recorder.write(truncated, cause)

    # -- requests --------------------------------------------------------------------------------

    def handle(self, envelope: Envelope, broker: int) -> None:
        """Handle a group request that has reached ``broker``."""
        host = self.hosts.get(broker)
        if host is not None:
            host.handle(envelope)
            return
        context = self._context
        topics = {topic.name: topic for topic in context.topics.describe(None)}
        for effect in reject_not_coordinator(envelope, self._run.broker_settings, topics):
            match effect:
                case Send(message=message):
                    context.answer(broker, envelope.header, message)
                case Report(fact=CommitRefused() as fact):
                    context.events.refused(fact)

    def new_member_id(self, prefix: str) -> str:
        """Return a new member id; without a prefix it is a bare ``Uuid``."""
        self._next_id += 1
        given = self._run.member_id(prefix)
        if given is not None:
            return given
        if not prefix:
            return base64_id(self._ids, self._next_id)
        return f"{prefix}-{text_id(self._ids, self._next_id)}"

    def topics_changed(self) -> None:
        """Pass the current topics to the coordinators."""
        for _, host in sorted(self.hosts.items()):
            host.topics_changed()

    def topic_deleted(self, topic: str, topic_id: str) -> None:
        """Make the coordinators drop the offsets of a deleted topic."""
        for _, host in sorted(self.hosts.items()):
            host.topic_deleted(topic, topic_id)

    def emit(self, host: Host, fact: Fact) -> None:
        """Write a fact that a coordinator reports."""
        if isinstance(fact, OffsetsDropped):
            for partition in fact.partitions:
                self._missing[fact.group, partition] = fact.why
        self._context.events.write(host, fact)

    # -- queries ---------------------------------------------------------------------------------

    def serves(self, broker: int) -> bool:
        """Return whether a broker has a coordinator that has loaded the log."""
        host = self.hosts.get(broker)
        return host is not None and host.serves

    @property
    def leader(self) -> int:
        """The leader in the controller's metadata."""
        return self.replicas.leader

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group; empty while its leader has not loaded them."""
        host = self.hosts.get(self.leader)
        if host is None:
            return {}
        topics = host.coordinator.state.durable.topics_of(group).items()
        return {
            TopicPartition(topic, number): value.offset
            for topic, partitions in topics
            for number, value in partitions.entries.items()  # in no order: it is looked up
        }

    def leaders_log(self) -> tuple[StoredLog, int]:
        """Return the leader's log and its end; without a leader, those of the last one."""
        broker = self.leader if self.leader in self._copies else self.replicas.isr[0]
        led = self.led.get(broker)
        copy = self._copies[broker]
        return (copy.log, copy.end) if led is None else (led.log, led.end)

    def why_missing(self, group: str, partition: TopicPartition) -> str:
        """Return why a partition has no committed offset: it never had one, or it was removed."""
        return self._missing.get((group, partition), "no offset")

    def check(self) -> None:
        """Assert the invariants of every coordinator."""
        for _, host in sorted(self.hosts.items()):
            host.check()


class OffsetsTopic:
    """The offsets partitions that groups of the scenario hash to, in order of their numbers."""

    def __init__(self) -> None:
        self._by_number: dict[int, Shard] = {}
        self._by_group: dict[str, Shard] = {}

    def add(self, shard: Shard) -> None:
        """Add a partition; its number is higher than those before."""
        self._by_number[shard.number] = shard
        self._by_group.update(dict.fromkeys(shard.groups, shard))

    def __iter__(self) -> Iterator[Shard]:
        return iter(self._by_number.values())

    def partition(self, number: int) -> Shard:
        """Return a partition by its number."""
        return self._by_number[number]

    def shard_of(self, group: str) -> Shard:
        """Return the offsets partition of a group."""
        return self._by_group[group]

    def handle(self, envelope: Envelope, broker: int) -> None:
        """Handle a group request that has reached ``broker``."""
        self.shard_of(_group_of(envelope.body)).handle(envelope, broker)


def _group_of(request: Any) -> str:
    """Return the group of a request to a coordinator; tools ask about one group at a time."""
    group: str = (
        request.group_ids[0] if isinstance(request, DeleteGroupsRequest) else request.group_id
    )
    return group
