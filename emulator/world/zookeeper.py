"""Offsets in ZooKeeper: the ensemble in virtual time, and the commits of each process to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from assignors.types import TopicPartition
from emulator.events import CommitSent, OffsetsStored
from emulator.scenario.model import ZooKeeper
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.dual_commits import CommitTimer, KafkaCommits, storage_of
from emulator.world.kernel import Kernel, Rank, Then
from emulator.world.store_requests import (
    Offsets,
    answer,
    begin_commit,
    stored,
    write_answer,
    write_read,
)
from emulator.world.store_service import StoreService
from protocols.consumer.store_history import NOTHING_STORED, Key
from protocols.consumer.zookeeper import NO_VERSION, Ensemble, znode_of
from protocols.messages import OffsetFetchRequest, OffsetToCommit

BAD_VERSION = "BadVersion"
InKafka = Callable[[str], Mapping[TopicPartition, int]]


class EnsembleHost:
    """The ensemble of a run."""

    def __init__(self, kernel: Kernel, table: ZooKeeper, seed: int, in_kafka: InKafka) -> None:
        """*in_kafka*: returns the offsets of a group in ``__consumer_offsets``."""
        self._kernel = kernel
        self._timeout_us = table.connection_timeout
        self.versioned = table.versioned
        self._claims = table.versioned and table.claim
        self.service = StoreService(kernel, "zookeeper", table, seed)
        self.ensemble = Ensemble(table.writes)
        self._commits: dict[str, ZooKeeperCommits | KafkaCommits] = {}
        self._in_kafka = in_kafka
        self._migrating: set[str] = set()
        """Groups of which a member has started with ``offsets.storage=kafka``."""

    def commits_of(self, process: ConsumerProcess) -> ZooKeeperCommits | KafkaCommits:
        """Return the commits of a process that has just started; it needs a connection in time."""
        if self.service.down:
            self._await_connection(process)
        storage, interval_us = storage_of(process), process.blueprint.zookeeper_commit_us
        writes = ZooKeeperCommits(process, self)
        if not storage.kafka:
            self._commits[process.name] = writes
            if interval_us is not None:
                CommitTimer(process, interval_us, lambda ends, then: _write(writes, ends, then))
            return writes
        self._migrating.add(process.blueprint.group.id)
        commits = KafkaCommits(process, writes if storage.dual else None)
        self._commits[process.name] = commits
        if interval_us is not None:
            CommitTimer(process, interval_us, commits.commit)
        return commits

    def accepted(self, process: ConsumerProcess, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Take offsets that Kafka has accepted from a process with ``offsets.storage=kafka``."""
        commits = self._commits[process.name]
        if isinstance(commits, KafkaCommits):
            commits.accepted(offsets)

    def _await_connection(self, process: ConsumerProcess) -> None:
        """End a process that does not connect in time (``ZkClient.connect``)."""
        connected = False

        def connect() -> None:
            nonlocal connected
            connected = True

        def time_out(_: Any) -> None:
            if not connected and process.alive and not process.hold(lambda: time_out(_)):
                process.stop("failed", self.service.fault, "ZkTimeoutException")

        self.service.when_up(connect)
        self._kernel.at(
            self._kernel.now + self._timeout_us, Rank.CLIENT_TIMER, process.index, time_out
        )

    def stop(self, fault: int) -> None:
        """Make it unavailable; writes and reads in flight have no effect."""
        self.ensemble.queue.clear()
        self.service.stop(fault)

    def restore(self, offsets: Mapping[Key, int]) -> None:
        """Replace all offsets by those of a backup; consumers that run do not notice."""
        self.ensemble.restore({znode_of(*key): offset for key, offset in offsets.items()})

    def committed(self, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the stored offsets of a group, for readers outside the cluster."""
        found = dict(self._read(group, partitions, dual=group in self._migrating))
        return {tp: offset for tp, offset in found.items() if offset != NOTHING_STORED}

    def _read(self, group: str, partitions: Iterable[TopicPartition], *, dual: bool) -> Offsets:
        """Return stored offsets; with *dual*, the larger of those in ZooKeeper and in Kafka."""
        others = self._in_kafka(group) if dual else {}
        return tuple(
            (tp, max(self.ensemble.read(znode_of(group, tp)), others.get(tp, NOTHING_STORED)))
            for tp in partitions
        )

    def fetch(
        self, process: ConsumerProcess, correlation_id: int, request: OffsetFetchRequest
    ) -> bool:
        """Read offsets for a process, one partition after the other, and answer its client.

        Return False if its offsets are in Kafka alone. The client waits for a lost connection as long
        as it takes (``ZkClient.retryUntilConnected``).
        """
        storage = storage_of(process)
        if storage.kafka and not storage.dual:
            return False
        group, asked_us = process.blueprint.group.id, self._kernel.now
        partitions = request.partitions or ()

        def found() -> None:
            offsets = self._read(group, partitions, dual=storage.dual)
            if process.alive:
                write_read(process, offsets, asked_us)
                self._commits[process.name].note_read(offsets)
                answer(process, correlation_id, offsets)

        def read() -> None:
            when = self._kernel.now
            for _ in partitions:
                when += self.service.read_us(process.blueprint.name, when)
            claim = partial(self._claim, process, list(partitions), found, again)
            then = claim if self._claims else found
            self.service.finish(when, Rank.AT_CLIENT, process.index, then, again)

        def again() -> None:
            self.service.when_up(read)

        again()
        return True

    def _claim(
        self, process: ConsumerProcess, left: list[TopicPartition], then: Then, again: Then
    ) -> None:
        """Write the offsets of partitions as they are, one after the other: their versions rise."""
        group = process.blueprint.group.id
        while left and self.ensemble.version(znode_of(group, left[0])) == NO_VERSION:
            left.pop(0)
        if not left or not process.alive:
            then()
            return
        path = znode_of(group, left.pop(0))

        def written() -> None:
            self.ensemble.write(path, self.ensemble.read(path))
            self._claim(process, left, then, again)

        latency_us = self.service.write_us(process.blueprint.name)
        _, when = self.ensemble.queue.submit(self._kernel.now, latency_us)
        self.service.finish(when, Rank.AT_BROKER, process.index, written, again)


def _write(writes: ZooKeeperCommits, ends: dict[TopicPartition, int], then: Then) -> None:
    writes.write(ends, "auto", then)


class ZooKeeperCommits:
    """The commits of one process: one write a partition, each after the answer to the one before.

    Source: ``ZookeeperConsumerConnector.commitOffsets`` and ``commitOffsetToZooKeeper`` of Kafka
    0.8.2. Commits of the application and of the timer take turns; an offset that was written last
    is not written again (``checkpointedZkOffsets``).
    """

    def __init__(self, process: ConsumerProcess, host: EnsembleHost) -> None:
        self._process = process
        self._host = host
        self._kernel = process.run.kernel
        self._written: dict[TopicPartition, int] = {}
        self._versions: dict[TopicPartition, int] = {}
        """The version of each znode that this process read or wrote last."""

        self._rounds: deque[tuple[list[tuple[TopicPartition, int]], str, Then]] = deque()
        self._writing = False
        self._count = 0

    # -- rounds ------------------------------------------------------------------------------------

    def write(self, ends: dict[TopicPartition, int], kind: str, then: Then) -> bool:
        """Write offsets, one after the other, and continue when the last one is answered."""
        self._rounds.append((list(ends.items()), kind, then))
        if not self._writing:
            self._go_on()
        return True

    def finish(self, then: Then) -> None:
        """Continue: a write that is waited for says itself when it is done."""
        then()

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Count records as processed when the handler has finished them."""
        self._process.progress.worked(tp, next_offset, began_us)

    def abandon(self) -> None:
        """Do nothing: writes that were sent take effect."""

    def note_read(self, offsets: Offsets) -> None:
        """Note the offsets at which the process begins: they are in ZooKeeper."""
        self._written.update(offsets)
        for tp, _ in offsets:
            self._note_version(tp)

    def _note_version(self, tp: TopicPartition) -> None:
        path = znode_of(self._process.blueprint.group.id, tp)
        self._versions[tp] = self._host.ensemble.version(path)

    def _go_on(self) -> None:
        """Send the next write; end the rounds that have none left."""
        while self._rounds and self._process.alive:
            left, kind, then = self._rounds[0]
            while left:
                tp, offset = left.pop(0)
                if self._written.get(tp) != offset:
                    self._writing = True
                    self._send(tp, offset, kind)
                    return
            self._rounds.popleft()
            then()
            if self._writing:
                return

    def _send(self, tp: TopicPartition, offset: int, kind: str) -> None:
        process, now = self._process, self._kernel.now
        process.settle()
        process.progress.write_all((tp,))
        self._count += 1
        done = process.progress.done(tp)
        if done is not None and not process.blueprint.commit.off_by_one:
            done = min(done, offset)  # the handler may have finished more since the round began
        processed = (-1 if done is None else done,)
        sent = begin_commit(process, f"zk{self._count}", kind, ((tp, offset),), processed)
        self._submit(sent, now)

    def _submit(self, sent: CommitSent, sent_us: int) -> None:
        """Send a write as soon as the ensemble is available; again if the connection is lost."""
        self._host.service.when_up(lambda: self._take_turn(sent, sent_us))

    def _take_turn(self, sent: CommitSent, sent_us: int) -> None:
        process, host, now = self._process, self._host, self._kernel.now
        if not process.alive or process.hold(lambda: self._submit(sent, sent_us)):
            return
        queued_us, when = host.ensemble.queue.submit(now, host.service.write_us(sent.consumer))
        commit = stored("zookeeper", sent, sent_us, now - sent_us + queued_us)
        host.service.finish(
            when,
            Rank.AT_BROKER,
            process.index,
            lambda: self._stored(commit),
            lambda: self._submit(sent, sent_us),
        )

    def _stored(self, commit: OffsetsStored) -> None:
        """Take effect: a write that was sent does, also if its process has ended meanwhile."""
        ((tp, offset),) = commit.offsets
        version = self._versions.get(tp, NO_VERSION) if self._host.versioned else None
        if not self._host.ensemble.write(znode_of(commit.group, tp), offset, version):
            self._answered(commit, BAD_VERSION)
            return
        self._note_version(tp)
        self._host.service.note({(commit.group, tp): offset}, {})
        self._process.run.recorder.write_data(commit)
        self._answered(commit, "NONE")

    def _answered(self, commit: OffsetsStored, error: str) -> None:
        process = self._process
        if not process.alive or process.hold(lambda: self._answered(commit, error)):
            return
        if error == "NONE":
            self._written.update(commit.offsets)
        write_answer(process, commit, error, process.run.causes.disturbed.get(commit.consumer))
        self._writing = False
        self._go_on()
