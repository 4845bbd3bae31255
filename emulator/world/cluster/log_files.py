"""Where the bytes of a run's offsets partitions go, for those who want them as files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from emulator.world.cluster.stored_segment import Spool


class LogFiles(Protocol):
    """Takes the offsets partitions of one run, batch by batch, and keeps their leaders' logs."""

    def spool(self, log_partition: int) -> Spool:
        """Return where the batches of a partition are put as they are appended."""

    def keep(self, log_partition: int, segments: Iterable[tuple[int, Iterable[bytes]]]) -> None:
        """Take the base offset and the bytes of each segment there is in the end."""
