"""Records whose processing fails in code of the user: failed attempts, and topics that it sends them to."""

from __future__ import annotations

from assignors.errors import did_you_mean
from assignors.types import TopicPartition
from emulator.events import ProcessingFailed
from emulator.world.consumer.handling.frontier import Job
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.consumer.own_code.actions import Forward, us_of
from emulator.world.consumer.own_code.script import Guard


class OwnFailures:
    """What the code of one process does about failing records."""

    def __init__(self, process: ConsumerProcess, guard: Guard, forwards: tuple[str, ...]) -> None:
        """Begin; *forwards*: the topics that the scenario allows it to send records to."""
        self._process = process
        self._guard = guard
        self._forwards = forwards

    def failed(self, job: Job) -> None:
        """Write that an attempt has failed."""
        self._write(job, 1, "again", "")

    def forward(self, job: Job, action: Forward) -> None:
        """Send a record to the partition of another topic with the number of its own."""
        to = action.to or f"{job.partition.topic}-dlt"
        if to not in self._forwards:
            allowed = ", ".join(self._forwards) or "none"
            raise self._guard.error(
                f"Forward names the topic {to!r}.{did_you_mean(to, self._forwards)} Allowed are those in "
                f"forwards of the handler ({allowed}): handler = {{ code = …, forwards = [{to!r}] }}"
            )
        self._write(job, 0, "forward", to)
        target = TopicPartition(to, job.partition.partition)
        self._process.fetches.append(target, self._process.run.kernel.now + us_of(action.delay_ms))

    def _write(self, job: Job, failures: int, then: str, to: str) -> None:
        process, run = self._process, self._process.run
        failed = ProcessingFailed(
            consumer=process.blueprint.name,
            group=process.blueprint.group.id,
            partition=job.partition,
            offset=job.offset,
            failures=failures,
            then=then,
            to=to,
        )
        process.progress.write_all(process.progress.owned)
        run.recorder.write(failed, run.causes.disturbed.get(process.blueprint.name))
