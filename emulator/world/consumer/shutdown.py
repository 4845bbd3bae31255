"""The end of a process in order: what its application does until it closes its consumer."""

from __future__ import annotations

from typing import Protocol

from emulator.world.consumer.handling.handler import Batch, Doing, Ending
from emulator.world.consumer.interfaces import (
    ConsumerApplication,
    ConsumerProcess,
    RecordHandler,
)
from emulator.world.consumer.listener import THREW
from emulator.world.kernel import Rank
from protocols.consumer.calls import Failed


class Stopping(ConsumerApplication, Protocol):
    """The application thread, as its shutdown uses it."""

    batch: Batch | None
    """What its handler works on."""


class Shutdown:
    """The end of one process, once it is asked for."""

    def __init__(
        self, process: ConsumerProcess, application: Stopping, workers: RecordHandler | None
    ) -> None:
        self._process = process
        self._application = application
        self._workers = workers
        self.ending = Ending.NOT_ASKED
        self._thrown: Failed | None = None

    def leave(self, *, mid_batch: bool) -> None:
        """Stop after the batch, or after the record in progress, and close.

        With a pool of workers the application closes when its poll returns: it waits for workers
        first, and nothing may be polled meanwhile.
        """
        if self.ending is not Ending.NOT_ASKED:
            return
        self.ending = Ending.AFTER_RECORD if mid_batch else Ending.AFTER_BATCH
        doing = self._application.doing
        if self._workers is not None:
            if doing is Doing.WORKING and self._workers.leave_room():
                self.close()
        elif doing is Doing.POLLING and self._process.busy:
            self._wake_up_later()
        elif doing in (Doing.POLLING, Doing.BACKING_OFF):
            self.close()
        elif doing is Doing.WORKING and mid_batch and self._application.batch is not None:
            batch = self._application.batch
            batch.leave_after(batch.finished(self._process.run.kernel.now))
            self._application.await_again(batch)

    def _wake_up_later(self) -> None:
        kernel, index = self._process.run.kernel, self._process.blueprint.index
        kernel.at(kernel.now, Rank.APPLICATION, index, lambda _: self._wake_up())

    def _wake_up(self) -> None:
        """Leave a poll that was about to return when close was requested, if it has not."""
        process, polls = self._process, self._application.doing is Doing.POLLING
        if process.alive and polls and not process.hold(self._wake_up, client=True):
            self.close()

    def close(self) -> None:
        """Close the consumer; before that, wait for workers and commit what they finished."""
        self._application.doing = Doing.CLOSING
        self._application.batch = None
        workers, owned = self._workers, self._process.progress.owned
        if workers is None:
            self._close_client()
            return
        if self.ending is Ending.AFTER_RECORD:
            workers.discard(frozenset(owned))
        commits = self._process.blueprint.commit.call in ("sync", "async", "store")
        self._application.finish(owned, self._close_client, commits=commits)

    def fail(self, thrown: Failed) -> None:
        """Close the consumer because poll() threw, as ``finally`` does; workers are not waited for.

        close() commits what it can, calls the listener and leaves the group, and does not throw the
        exception again (``ClassicKafkaConsumer.close``, ``AsyncKafkaConsumer.close``). An exception
        of the rebalance listener ends the process without a close.
        """
        unclosed = thrown.error in self._process.blueprint.profile.unclosed
        if thrown == THREW or unclosed or self.ending is Ending.BEGUN:
            self._process.stop("failed", None, str(thrown))
            return
        self._thrown = thrown
        self._application.batch = None
        self._close_client()

    def closed(self) -> None:
        """Take the end of close(): the process ends, with the exception if poll() threw one."""
        if self._thrown is not None:
            self._process.stop("failed", None, str(self._thrown))
            return
        name = self._process.blueprint.name
        self._process.stop("closed", self._process.run.causes.disturbed.get(name))

    def _close_client(self) -> None:
        self._application.doing = Doing.CLOSING
        self.ending = Ending.BEGUN
        self._application.step("closing", self._process.close_client)
