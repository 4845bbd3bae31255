"""What the parts of one run share: the clock, the wire, the brokers, the record of events.

A plain bundle, put together by :mod:`emulator.world.build`; it holds no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from emulator.events import TopicCreated
from emulator.scenario.model import Scenario
from emulator.world.cluster.loader import Loader
from emulator.world.cluster.topics import Topics
from emulator.world.kernel import Kernel
from emulator.world.network import Wire
from emulator.world.recorder import Causes, Recorder
from protocols.messages import coordinator_node
from protocols.offsets_topic.records import Record
from protocols.settings.consumer import BrokerSettings

if TYPE_CHECKING:
    from emulator.world.cluster.brokers import Brokers
    from emulator.world.cluster.controller import Controller
    from emulator.world.cluster.replication import Replication
    from emulator.world.cluster.shards import Shard
    from emulator.world.cluster.stalls import Stalls
    from emulator.world.cluster.stored_segment import LogFiles
    from emulator.world.consumer.consumers import Consumers
    from emulator.world.consumer.fetches import Fetches
    from emulator.world.router import Router
    from emulator.world.telling import EventWriter
    from emulator.world.triggers import Triggers


class Run:
    """One run's shared parts; those with types above are set once, while it is built."""

    triggers: Triggers
    brokers: Brokers
    controller: Controller
    consumers: Consumers
    fetches: Fetches
    router: Router
    replication: Replication
    shards: tuple[Shard, ...]
    stalls: Stalls
    events_of: EventWriter
    topics: Topics

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        kernel: Kernel,
        recorder: Recorder,
        broker_settings: BrokerSettings,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.kernel = kernel
        self.recorder = recorder
        self.broker_settings = broker_settings
        self.wire = Wire(scenario.network, seed)
        self.causes = Causes()
        start = scenario.start
        self.epoch_ms = 0 if start is None else int(start.timestamp() * 1000)
        self.folding = True
        """Whether calm consumers poll by arithmetic (:mod:`emulator.world.consumer.poll_loop`)."""

        self.appended: list[Callable[[tuple[Record, ...]], None]] = []
        """Called with every batch appended to the offsets topic."""

        self.log_files: LogFiles | None = None
        """Where the bytes of the offsets partitions go, if somebody wants them."""

        self.member_ids: Callable[[str], str | None] = lambda _prefix: None
        """Member ids to give out instead of made-up ones (replays of a real history)."""

        self.listened_us: Mapping[str, tuple[int, ...]] = {}
        """Before which instants the first listener calls of a process do not end (likewise)."""

        self._loaders: dict[int, Loader] = {}

    def shard_of(self, group: str) -> Shard:
        """Return the offsets partition of a group."""
        return next(shard for shard in self.shards if group in shard.groups)

    def loader(self, broker: int) -> Loader:
        """Return the thread of a broker that loads offsets partitions."""
        return self._loaders.setdefault(broker, Loader(self.kernel))

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return a group's committed offsets: the one accessor for those who look from outside."""
        return self.shard_of(group).committed(group)

    # -- topics ----------------------------------------------------------------------------------

    def create_topic(self, name: str, cause: int | None) -> None:
        """Create a topic of the scenario."""
        topic = next(topic for topic in self.scenario.topic if topic.name == name)
        log = self.topics.create(topic, self.kernel.now)
        created = TopicCreated(
            topic=name,
            topic_id=log.topic_id,
            log_starts=tuple(partition.start for partition in log.partitions),
        )
        event = self.causes.topics = self.recorder.write(created, cause)
        self.controller.adopt(event)
        self.topics_changed()

    def topics_changed(self) -> None:
        """Let coordinators and fetches under way see the topics as they are now."""
        for shard in self.shards:
            shard.topics_changed()
        self.fetches.plan_again()

    def broker_died(self, broker: int) -> None:
        """Break every connection to a broker that died, and end its coordinators."""
        for shard in self.shards:
            shard.discard(broker)
        self.loader(broker).clear()
        for process in self.fetches.disconnect(broker):
            self.router.break_connection(process, broker)
        for process in self.consumers.everyone():
            self.router.break_connection(process, coordinator_node(broker))
        self.router.broker_died(broker)
        self.fetches.plan_again()
