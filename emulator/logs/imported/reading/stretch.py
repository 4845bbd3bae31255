"""A part of a partition of a live log."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.logs.imported.reading.segments import log_name


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one log offset to another."""

    topic: str
    log_partition: int
    begin: int
    """Log offset of its first record."""

    end: int
    """Behind its last record: the high watermark when the reading was planned."""

    @property
    def path(self) -> str:
        """What ``gaps`` calls it."""
        return f"{self.topic}-{self.log_partition}"

    @property
    def name(self) -> str:
        """What its rows' files are called."""
        return f"{log_name(self.log_partition)}-{self.begin:020}"

    @property
    def size(self) -> int:
        """How many log offsets it spans."""
        return self.end - self.begin

    @property
    def key(self) -> str:
        """The same where the same rows come out, unless compaction takes some away."""
        return f"{self.path} {self.begin} {self.end}"
