"""The commits of code of the user: one synchronous commit at a time, and what failed follows again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from assignors.types import TopicPartition
from emulator.world.consumer.handling.handler import Doing
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.consumer.own_code.actions import Pair, partition_of
from emulator.world.kernel import Then
from protocols.consumer.calls import CommitResult
from protocols.messages import OffsetToCommit

Result = Callable[[object], None]


class OwnCommits:
    """The commits that the code of one process yields."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        self._process = process
        self._application = application
        self._waiting: list[Then] = []
        """Synchronous commits that wait until another one has ended."""

        self._committing = False
        self._taken: dict[TopicPartition, tuple[OffsetToCommit, int]] = {}
        """The newest commit without offsets: what was sent, and the next offset it was made of."""

        application.commits.on_async_failure = self._put_back

    def forget(self, tp: TopicPartition) -> None:
        """Send nothing of a partition again: it was given up, or sought in."""
        self._taken.pop(tp, None)

    def commit(self, given: Mapping[Pair, int] | None, go_on: Result, *, sync: bool) -> None:
        """Commit what was done since the last commit, or the offsets that the code gives."""
        offsets = self._taken_offsets() if given is None else self._given(given)
        if not offsets:
            go_on(None)
        elif sync:
            self._commit_sync(offsets, go_on)
        else:
            self._application.commits.send_async(offsets, lambda _: go_on(None))

    def _taken_offsets(self) -> tuple[OffsetToCommit, ...]:
        """Return the offsets of what was done since the last commit."""
        commits = self._application.commits
        ends = dict(commits.uncommitted)
        commits.uncommitted.clear()
        offsets = commits.offsets_of(ends)
        self._taken.update({each.partition: (each, ends[each.partition]) for each in offsets})
        return offsets

    def _given(self, offsets: Mapping[Pair, int]) -> tuple[OffsetToCommit, ...]:
        """Return the offsets that the code names, unchanged."""
        ends = {partition_of(pair): offset for pair, offset in offsets.items()}
        for tp in ends:
            self._taken.pop(tp, None)
        return self._application.commits.offsets_of(ends, exact=True)

    def _put_back(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Keep what a failed commit held for the next one, unless the code has committed newer offsets."""
        for each in offsets:
            sent, end = self._taken.get(each.partition, (None, 0))
            epoch = self._process.progress.epoch_of(each.partition)
            if sent == each and epoch is not None and epoch.ended is None:
                self._application.commits.uncommitted.setdefault(each.partition, end)

    def _commit_sync(self, offsets: tuple[OffsetToCommit, ...], go_on: Result) -> None:
        """Commit when no other commit of the process is in flight: its listener may run beside it."""
        if self._committing:
            self._waiting.append(lambda: self._commit_sync(offsets, go_on))
            return
        self._committing = True
        before = self._application.doing
        if before is Doing.WORKING:
            self._application.doing = Doing.COMMITTING
        commits = self._application.commits
        commits.send_sync(offsets, partial(self._committed, offsets, before, go_on))

    def _committed(
        self,
        offsets: tuple[OffsetToCommit, ...],
        before: Doing,
        go_on: Result,
        result: CommitResult,
    ) -> None:
        self._committing = False
        if result.exception is not None:
            self._put_back(offsets)
        if self._application.doing is Doing.COMMITTING:
            self._application.doing = before
        if self._waiting:
            self._waiting.pop(0)()
        go_on(None if result.exception is None else str(result.exception))
