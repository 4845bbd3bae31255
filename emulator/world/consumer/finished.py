"""What a loop that polls by arithmetic has finished, till somebody wants it counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.handler import Batch
    from emulator.world.consumer.process import Process


class Finished:
    """Finished and not yet counted: by partition, the next offset and when work on it began."""

    __slots__ = ("_app", "_ends", "_progress")

    def __init__(self, process: Process) -> None:
        self._app = process.application
        self._progress = process.progress
        self._ends: dict[TopicPartition, list[int]] = {}

    def end(self, batch: Batch) -> None:
        """End the work on a batch; who reads progress gets it told."""
        if batch.reported:
            self._app.worked_off()
            return
        self._app.put_away()
        self._note(batch)

    def _note(self, batch: Batch) -> None:
        for tp, _, following in batch.ranges:
            known = self._ends.get(tp)
            if known is None:
                self._ends[tp] = [following, batch.begin_us]
            else:
                known[0] = following

    def tell(self) -> None:
        """Count what was finished since the last time as processed."""
        for tp, (following, began_us) in self._ends.items():
            self._progress.worked(tp, following, began_us)
        self._ends.clear()
