"""Consumers of Kafka 0.8 that keep their offsets in Kafka, and with dual commit in ZooKeeper, too.

The migration of a group from ZooKeeper: members with ``offsets.storage=kafka`` commit to the coordinator,
and with ``dual.commit.enabled`` write each offset that it has accepted to ZooKeeper, too, and begin at the
larger of both. Source: ``ZookeeperConsumerConnector.commitOffsets`` and ``fetchOffsets`` of Kafka 0.8.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from assignors.types import TopicPartition
from emulator.world.consumer.handling.handler import Ending
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.kernel import Rank, Then
from protocols.facts import CommitKind
from protocols.messages import UNKNOWN_EPOCH, OffsetToCommit
from protocols.settings import OldConsumerSettings, fields_by_name

if TYPE_CHECKING:
    from emulator.world.store_requests import Offsets

Ends = dict[TopicPartition, int]


class Storage(NamedTuple):
    """Where a process keeps its offsets."""

    kafka: bool
    dual: bool


def storage_of(process: ConsumerProcess) -> Storage:
    """Return where a process keeps its offsets, by its settings."""
    blueprint, fields = process.blueprint, fields_by_name(OldConsumerSettings)
    given = blueprint.group.settings | blueprint.member.settings
    named: Any = {fields[name]: value for name, value in given.items() if name in fields}
    settings = OldConsumerSettings(**named)
    in_kafka = settings.offsets_storage == "kafka"
    return Storage(in_kafka, in_kafka and settings.dual_commit_enabled)


class CommitTimer:
    """The thread of a consumer of Kafka 0.8 that commits at an interval."""

    def __init__(
        self, process: ConsumerProcess, interval_us: int, commit: Callable[[Ends, Then], None]
    ) -> None:
        """*commit*: commits offsets, and continues when it is done."""
        self._process = process
        self._kernel = process.run.kernel
        self._interval_us = interval_us
        self._commit = commit
        self._tick_after(self._kernel.now + interval_us)

    def _tick_after(self, when: int) -> None:
        at = max(self._kernel.now, when)
        self._kernel.at(at, Rank.CLIENT_TIMER, self._process.index, lambda _: self._tick())

    def _tick(self) -> None:
        """Commit what was handed to the handler, the record in progress included.

        ``ConsumerIterator.next`` moves the offset when it returns a record, not when it is processed.
        """
        process, due_us = self._process, self._kernel.now
        if not process.alive or process.hold(self._tick):
            return
        process.unfold()
        process.settle()
        progress = process.progress
        ends = {tp: done for tp in progress.owned if (done := progress.done(tp)) is not None}
        for tp, offset, _ in process.application.records_in_progress():
            if tp in ends:
                ends[tp] = offset + 1
        self._commit(ends, lambda: self._tick_after(due_us + self._interval_us))


class Mirror(Protocol):
    """The writes of a process to ZooKeeper."""

    def note_read(self, offsets: Offsets) -> None:
        """Note the offsets at which the process begins."""

    def write(self, ends: Ends, kind: str, then: Then) -> bool:
        """Write offsets, then continue."""


class KafkaCommits:
    """The commits of a process with ``offsets.storage=kafka``."""

    def __init__(self, process: ConsumerProcess, mirror: Mirror | None) -> None:
        """*mirror*: its writes to ZooKeeper; None: without dual commit."""
        self._process = process
        self._mirror = mirror

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Count records as processed when the handler has finished them."""
        self._process.progress.worked(tp, next_offset, began_us)

    def abandon(self) -> None:
        """Do nothing: writes that were sent take effect."""

    def note_read(self, offsets: Offsets) -> None:
        """Note the offsets at which the process begins."""
        if self._mirror is not None:
            self._mirror.note_read(offsets)

    def write(self, _ends: Ends, _kind: str, _then: Then) -> bool:
        """Return False: the client commits to Kafka."""
        return False

    def commit(self, ends: Ends, then: Then) -> None:
        """Commit to Kafka without waiting, as the timer does."""
        process = self._process
        if ends and process.application.ending is not Ending.BEGUN:
            offsets = tuple(OffsetToCommit(tp, end, UNKNOWN_EPOCH) for tp, end in ends.items())
            process.carry_out(process.client.commit_async(process.run.kernel.now, offsets))
        then()

    def accepted(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Write offsets to ZooKeeper that Kafka has accepted, with dual commit."""
        if self._mirror is not None:
            ends = {entry.partition: entry.offset for entry in offsets}
            self._mirror.write(ends, CommitKind.DUAL.value, lambda: None)

    def finish(self, then: Then) -> None:
        """Continue when ZooKeeper has everything that Kafka has accepted."""
        if self._mirror is None:
            then()
        else:
            self._mirror.write({}, CommitKind.DUAL.value, then)
