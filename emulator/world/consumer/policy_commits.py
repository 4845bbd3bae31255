"""The commits that an application makes by its policy, and its reaction to failed commits."""

from __future__ import annotations

from collections.abc import Callable

from assignors.types import TopicPartition
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.kernel import Rank
from protocols.consumer.calls import CommitResult
from protocols.leader_epochs import epoch_at
from protocols.messages import UNKNOWN_EPOCH, OffsetToCommit

Then = Callable[[CommitResult], None]


class PolicyCommits:
    """Commits of one process; ``uncommitted``: partition to next offset, since the last one."""

    def __init__(self, process: ConsumerProcess) -> None:
        self._process = process
        self._policy = process.blueprint.commit
        self._kernel = process.run.kernel
        self._then: Then | None = None
        self.uncommitted: dict[TopicPartition, int] = {}
        self._records = 0
        self._last_us = self._kernel.now

    def processed(self, records: int) -> None:
        """Count records processed since the last commit."""
        self._records += records

    def forget(self, tp: TopicPartition) -> None:
        """Exclude a partition that is no longer owned from later commits."""
        self.uncommitted.pop(tp, None)

    @property
    def due(self) -> bool:
        """Whether a commit by time or count is due; time counts even while no commit is needed."""
        now = self._kernel.now
        late = self._policy.every is not None and now - self._last_us >= self._policy.every
        many = self._policy.records is not None and self._records >= self._policy.records
        if late and not self.uncommitted:
            self._last_us = now
        return bool(self.uncommitted) and (late or many)

    # -- sending ---------------------------------------------------------------------------------

    def commit(self, ends: dict[TopicPartition, int] | None, then: Then) -> None:
        """Commit by the policy, then continue; None: without arguments, all polled offsets."""
        offsets = self._offsets(ends) if ends is not None and self._policy.arguments else None
        self.uncommitted.clear()
        self._records = 0
        self._last_us = self._kernel.now
        if self._policy.call == "async":
            self._send_async(offsets)
            then(CommitResult(()))
        else:
            self._send_sync(offsets, then)

    def commit_done(self, partitions: tuple[TopicPartition, ...], then: Callable[[], None]) -> None:
        """Commit the processed offsets of some partitions, as a listener does before revocation."""
        done = self._process.progress.done
        ends = {tp: end for tp in partitions if (end := done(tp)) is not None}
        if ends:
            self._send_sync(self._offsets(ends), lambda _: then())
        else:
            then()

    def _send_sync(self, offsets: tuple[OffsetToCommit, ...] | None, then: Then) -> None:
        self._then = then
        self._process.carry_out(self._process.client.commit_sync(self._kernel.now, offsets))

    def _send_async(self, offsets: tuple[OffsetToCommit, ...] | None) -> None:
        self._process.carry_out(self._process.client.commit_async(self._kernel.now, offsets))

    def _offsets(self, ends: dict[TopicPartition, int]) -> tuple[OffsetToCommit, ...]:
        back = 1 if self._policy.off_by_one else 0
        return tuple(
            OffsetToCommit(tp, max(0, end - back), self._epoch(tp, end)) for tp, end in ends.items()
        )

    def _epoch(self, tp: TopicPartition, end: int) -> int:
        """Return the leader epoch of the last record before ``end``, if it is to be sent along."""
        reading = self._process.client.consumer.positions.readings.get(tp)
        if reading is None or not self._policy.leader_epoch:
            return UNKNOWN_EPOCH
        return epoch_at(reading.epochs, end - 1)

    # -- how they end ----------------------------------------------------------------------------

    def committed(self, result: CommitResult) -> None:
        """Take the end of a commitSync."""
        then, self._then = self._then, None
        assert then is not None, "a commit ended that was not awaited"
        then(result)

    def refused(self, result: CommitResult) -> bool:
        """React to a failed commit; return whether the rest of the batch is to be discarded."""
        if result.exception is None:
            return False
        if self._policy.on_refusal == "stop":
            self._process.stop("failed", None, result.exception)
        return self._policy.on_refusal == "discard"

    def async_failed(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Retry a failed commit later, even after newer ones: the mistake of ``retry_older``."""
        pause = self._policy.retry_older
        if pause is not None:
            when = self._kernel.now + pause
            index = self._process.blueprint.index
            self._kernel.at(when, Rank.APPLICATION, index, lambda _: self._send_again(offsets))

    def _send_again(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        process = self._process
        if process.alive and not process.hold(lambda: self._send_again(offsets)):
            self._send_async(offsets)
