"""All connected parts of one run, and operations on several of them."""

from __future__ import annotations

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import OffsetGaps, TopicCreated
from emulator.scenario.isolation import committed_readers
from emulator.scenario.model import Topic
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.hosts import CoordinatorContext
from emulator.world.cluster.partitions.offset_gaps import committed_gaps_of, gaps_of
from emulator.world.cluster.replication import Replication
from emulator.world.cluster.shards import OffsetsTopic
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.consumers import Consumers
from emulator.world.router import Router
from emulator.world.run import Run
from protocols.messages import coordinator_node


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The parts of one run."""

    run: Run
    topics: Topics
    brokers: Brokers
    controller: Controller
    replication: Replication
    offsets_topic: OffsetsTopic
    coordinators: CoordinatorContext
    router: Router
    consumers: Consumers

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return a group's committed offsets, for readers outside the cluster."""
        store = self.run.stores.get(group)
        if store is not None:
            return store.committed(group, [tp for tp, _ in self.topics.partitions()])
        return self.offsets_topic.shard_of(group).committed(group)

    def create_topic(self, name: str, cause: int | None) -> None:
        """Create a topic of the scenario."""
        run = self.run
        topic = next(topic for topic in run.scenario.topic if topic.name == name)
        log = self.topics.create(topic, run.kernel.now)
        created = TopicCreated(
            topic=name,
            topic_id=log.topic_id,
            log_starts=tuple(partition.start for partition in log.partitions),
        )
        event = run.causes.topics = run.recorder.write(created, cause)
        self.controller.adopt(event)
        self._write_gaps(topic, log.topic_id, event)
        self.on_topics_changed()

    def _write_gaps(self, topic: Topic, topic_id: str, cause: int) -> None:
        """Write which offsets of a new topic hold no record, for all groups and for some."""
        gaps, committed = gaps_of(topic), committed_gaps_of(topic)
        if gaps is None:
            return
        found = {"": gaps}
        if committed is not None and committed != gaps:
            found |= dict.fromkeys(committed_readers(self.run.scenario, topic), committed)
        for group, each in found.items():
            what = OffsetGaps(topic=topic.name, topic_id=topic_id, group=group, **each._asdict())
            self.run.recorder.write(what, cause)

    def on_topics_changed(self) -> None:
        """Update coordinators and fetches in flight after a change of topics."""
        for shard in self.offsets_topic:
            shard.topics_changed()
        self.consumers.plan_again()

    def on_broker_died(self, broker: int) -> None:
        """Break every connection to a broker that died, and discard its coordinators."""
        for shard in self.offsets_topic:
            shard.discard(broker)
        self.coordinators.loaders.of(broker).clear()
        for process in self.consumers.disconnect(broker):
            self.router.connections.break_off(process, broker)
        for process in self.consumers.everyone():
            self.router.connections.break_off(process, coordinator_node(broker))
        self.router.on_broker_died(broker)
        self.consumers.plan_again()
