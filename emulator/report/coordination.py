"""A group's offsets partition in the story of an entry: who led it, and how far its log was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC, Coordinators

LED = (
    ev.LeaderChanged,
    ev.IsrChanged,
    ev.LogTruncated,
    ev.PartitionStalled,
    ev.PartitionResumed,
)
SERVED = (ev.CoordinatorLoaded, ev.CoordinatorUnloaded, ev.AppendFailed)
BROKER_EVENTS = (ev.BrokerDown, ev.BrokerUp, ev.BrokerFenced, ev.BrokerUnfenced)


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where in an offsets partition something happened; None: that is not known."""

    partition: int
    log_offset: int | None
    """Of the record, or of the next one where there is none."""

    high_watermark: int | None
    leader_epoch: int | None
    broker: int | None


def position_of(what: ev.What) -> LogPosition | None:
    """Return where in the offsets log an event stands, if it says so."""
    if isinstance(what, ev.CommitAccepted):
        at = (what.log_offset, what.high_watermark, what.leader_epoch, what.broker)
        return _position(what.log_partition, *at)
    if isinstance(what, ev.CoordinatorLoaded):
        at = (what.log_end, what.high_watermark, what.leader_epoch, what.broker)
        return _position(what.log_partition, *at)
    if isinstance(what, ev.CoordinatorUnloaded):
        return _position(what.log_partition, -1, -1, what.leader_epoch, what.broker)
    if isinstance(what, ev.AppendFailed):
        return _position(what.log_partition, what.log_offset, -1, -1, what.broker)
    if isinstance(what, ev.LeaderChanged) and what.partition.topic == OFFSETS_TOPIC:
        return _position(what.partition.partition, -1, -1, what.epoch, what.broker)
    if isinstance(what, ev.LogTruncated) and what.partition.topic == OFFSETS_TOPIC:
        return _position(what.partition.partition, what.first, -1, what.leader_epoch, what.broker)
    return None


def _position(partition: int, *others: int) -> LogPosition | None:
    if partition < 0:
        return None
    return LogPosition(partition, *(None if number < 0 else number for number in others))


class Coordination:
    """The offsets partition of one group, and the brokers that ever coordinated it."""

    def __init__(self, group: str, events: Iterable[ev.Event]) -> None:
        self._partition: TopicPartition | None = None
        self._brokers: set[int] = set()
        self._successors: dict[int, int] = {}
        """Commits that a broker appended after it had been replaced, and who leads then."""

        coordinators = Coordinators()
        for event in events:
            what = event.what
            coordinators.follow(event)
            if isinstance(what, ev.Appended) and what.group == group:
                self._partition = TopicPartition(OFFSETS_TOPIC, what.log_partition)
                self._brokers.add(what.broker)
            elif isinstance(what, ev.CoordinatorMoved) and what.group == group:
                self._brokers.add(what.broker)
            elif isinstance(what, ev.CommitAccepted) and what.group == group:
                known = coordinators.of(group)
                if known.successor_of(what) is not None:
                    self._successors[event.id] = known.leader

    def successor(self, event: ev.Event) -> int | None:
        """Return who had replaced the broker that appends a commit; None: nobody."""
        return self._successors.get(event.id)

    def concerns(self, what: ev.What) -> bool:
        """Say whether an event is about the partition, or about a broker that coordinated."""
        if isinstance(what, BROKER_EVENTS):
            return what.broker in self._brokers
        if isinstance(what, LED):
            return what.partition == self._partition
        if isinstance(what, SERVED):
            return self._partition is not None and what.log_partition == self._partition.partition
        return False
