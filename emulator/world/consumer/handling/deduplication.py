"""Deduplication behind the handler: a seen-set with a window, of offsets or of ids.

The set is asked when the work on a record ends, or, if it marks records before their processing, when
the work begins. It says nothing of how often the record was processed: the ledger counts that. What it
recognises has no effect a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.events import DuplicateDelivered
from emulator.world.consumer.handling.seen_set import Deliveries, SeenSet
from protocols.consumer.fetch_buffer import Handed

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.handling.record_identity import Identities
    from emulator.world.consumer.interfaces import ConsumerProcess


class Deduplicator:
    """The seen-set as one process uses it."""

    def __init__(self, process: ConsumerProcess, deliveries: Deliveries) -> None:
        self._process = process
        self._deliveries = deliveries
        given = deliveries.given
        self._before = given.mark == "before"
        self._seen = deliveries.shared if given.scope == "shared" else SeenSet(given)
        self._identities: Identities | None = None
        if given.by == "id":
            from emulator.world.consumer.handling.record_identity import Identities  # noqa: PLC0415  few need it

            self._identities = Identities(process.run.scenario, process.blueprint.seed)
        self._begun: tuple[TopicPartition, int] | None = None
        self._is_dropped = False
        """Whether the set knew the record that was begun last although its processing had never finished."""

    def _record(self, tp: TopicPartition, offset: int) -> tuple[TopicPartition, int]:
        """Return what the set remembers of a record."""
        known = self._identities
        return tp, offset if known is None else known.original(tp, offset)

    def begin(self, tp: TopicPartition, offset: int) -> None:
        """Add a record whose work begins, if records are marked before it; once for each record."""
        record = self._record(tp, offset)
        if not self._before or self._begun == record:
            return
        self._begun = record
        now = self._process.run.kernel.now
        known = self._seen.recognises(record, now)
        self._is_dropped = known and not self._deliveries.is_finished(*record)
        if not known:
            self._seen.add(record, now)

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Count the records before ``next_offset`` as processed, or drop those already seen."""
        progress = self._process.progress
        done = progress.done(tp)
        for offset in range(next_offset if done is None else done, next_offset):
            if self._is_dropped and self._begun == self._record(tp, offset):
                cause = self._process.run.causes.disturbed.get(self._process.blueprint.name)
                progress.skip(Handed(tp, offset, offset + 1), "skipped", cause)
            else:
                self.deliver(tp, offset)
                progress.worked(tp, offset + 1, began_us)

    def deliver(self, tp: TopicPartition, offset: int) -> None:
        """Ask the set about a processed record, and add it."""
        blueprint, run = self._process.blueprint, self._process.run
        record = self._record(tp, offset)
        recognised = self._seen.recognises(record, run.kernel.now)
        self._seen.add(record, run.kernel.now)
        if self._deliveries.finish(*record):
            self._process.progress.write_all(self._process.progress.owned)
            duplicate = DuplicateDelivered(
                consumer=blueprint.name,
                group=blueprint.group.id,
                partition=tp,
                offset=offset,
                recognised=recognised,
            )
            run.recorder.write(duplicate, run.causes.disturbed.get(blueprint.name))
