"""The topics of a run: logs as arithmetic, their high watermarks, their leaders.

A record is visible to consumers when its high watermark has passed it: one replication delay
after it was appended, unless a replica that counts as in sync has stopped (real-kafka 2.8):
then nothing of the partition becomes visible until that is noticed or over.
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.types import TopicPartition
from emulator.scenario.model import Topic
from emulator.world.cluster.arrivals import NEVER, Arrivals, arrivals_of
from emulator.world.cluster.replicas import NOBODY, Belief, ReplicaSet
from emulator.world.cluster.visibility import Visibility
from emulator.world.draws import stream_key, topic_id
from protocols.messages import EpochStart, TopicDescription


class PartitionLog:
    """One partition: a backlog, then what its producer appends."""

    __slots__ = (
        "_arrival",
        "_arrivals",
        "_backlog",
        "_backlog_us",
        "_epochs",
        "_replication_us",
        "_visibility",
        "record_size",
        "replicas",
        "start",
    )

    def __init__(
        self,
        topic: Topic,
        arrivals: Arrivals,
        backlog: int,
        replicas: ReplicaSet,
        replication_us: int,
    ) -> None:
        self._arrivals = arrivals
        self._arrival = arrivals.time
        self._backlog = backlog
        self._backlog_us = topic.backlog_at
        self._replication_us = replication_us
        self._visibility: Visibility | None = None
        """None: its high watermark never stopped."""

        self._epochs: tuple[EpochStart, ...] = (EpochStart(0, 0),)
        self.replicas = replicas
        self.record_size = topic.record_size
        self.start = 0

    def end(self, now: int) -> int:
        """Return the log end offset: everything appended by ``now``."""
        before = self._backlog if now >= self._backlog_us else 0
        return before + self._arrivals.count(now)

    def high_watermark(self, now: int) -> int:
        """Return the offset below which everything is visible at ``now``."""
        if self._visibility is None:
            return self.end(now - self._replication_us)
        return self.end(self._visibility.as_of(now))

    def visible_us(self, offset: int) -> int:
        """Return when the record at ``offset`` becomes visible.

        ``NEVER`` while the high watermark is stopped and nobody knows for how long.
        """
        if self._visibility is None:
            if offset < self._backlog:
                return self._backlog_us + self._replication_us
            return self._arrival(offset - self._backlog) + self._replication_us
        return self._visibility.when(self.appended_at(offset))

    def led_by(self, broker: int) -> bool:
        """Say whether a broker believes that it leads this partition."""
        return self.replicas.led_by(broker)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """Where the records of each leader epoch begin, rising."""
        for epoch, began_us in self.replicas.elections[len(self._epochs) :]:
            self._epochs += (EpochStart(epoch, self.end(began_us)),)
        return self._epochs

    def appended_at(self, offset: int) -> int:
        """Return when the record at ``offset`` is appended; backlog: when it was there."""
        if offset < self._backlog:
            return self._backlog_us
        return self._arrivals.time(offset - self._backlog)

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none yet."""
        offset = max(self.end(instant_us - 1), self.start) if instant_us > 0 else self.start
        return offset if offset < self.high_watermark(now) else -1

    # -- replicas --------------------------------------------------------------------------------

    def stand(self, now: int) -> None:
        """Stop the high watermark: a replica in sync no longer fetches, or too few are in sync."""
        if self._visibility is None:
            self._visibility = Visibility(self._replication_us)
        self._visibility.stand(now)

    def move(self, now: int, late_us: int = 0) -> None:
        """Let the high watermark move, so much later than on disks that are not slow."""
        if self._visibility is None:
            if not late_us:
                return
            self._visibility = Visibility(self._replication_us)
        self._visibility.move(now, late_us)

    def copied_by(self, since_us: int, late_us: int = 0) -> int:
        """Return up to which append time a follower has the records that fetched until then.

        Half of a replication is under way to it, the other half back.
        """
        return since_us - self._replication_us // 2 - late_us

    def is_behind(self, broker: int, until_us: int, now: int) -> bool:
        """Say whether a follower that has everything appended until then lacks something."""
        del broker
        return self.end(now) > self.end(until_us)

    def caught_up(self, broker: int, until_us: int, now: int) -> bool:
        """Say whether a follower that has everything appended until then has all that is safe."""
        del broker
        return self.end(until_us) >= self.high_watermark(now)

    @property
    def replication_us(self) -> int:
        """From an append to the high watermark that covers it, undisturbed."""
        return self._replication_us

    def led_anew(self, complete_us: int, *, clean: bool) -> None:
        """Learn that another replica leads, whose copy is complete up to an append time.

        The seam for losing topic data: what was appended later than ``complete_us`` is not in
        the new leader's log. Here its producer is taken to write it again in the same places,
        so the log stays whole; a log that is truncated begins a new incarnation at this point,
        and consumers find out by the leader epoch (KIP-320).
        """
        del complete_us, clean

    def retain(self, oldest_us: int) -> bool:
        """Drop what was appended before ``oldest_us``; say whether there was any."""
        before = self.start
        self.start = max(before, self.end(oldest_us - 1) if oldest_us > 0 else 0)
        return self.start > before


class StaleLog:
    """A partition as a broker shows it that no longer leads it and does not know: it stands."""

    __slots__ = ("_epoch", "_log", "_until_us", "record_size", "replicas")

    def __init__(self, log: PartitionLog, belief: Belief) -> None:
        self._log = log
        self._epoch = belief.epoch
        self._until_us = belief.until_us
        self.replicas = log.replicas
        self.record_size = log.record_size

    @property
    def start(self) -> int:
        """The log start offset."""
        return self._log.start

    def end(self, now: int) -> int:
        """Return the log end offset."""
        return self._log.end(min(now, self._until_us))

    def high_watermark(self, now: int) -> int:
        """Return the offset below which everything is visible at ``now``."""
        return self._log.high_watermark(min(now, self._until_us))

    def visible_us(self, offset: int) -> int:
        """Return when the record at ``offset`` became visible; ``NEVER`` if it does not."""
        when = self._log.visible_us(offset)
        return when if when <= self._until_us else NEVER

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none."""
        return self._log.first_at_or_after(instant_us, min(now, self._until_us))

    def led_by(self, broker: int) -> bool:
        """Say whether a broker believes that it leads this partition."""
        return self._log.led_by(broker)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """Where the records of each leader epoch begin that this leader has heard of."""
        return tuple(start for start in self._log.epochs if start.epoch <= self._epoch)


ShownLog = PartitionLog | StaleLog
"""A partition as one broker shows it."""


class TopicLog:
    """One topic in one incarnation, with its partitions."""

    def __init__(self, topic: Topic, topic_id: str, created_us: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.created_us = created_us
        self.partitions: list[PartitionLog] = []


class Topics:
    """All topics of a run, as the brokers' metadata knows them."""

    def __init__(
        self,
        seed: int,
        brokers: int,
        replication_factor: int,
        replication_us: Callable[[str], int],
        racks: tuple[str, ...],
    ) -> None:
        self._seed = seed
        self._brokers = brokers
        self._replication_factor = replication_factor
        self._replication_us = replication_us
        self._racks = racks
        self._incarnations: dict[str, int] = {}
        self.logs: dict[str, TopicLog] = {}
        self._stale: dict[
            tuple[TopicPartition, int], tuple[tuple[PartitionLog, Belief], StaleLog]
        ] = {}

    def create(self, topic: Topic, now: int) -> TopicLog:
        """Make a topic with its partitions; a name used again gets a new id."""
        number = self._incarnations.get(topic.name, 0)
        self._incarnations[topic.name] = number + 1
        key = stream_key(self._seed, "topic id", topic.name)
        log = TopicLog(topic, topic_id(key, number), now)
        self.logs[topic.name] = log
        self._extend(log, topic.partitions, topic.backlog, now)
        return log

    def add_partitions(self, log: TopicLog, to: int, now: int) -> None:
        """Grow a topic; new partitions begin empty and get records from now on."""
        self._extend(log, to, 0, now)

    def _extend(self, log: TopicLog, to: int, backlog: int, now: int) -> None:
        topic = log.topic
        for number in range(len(log.partitions), to):
            arrivals = arrivals_of(topic, number, to, self._seed, now)
            partition = TopicPartition(topic.name, number)
            replicas = ReplicaSet(partition, self._place(topic, number))
            delay = self._replication_us(f"{topic.name}-{number}")
            log.partitions.append(PartitionLog(topic, arrivals, backlog, replicas, delay))

    def _place(self, topic: Topic, number: int) -> tuple[int, ...]:
        first = topic.leaders[number] if number < len(topic.leaders) else number % self._brokers + 1
        factor = min(topic.replication or self._replication_factor, self._brokers)
        return tuple((first - 1 + step) % self._brokers + 1 for step in range(factor))

    def delete(self, name: str) -> TopicLog:
        """Take a topic away and return it."""
        return self.logs.pop(name)

    def find(self, tp: TopicPartition) -> PartitionLog | None:
        """Return the log of a partition, None if there is no such partition."""
        log = self.logs.get(tp.topic)
        if log is None or tp.partition >= len(log.partitions):
            return None
        return log.partitions[tp.partition]

    def shown_by(self, broker: int, tp: TopicPartition) -> ShownLog | None:
        """Return a partition as one broker shows it: one out of touch may think it leads it."""
        log = self.find(tp)
        belief = None if log is None else log.replicas.belief(broker)
        if log is None or belief is None or belief.leader != broker:
            return log
        shown = self._stale.get((tp, broker))
        if shown is None or shown[0] != (log, belief):
            shown = self._stale[tp, broker] = ((log, belief), StaleLog(log, belief))
        return shown[1]

    def describe(
        self, names: tuple[str, ...] | None, broker: int = NOBODY
    ) -> tuple[TopicDescription, ...]:
        """Return topics as a metadata response of a broker shows them; None: all."""
        wanted = sorted(self.logs) if names is None else names
        return tuple(
            self._describe(self.logs[name], broker) for name in wanted if name in self.logs
        )

    def _describe(self, log: TopicLog, broker: int) -> TopicDescription:
        racks: tuple[tuple[str, ...], ...] = ()
        if self._racks:
            racks = tuple(
                tuple(self._racks[(b - 1) % len(self._racks)] for b in p.replicas.brokers)
                for p in log.partitions
            )
        leaders = tuple(p.replicas.leader_known_to(broker) for p in log.partitions)
        epochs = tuple(p.replicas.epoch_known_to(broker) for p in log.partitions)
        return TopicDescription(log.topic.name, log.topic_id, leaders, racks, epochs)

    def partitions(self) -> list[tuple[TopicPartition, PartitionLog]]:
        """Return every partition of every topic, in order."""
        return [
            (TopicPartition(name, number), partition)
            for name, log in sorted(self.logs.items())
            for number, partition in enumerate(log.partitions)
        ]
