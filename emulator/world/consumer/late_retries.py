"""Failed asynchronous commits that an application sends again later, over newer ones: a bug.

``retry_older`` of a commit policy sends them after a time, ``retry_older_in`` keeps them for the next
rebalance: as the acknowledgements that a listener container flushes when partitions are revoked
(spring-projects/spring-kafka#511), or as the commits that a library sends again when a rebalance has
ended (zio/zio-kafka#437), also for partitions that another member owns by then.
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.types import TopicPartition
from emulator.world.consumer.interfaces import Commits, ConsumerProcess
from emulator.world.kernel import Rank
from protocols.machine import Call
from protocols.messages import OffsetToCommit

Offsets = tuple[OffsetToCommit, ...]


class LateRetries:
    """The failed commits of one process that its policy sends again."""

    def __init__(self, process: ConsumerProcess, commits: Commits) -> None:
        self._process = process
        self._policy = process.blueprint.commit
        self._commits = commits
        self._kept: dict[TopicPartition, OffsetToCommit] = {}
        """For the next rebalance: of each partition the offset that failed last."""

    def failed(self, offsets: Offsets) -> None:
        """Take a commit that has failed."""
        if self._policy.retry_older_in is not None:
            self._kept.update((each.partition, each) for each in offsets)
        elif self._policy.retry_older is not None:
            kernel, index = self._process.run.kernel, self._process.blueprint.index
            due_us = kernel.now + self._policy.retry_older
            kernel.at(due_us, Rank.APPLICATION, index, lambda _: self._send_again(offsets))

    def _send_again(self, offsets: Offsets) -> None:
        if self._process.alive and not self._process.hold(lambda: self._send_again(offsets)):
            self._process.run.recorder.disturbances += 1  # no period has it again
            self._process.unfold(before_work=True)
            self._commits.send_async(offsets)

    def flush(self, call: Call, then: Callable[[], None]) -> None:
        """Send in a listener call what was kept for it, then continue.

        Before a revocation the application waits for the answer; what fails then is dropped.
        """
        if call.listener != self._policy.retry_older_in or not self._kept:
            then()
            return
        kept, self._kept = tuple(self._kept.values()), {}
        if call.listener == "revoked":
            self._commits.send_sync(kept, lambda _: then())
        else:
            self._commits.send_async(kept)
            then()
