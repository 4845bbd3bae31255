"""Offsets partitions and the coordinators on them: hosts of the group machines.

A shard's coordinator lives on the broker that leads its offsets partition. When that changes,
the old one is unloaded and a new one replays the log, which takes its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from emulator.events import Appended, CoordinatorMoved
from emulator.scenario.model import Group
from emulator.world.cluster.brokers import NOBODY
from emulator.world.cluster.offsets_log import OffsetsLog, kind_of, size_of
from emulator.world.deadlines import Deadlines
from emulator.world.distributions import sampler
from emulator.world.draws import stream_key, text_id
from emulator.world.kernel import Rank
from protocols.classic.answers import refusal
from protocols.classic.coordinator import GroupCoordinator
from protocols.errors import ErrorCode
from protocols.facts import Fact, OffsetsDropped
from protocols.messages import Envelope, GroupRequest, Header, HeartbeatRequest, HeartbeatResponse
from protocols.step import Append, CancelTimer, Send, SetTimer, Step, Tell

if TYPE_CHECKING:
    from emulator.world.services import Services


class Shard:
    """One offsets partition that some group of the scenario hashes to."""

    def __init__(
        self,
        services: Services,
        number: int,
        replicas: tuple[int, ...],
        groups: Iterable[Group],
    ) -> None:
        self._services = services
        self.number = number
        self.groups = frozenset(group.id for group in groups)
        self.replicas = replicas
        self.leader = replicas[0]
        cluster = services.scenario.cluster
        key = stream_key(services.seed, "offsets replication", str(number))
        self.log = OffsetsLog(
            services.kernel, number, sampler(cluster.replication, key), self._durable
        )
        self._load_us = sampler(cluster.load, stream_key(services.seed, "load", str(number)))
        self._ids = stream_key(services.seed, "member ids", str(number))
        self._next_id = 0
        self._timers: Deadlines | None = None
        self._late: set[str] = set()
        """Timers that ran out while its broker was paused."""

        self.coordinator: GroupCoordinator | None = None
        self._loads = 0
        self.unloaded = False
        """Its broker died with it; nobody has taken over yet."""

        self._missing: dict[tuple[str, TopicPartition], str] = {}

    # -- life cycle ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Load the log into a new coordinator."""
        self.unloaded = False
        self.coordinator = GroupCoordinator(
            self._services.broker_settings,
            new_id=self._new_member_id,
            epoch_ms=self._services.epoch_ms,
        )
        self._timers = Deadlines(self._services.kernel, Rank.BROKER_TIMER, self.number, self._wake)
        self.topics_changed()
        for log_offset, record in self.log.read():
            self.coordinator.replay(record, log_offset)
        now = self._services.kernel.now
        self._carry_out(self.coordinator.durable(self.log.high_watermark, now))
        self._carry_out(self.coordinator.loaded(now, self.log.end))

    def _new_member_id(self, prefix: str) -> str:
        self._next_id += 1
        return self._services.member_ids(prefix) or f"{prefix}-{text_id(self._ids, self._next_id)}"

    def move(self, broker: int) -> None:
        """Let another broker (or none) lead this partition: unload here, load there."""
        self.unload()
        self.leader = broker
        self.unloaded = broker == NOBODY
        self._loads += 1
        load = self._loads
        if broker == NOBODY:
            return
        began = self._services.kernel.now
        when = began + self._load_us(began)

        def loaded(_: Any) -> None:
            if self._loads == load and self._services.brokers.answers(broker):
                self.begin()
                self._moved(began)

        self._services.kernel.at(when, Rank.BROKER_TIMER, self.number, loaded)

    def _moved(self, began_us: int) -> None:
        services = self._services
        for group in sorted(self.groups):
            moved = CoordinatorMoved(
                group=group,
                broker=self.leader,
                generation=self._generation(group),
                loaded_us=services.kernel.now - began_us,
            )
            services.recorder.write(moved, services.causes.brokers)

    def unload(self) -> None:
        """Let the coordinator go; every parked request is answered."""
        if self.coordinator is None:
            return
        step = self.coordinator.unload(self._services.kernel.now)
        self._carry_out(step)
        self.vanish()

    def vanish(self) -> None:
        """Let the coordinator go without a word: its broker died."""
        if self._timers is not None:
            self._timers.close()
        self._late.clear()
        self.coordinator = None
        self.unloaded = True

    # -- requests --------------------------------------------------------------------------------

    def handle(self, envelope: Envelope, broker: int) -> None:
        """Take a group request that has reached ``broker``."""
        now = self._services.kernel.now
        request: Any = envelope.body
        if broker != self.leader:
            answer = refusal(request, ErrorCode.NOT_COORDINATOR)
            self._services.post.answer(broker, envelope.header, answer)
        elif self.coordinator is None:
            self._services.post.answer(broker, envelope.header, _loading(request))
        else:
            self._carry_out(self.coordinator.handle(envelope, now))

    def _wake(self, timer: str, now: int) -> None:
        if self.coordinator is None:
            return
        if self._services.brokers.hold(self.leader, lambda: self._wake_late(timer)):
            self._late.add(timer)
        else:
            self._carry_out(self.coordinator.wake(timer, now))

    def _wake_late(self, timer: str) -> None:
        """Wake for a timer that a paused broker missed, unless it was set anew or cancelled."""
        if timer in self._late:
            self._late.remove(timer)
            self._wake(timer, self._services.kernel.now)

    def _durable(self, log_offset: int) -> None:
        if self.coordinator is not None:
            self._carry_out(self.coordinator.durable(log_offset, self._services.kernel.now))

    def topics_changed(self) -> None:
        """Let the coordinator know which topics there are."""
        if self.coordinator is not None:
            self.coordinator.topics_changed(self._services.topics.describe(None))

    def topic_deleted(self, topic: str, topic_id: str) -> None:
        """Let the coordinator drop the offsets of a topic that is gone."""
        if self.coordinator is not None:
            now = self._services.kernel.now
            self._carry_out(self.coordinator.topic_deleted(topic, topic_id, now))

    # -- queries ---------------------------------------------------------------------------------

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group; empty while nobody has loaded them."""
        if self.coordinator is None:
            return {}
        topics = self.coordinator.state.durable.topics_of(group).items()
        return {
            TopicPartition(topic, number): value.offset
            for topic, partitions in topics
            for number, value in partitions.items()
        }

    def _generation(self, group: str) -> int:
        if self.coordinator is None:
            return -1
        known = self.coordinator.state.groups.get(group)
        return -1 if known is None else known.generation

    def why_missing(self, group: str, partition: TopicPartition) -> str:
        """Return why a partition has no committed offset: never had one, or it vanished."""
        return self._missing.get((group, partition), "no offset")

    def _told(self, fact: Fact) -> None:
        if isinstance(fact, OffsetsDropped):
            for partition in fact.partitions:
                self._missing[fact.group, partition] = fact.why
        self._services.teller.coordinator(self, fact)

    # -- effects ---------------------------------------------------------------------------------

    def _carry_out(self, step: Step[Any]) -> None:
        for effect in step.effects:
            match effect:
                case Send(to=Header() as header, message=message):
                    self._services.post.answer(self.leader, header, message)
                case SetTimer(name=name, deadline_us=deadline):
                    assert self._timers is not None
                    self._late.discard(name)
                    self._timers.set(name, deadline)
                case CancelTimer(name=name):
                    assert self._timers is not None
                    self._late.discard(name)
                    self._timers.cancel(name)
                case Tell(fact=fact):
                    self._told(fact)
                case Append(records=records):
                    self._append(records)

    def _append(self, records: tuple[Any, ...]) -> None:
        first = self.log.append(records)
        kinds = Counter(kind_of(record) for record in records)
        appended = Appended(
            log_partition=self.number,
            group=records[0].key.group,
            log_offset=first,
            records=tuple(sorted(kinds.items())),
            size=sum(size_of(record) for record in records),
        )
        self._services.recorder.write(appended)
        for look in self._services.appended:
            look(records)


def _loading(request: GroupRequest) -> Any:
    """Answer while the log is being read (spec classic-coordinator 3, P4)."""
    if isinstance(request, HeartbeatRequest):
        return HeartbeatResponse()
    return refusal(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
