"""What a loop that polls by arithmetic has finished, till somebody wants it counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.handler import Batch
    from emulator.world.consumer.progress import Progress


class Finished:
    """Finished and not yet counted: by partition, the next offset and when work on it began."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, list[int]] = {}

    def note(self, batch: Batch) -> None:
        """Note that all of a batch is done."""
        for tp, _, following in batch.ranges:
            known = self._ends.get(tp)
            if known is None:
                self._ends[tp] = [following, batch.begin_us]
            else:
                known[0] = following

    def tell(self, progress: Progress) -> None:
        """Count what was finished since the last time as processed."""
        for tp, (following, began_us) in self._ends.items():
            progress.worked(tp, following, began_us)
        self._ends.clear()
