"""The topics of a run: their placement, and the metadata that brokers show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from assignors.types import TopicPartition
from emulator.scenario.estimates.periods import per_microsecond
from emulator.scenario.model import Bursts, Poisson, Topic
from emulator.scenario.resolution import factor_of
from emulator.scenario.tables.rates import segments_of
from emulator.world.cluster.partitions.arrivals import (
    NEVER,
    Alternating,
    Arrivals,
    Independent,
    Silent,
    Steady,
)
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.partitions.shown_log import CommittedLog, ShownLog, StaleLog
from emulator.world.cluster.replicas import NO_BROKER, Belief, ReplicaSet
from emulator.world.draws import base64_id, stream_key
from protocols.messages import (
    EpochEndOffset,
    EpochToCheck,
    MetadataRequest,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode
from protocols.messages.records import end_of_epoch


class TopicLog:
    """One topic in one incarnation, with its partitions."""

    def __init__(self, topic: Topic, topic_id: str, created_us: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.created_us = created_us
        self.partitions: list[PartitionLog] = []


def _leader_of(topic: Topic, number: int, brokers: int) -> int:
    """Return the first leader of a partition: as given, else in turn."""
    return topic.leaders[number] if number < len(topic.leaders) else number % brokers + 1


class Topics:
    """All topics of a run, as in the brokers' metadata."""

    def __init__(
        self,
        seed: int,
        brokers: int,
        replication_factor: int,
        replication_us: Callable[[str], int],
        racks: tuple[str, ...],
        ids: Mapping[str, str] | None = None,
        produced_from_us: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """Begin without topics.

        Of a real history, by name: *ids* of first incarnations, and *produced_from_us*, when the
        producer began in each incarnation.
        """
        self._seed = seed
        self._ids = ids or {}
        self._produced_from_us = produced_from_us or {}
        self._brokers = brokers
        self._placements: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Each placement of replicas, by itself: partitions share it."""

        self._replication_factor = replication_factor
        self._replication_us = replication_us
        self._racks = racks
        self._incarnations: dict[str, int] = {}
        self.logs: dict[str, TopicLog] = {}
        self._described: defaultdict[int, dict[str, TopicDescription]] = defaultdict(dict)
        """What each broker shows of topics, by name, since the last change of each."""

        self._stale: dict[
            tuple[TopicPartition, int], tuple[tuple[PartitionLog, Belief], StaleLog]
        ] = {}
        self._committed: dict[
            tuple[TopicPartition, int], tuple[PartitionLog | StaleLog, CommittedLog]
        ] = {}
        """What a broker shows of a partition, and the same for readers of committed records."""

    def create(self, topic: Topic, now: int) -> TopicLog:
        """Create a topic with its partitions; a recreated topic gets a new id."""
        number = self._incarnations.get(topic.name, 0)
        self._incarnations[topic.name] = number + 1
        begins_us = self._produced_from_us.get(topic.name, ())
        if 0 < number < len(begins_us):
            topic = topic.model_copy(update={"produce_from": begins_us[number]})
        key = stream_key(self._seed, "topic id", topic.name)
        given = None if number else self._ids.get(topic.name)
        log = TopicLog(topic, given or base64_id(key, number), now)
        self.logs[topic.name] = log
        self._extend(log, topic.partitions, topic.backlog, now)
        return log

    def add_partitions(self, log: TopicLog, to: int, now: int) -> None:
        """Grow a topic; new partitions begin empty and get records from now on."""
        self._extend(log, to, 0, now)

    def _extend(self, log: TopicLog, to: int, backlog: int, now: int) -> None:
        topic = log.topic
        changed = partial(self._forget, topic.name)
        changed()
        for number in range(len(log.partitions), to):
            arrivals = arrivals_of(topic, number, to, self._seed, now)
            partition = TopicPartition(topic.name, number)
            placement = self._place(topic, number)
            shared = self._placements.setdefault(placement, placement)
            replicas = ReplicaSet(partition, shared, changed)
            delay = self._replication_us(f"{topic.name}-{number}")
            log.partitions.append(PartitionLog(topic, arrivals, backlog, replicas, delay))

    def _place(self, topic: Topic, number: int) -> tuple[int, ...]:
        """Return the replicas of a partition, its leader first.

        Kafka places as many partitions as there are brokers by one list of all brokers, each beginning
        one broker further, then shuffles it (``StripedReplicaPlacer``). So if the leaders of these
        partitions differ, they are that list; else the brokers follow in the order of their numbers.
        """
        begin = number - number % self._brokers
        order = [_leader_of(topic, begin + step, self._brokers) for step in range(self._brokers)]
        place = number - begin
        if len(set(order)) < self._brokers:
            order, place = list(range(1, self._brokers + 1)), order[place] - 1
        factor = min(topic.replicas or self._replication_factor, self._brokers)
        return tuple(order[(place + step) % self._brokers] for step in range(factor))

    def delete(self, name: str) -> TopicLog:
        """Remove a topic and return it."""
        self._forget(name)
        return self.logs.pop(name)

    def _forget(self, name: str) -> None:
        """Discard the descriptions of a topic that changes."""
        for known in self._described.values():
            known.pop(name, None)

    def find(self, tp: TopicPartition) -> PartitionLog | None:
        """Return the log of a partition, None if there is no such partition."""
        log = self.logs.get(tp.topic)
        if log is None or tp.partition >= len(log.partitions):
            return None
        return log.partitions[tp.partition]

    def shown_by(
        self, broker: int, tp: TopicPartition, *, committed: bool = False
    ) -> ShownLog | None:
        """Return a partition by the metadata of one broker, which may be stale.

        *committed*: for a reader with ``isolation.level=read_committed``.
        """
        shown = self._shown_by(broker, tp)
        whole = self.find(tp) if committed else None
        if shown is None or whole is None or not whole.is_transactional:
            return shown
        view = self._committed.get((tp, broker))
        if view is None or view[0] is not shown:
            view = self._committed[tp, broker] = (shown, CommittedLog(whole, shown))
        return view[1]

    def _shown_by(self, broker: int, tp: TopicPartition) -> PartitionLog | StaleLog | None:
        log = self.find(tp)
        belief = None if log is None else log.replicas.belief(broker)
        if log is None or belief is None or belief.leader != broker:
            return log
        shown = self._stale.get((tp, broker))
        if shown is None or shown[0] != (log, belief):
            shown = self._stale[tp, broker] = ((log, belief), StaleLog(log, belief))
        return shown[1]

    def describe(
        self, names: tuple[str, ...] | None, broker: int = NO_BROKER
    ) -> tuple[TopicDescription, ...]:
        """Return topics as a metadata response of a broker shows them; None: all."""
        known = self._described[broker]
        wanted = (
            sorted(self.logs) if names is None else [name for name in names if name in self.logs]
        )
        for name in wanted:
            if name not in known:
                known[name] = self._describe(self.logs[name], broker)
        return tuple([known[name] for name in wanted])

    def requested(self, request: MetadataRequest) -> tuple[str, ...] | None:
        """Return the names of the topics that a request is for; None: all."""
        if request.topic_ids is None:
            return request.topics
        wanted = frozenset(request.topic_ids)
        return tuple(sorted(name for name, log in self.logs.items() if log.topic_id in wanted))

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

    def partitions(self) -> Iterator[tuple[TopicPartition, PartitionLog]]:
        """Yield every partition of every topic, in order."""
        for _, log in sorted(self.logs.items()):
            for partition in log.partitions:
                yield partition.replicas.partition, partition


def arrivals_of(
    topic: Topic, partition: int, partitions: int, seed: int, created_us: int
) -> Arrivals:
    """Return the arrivals in one partition of a topic that exists since ``created_us``.

    Streams of the partitions are staggered, so that their records do not arrive at once; not those of
    periodic bursts.
    """
    factor = factor_of(topic, partition)
    begin = max(topic.produce_from, topic.backlog_at, created_us)
    end = NEVER if topic.produce_until is None else topic.produce_until
    match topic.rate:
        case Poisson(poisson=rate) if rate * factor > 0:
            key = stream_key(seed, "arrivals", f"{topic.name}-{partition}")
            return Independent(rate * factor, key, begin, end)
        case Bursts(bursts=shape) if shape.every is not None and shape.rate * factor > 0:
            return Alternating(shape, factor, begin, end)
        case float() as rate if per_microsecond(rate * factor):
            period = 1 / per_microsecond(rate * factor)
            return Steady(period, begin + int(period * partition / partitions), end)
    return _varying(topic, factor, (begin, end), Fraction(partition, partitions))


def _varying(
    topic: Topic, factor: float, window_us: tuple[int, int], stagger: Fraction
) -> Arrivals:
    """Return the arrivals at a rate that changes; none at a rate of 0."""
    segments = segments_of(topic.rate)
    if segments is None or not factor:
        return Silent()
    from emulator.world.cluster.partitions.varying import Varying  # noqa: PLC0415  few topics need it

    return Varying(segments, factor, *window_us, stagger)


def end_offsets(
    request: OffsetsForLeaderEpochRequest, broker: int, topics: Topics, now: int
) -> OffsetsForLeaderEpochResponse:
    """Return the end offsets of the requested leader epochs in the logs that *broker* leads."""
    found = tuple(_end_offset(check, broker, topics, now) for check in request.partitions)
    return OffsetsForLeaderEpochResponse(end_offsets=found)


def _end_offset(check: EpochToCheck, broker: int, topics: Topics, now: int) -> EpochEndOffset:
    log = topics.shown_by(broker, check.partition)
    if log is None:
        return EpochEndOffset(check.partition, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = log.replicas.refusal(broker, check.current_leader_epoch)
    if error:
        return EpochEndOffset(check.partition, error=error)
    epoch, end = end_of_epoch(log.epochs, check.leader_epoch, log.end(now))
    return EpochEndOffset(check.partition, epoch, end)
