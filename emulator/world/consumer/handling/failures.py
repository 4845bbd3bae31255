"""What an application does about records whose processing fails.

``seek`` and ``pause`` follow Spring for Apache Kafka: ``DefaultErrorHandler`` commits what is finished,
seeks every partition of the batch back to its first unprocessed record (``SeekUtils``) and sleeps for
the back-off in the thread that polls, or, with a ``ContainerPausingBackOffHandler``, pauses the
container and polls on. Attempts are counted in the consumer (``FailedRecordTracker``): the next owner
begins anew. The handler gets the records behind the failed one also of a container that stops
(``KafkaMessageListenerContainer.invokeErrorHandler``), and then does not sleep.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from assignors.types import TopicPartition
from emulator.events import PositionSource, ProcessingFailed
from emulator.scenario.model import BatchListener
from emulator.world.consumer import seeking
from emulator.world.consumer.handling.handler import Batch, Doing, Ending
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.kernel import Rank
from protocols.consumer.fetch_buffer import Handed

if TYPE_CHECKING:
    from emulator.world.consumer.handling.poison import Rule


class Reaction(enum.Enum):
    """What becomes of a record after the work on it has ended."""

    PROCESSED = "the handler has returned"
    SKIPPED = "the handler continues with the next"
    STOP = "the process dies"
    SEEK = "the consumer seeks back to it"


def raised_at(partition: TopicPartition, offset: int) -> str:
    """Return the reason of a process that ends because its handler raises at this record."""
    return f"the handler raised at record {offset} of {partition}"


class Failing(ConsumerApplication, Protocol):
    """The application thread, as its failures use it."""

    batch: Batch | None

    def count(self, batch: Batch, finished: int) -> None:
        """Count the records of a batch up to a number as processed."""

    def commit_finished(self, ranges: Iterable[Handed], then: Callable[[], None]) -> None:
        """Commit finished records as the policy does after a batch, then continue."""


class Failures:
    """The failed records of one process."""

    def __init__(self, process: ConsumerProcess, application: Failing) -> None:
        self._process = process
        self._application = application
        self._kernel = process.run.kernel
        self._failed: dict[tuple[TopicPartition, int], int] = {}
        """How often a record has failed, of those that are processed again after a seek."""

        self._last_failed: int | None = None
        """The event of the last failure that the consumer seeks back for."""

        self._paused_until_us: int | None = None
        self._token = 0
        listener = process.blueprint.group.handler
        self._is_whole = isinstance(listener, BatchListener) and not listener.names_failed
        """Whether the batch is repeated, as no exception says which record of it has failed."""

    # -- one record -----------------------------------------------------------------------------

    def react(self, rule: Rule, tp: TopicPartition, offset: int) -> Reaction:
        """Return what becomes of a record; write its failure, and forward it if that is due."""
        poison = rule.poison
        if poison.error == "skip":
            return Reaction.SKIPPED
        if poison.error == "stop":
            return Reaction.STOP
        if not poison.seeks:
            failures = poison.attempts if poison.error == "retry" else 1
            return self._end(rule, tp, offset, failures)
        failures = self._failed.pop((tp, offset), 0) + 1
        if failures > poison.attempts:
            return Reaction.PROCESSED
        if failures == poison.attempts and poison.then != "succeed":
            return self._end(rule, tp, offset, 1)
        self._failed[tp, offset] = failures
        self._last_failed = self._write(tp, offset, 1, poison.error or "", "")
        return Reaction.SEEK

    def _end(self, rule: Rule, tp: TopicPartition, offset: int, failures: int) -> Reaction:
        """Do what follows the last failure."""
        poison = rule.poison
        then = "forward" if poison.error == "forward" else poison.then
        to = poison.target(tp.topic) if then == "forward" else ""
        self._write(tp, offset, failures, then, to)
        if to:
            target = TopicPartition(to, tp.partition)
            self._process.fetches.append(target, self._kernel.now + poison.delay)
        return {"skip": Reaction.SKIPPED, "stop": Reaction.STOP}.get(then, Reaction.PROCESSED)

    def _write(self, tp: TopicPartition, offset: int, failures: int, then: str, to: str) -> int:
        """Write a failure; return its event."""
        blueprint, run = self._process.blueprint, self._process.run
        failed = ProcessingFailed(
            consumer=blueprint.name,
            group=blueprint.group.id,
            partition=tp,
            offset=offset,
            failures=failures,
            then=then,
            to=to,
        )
        self._process.progress.write_all(self._process.progress.owned)
        return run.recorder.write(failed, run.causes.disturbed.get(blueprint.name))

    # -- a record of a batch ----------------------------------------------------------------------

    def ended(self, batch: Batch, rule: Rule) -> bool:
        """React to the end of the work on a record; return whether the batch continues."""
        tp, offset = batch.record(batch.reported)
        match self.react(rule, tp, offset):
            case Reaction.STOP:
                self._process.stop("failed", None, raised_at(tp, offset))
                return False
            case Reaction.SEEK:
                self._seek_back(batch, rule, self._failed[tp, offset])
                return False
            case _ if (
                self._is_whole and rule.poison.seeks and rule.poison.then in ("skip", "forward")
            ):
                self._recover(batch, rule, (tp, offset))
            case Reaction.SKIPPED:
                self._skip(batch)
            case Reaction.PROCESSED:
                self._application.count(batch, batch.reported + 1)
        return True

    def _recover(self, batch: Batch, rule: Rule, failed: tuple[TopicPartition, int]) -> None:
        """Skip or forward all records of a batch: nothing says which of them has failed.

        Those that were processed in this attempt are forwarded, too.
        """
        batch.take_back()
        skipped = rule.poison.then == "skip"
        for tp, offset in batch.records():
            if not skipped and (tp, offset) != failed:
                self._end(rule, tp, offset, 1)
        while batch.reported < batch.count:
            if skipped:
                self._skip(batch)
            else:
                self._application.count(batch, batch.reported + 1)

    def _skip(self, batch: Batch) -> None:
        """Continue behind a record whose processing failed."""
        tp, offset = batch.record(batch.reported)
        cause = self._process.run.causes.disturbed.get(self._process.blueprint.name)
        self._process.progress.skip(Handed(tp, offset, offset + 1), "skipped", cause)
        self._application.commits.uncommitted[tp] = offset + 1
        batch.reported += 1

    def _seek_back(self, batch: Batch, rule: Rule, failures: int) -> None:
        """Commit what is finished, seek to the rest, and wait."""
        self._application.batch = None
        batch.take_back()
        if self._is_whole:
            self._seek(batch.ranges, rule, failures)
            return
        finished = tuple(batch.part(0, batch.reported))
        rest = tuple(batch.part(batch.reported, batch.count))
        self._application.commit_finished(finished, lambda: self._seek(rest, rule, failures))

    def _seek(self, rest: Iterable[Handed], rule: Rule, failures: int) -> None:
        for part in self._owned(rest):
            self._seek_to(part.partition, part.first)
        until_us = self._kernel.now + rule.poison.wait_us(failures)
        if rule.poison.error == "pause":
            self._paused_until_us = until_us
            self._application.poll()
        elif self._application.ending is not Ending.NOT_ASKED:
            self._application.poll()
        else:
            self._sleep(until_us)

    def _seek_to(self, tp: TopicPartition, offset: int) -> None:
        """Seek to an offset; if records from there on were processed, a new epoch begins there."""
        process = self._process
        done = process.progress.done(tp)
        assert done is not None, "only partitions that are owned are sought in"
        process.progress.seek(tp, done)
        if done == offset:
            process.client.consumer.positions.seek(tp, offset)
            return
        process.application.commits.forget(tp)
        seeking.seek(process, tp, offset, PositionSource.SEEK, self._last_failed)

    def _owned(self, rest: Iterable[Handed]) -> Iterator[Handed]:
        """Yield the records of partitions that the consumer still owns."""
        readings = self._process.client.consumer.positions.readings
        for part in rest:
            if part.partition in readings and self._process.progress.epoch_of(part.partition):
                yield part

    # -- the wait -------------------------------------------------------------------------------

    def _sleep(self, until_us: int) -> None:
        self._application.doing = Doing.BACKING_OFF
        self._token += 1
        token, index = self._token, self._process.blueprint.index
        self._kernel.at(until_us, Rank.APPLICATION, index, lambda _: self._awake(token))

    def _awake(self, token: int) -> None:
        process = self._process
        if token != self._token or not process.alive:
            return
        if self._application.doing is Doing.BACKING_OFF and not process.hold(
            lambda: self._awake(token)
        ):
            self._application.poll()

    def before_poll(self) -> None:
        """Pause what is assigned while a back-off runs, and resume it afterwards."""
        if self._paused_until_us is None:
            return
        fetcher = self._process.client.consumer.fetcher
        if self._kernel.now < self._paused_until_us:
            fetcher.pause(fetcher.positions.assigned)
        else:
            self._paused_until_us = None
            fetcher.pause(())
