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
from emulator.world.draws import stream_key, topic_id
from protocols.messages import TopicDescription


class PartitionLog:
    """One partition: a backlog, then what its producer appends."""

    __slots__ = (
        "_arrival",
        "_arrivals",
        "_backlog",
        "_backlog_us",
        "_disturbed",
        "_freezes",
        "_frozen_us",
        "_replication_us",
        "leader",
        "record_size",
        "replicas",
        "start",
    )

    def __init__(
        self,
        topic: Topic,
        arrivals: Arrivals,
        backlog: int,
        replicas: tuple[int, ...],
        replication_us: int,
    ) -> None:
        self._arrivals = arrivals
        self._arrival = arrivals.time
        self._disturbed = False
        """Whether its high watermark ever stopped."""

        self._backlog = backlog
        self._backlog_us = topic.backlog_at
        self._replication_us = replication_us
        self._frozen_us: int | None = None
        self._freezes: list[tuple[int, int]] = []
        self.replicas = replicas
        self.leader = replicas[0]
        self.record_size = topic.record_size
        self.start = 0

    def end(self, now: int) -> int:
        """Return the log end offset: everything appended by ``now``."""
        before = self._backlog if now >= self._backlog_us else 0
        return before + self._arrivals.count(now)

    def high_watermark(self, now: int) -> int:
        """Return the offset below which everything is visible at ``now``."""
        return self.end(self._as_of(now))

    def _as_of(self, now: int) -> int:
        """Return the append time up to which records are visible at ``now``."""
        if not self._disturbed:
            return now - self._replication_us
        if self._frozen_us is not None and now >= self._frozen_us:
            now = self._frozen_us
        else:
            for begin, until in self._freezes:
                if begin <= now < until:
                    now = begin
                    break
        return now - self._replication_us

    def visible_us(self, offset: int) -> int:
        """Return when the record at ``offset`` becomes visible.

        ``NEVER`` while the high watermark is stopped and nobody knows for how long.
        """
        if offset < self._backlog:
            when = self._backlog_us + self._replication_us
        else:
            when = self._arrival(offset - self._backlog) + self._replication_us
        if not self._disturbed:
            return when
        for begin, until in self._freezes:
            if begin < when < until:
                return until
        if self._frozen_us is not None and when > self._frozen_us:
            return NEVER
        return min(when, NEVER)

    def appended_at(self, offset: int) -> int:
        """Return when the record at ``offset`` is appended; backlog: when it was there."""
        if offset < self._backlog:
            return self._backlog_us
        return self._arrivals.time(offset - self._backlog)

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none yet."""
        offset = max(self.end(instant_us - 1), self.start) if instant_us > 0 else self.start
        return offset if offset < self.high_watermark(now) else -1

    def freeze(self, now: int) -> None:
        """Stop the high watermark: a replica in sync no longer fetches."""
        if self._frozen_us is None:
            self._frozen_us = now
            self._disturbed = True

    def thaw(self, now: int) -> None:
        """Let the high watermark move again."""
        if self._frozen_us is not None:
            self._freezes = [*self._freezes[-7:], (self._frozen_us, now)]
            self._frozen_us = None

    def retain(self, oldest_us: int) -> bool:
        """Drop what was appended before ``oldest_us``; say whether there was any."""
        before = self.start
        self.start = max(before, self.end(oldest_us - 1) if oldest_us > 0 else 0)
        return self.start > before


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
            replicas = self._place(topic, number)
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

    def describe(self, names: tuple[str, ...] | None) -> tuple[TopicDescription, ...]:
        """Return topics as a metadata response shows them; None: all."""
        wanted = sorted(self.logs) if names is None else names
        return tuple(self._describe(self.logs[name]) for name in wanted if name in self.logs)

    def _describe(self, log: TopicLog) -> TopicDescription:
        racks: tuple[tuple[str, ...], ...] = ()
        if self._racks:
            racks = tuple(
                tuple(self._racks[(broker - 1) % len(self._racks)] for broker in p.replicas)
                for p in log.partitions
            )
        leaders = tuple(p.leader for p in log.partitions)
        return TopicDescription(log.topic.name, log.topic_id, leaders, racks)

    def partitions(self) -> list[tuple[TopicPartition, PartitionLog]]:
        """Return every partition of every topic, in order."""
        return [
            (TopicPartition(name, number), partition)
            for name, log in sorted(self.logs.items())
            for number, partition in enumerate(log.partitions)
        ]
