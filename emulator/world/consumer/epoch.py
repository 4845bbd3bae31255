"""The progress of one process in one partition, from its assignment to its revocation."""

from __future__ import annotations

from typing import NamedTuple

from emulator.world.cluster.partitions.partition_log import PartitionLog


class Unwritten(NamedTuple):
    """Finished records of a partition that are in no event yet."""

    first: int
    began_us: int
    """When the work on the first of them began."""


class Epoch:
    """One epoch of one partition."""

    __slots__ = (
        "began_us",
        "done",
        "ended",
        "generation",
        "handed",
        "incarnation",
        "out_of_order",
        "position",
        "written",
    )

    def __init__(self, generation: int, offset: int, log: PartitionLog | None) -> None:
        self.generation = generation
        self.incarnation = 0 if log is None else log.incarnation
        """Of the log that it reads: there may have been truncations since."""

        self.written = offset
        self.done = offset
        self.position = offset
        self.began_us = 0
        self.handed: list[tuple[int, int]] | None = (
            [] if log is not None and log.is_compacted else None
        )
        """Of a log that is compacted: the ranges of records that poll returned, as far as they are not
        written yet. The log may have lost some of them since."""

        self.out_of_order: dict[int, bool] | None = None
        """Records beyond ``done`` that are finished, and whether their processing failed; None: no
        worker has overtaken another one."""

        self.ended: tuple[str, int | None] | None = None
        """Why the consumer gave the partition up, and the event; the handler still has records."""

    def finish_out_of_order(self, offset: int, *, failed: bool) -> None:
        """Note a record that is finished before one in front of it."""
        if self.out_of_order is None:
            self.out_of_order = {}
        self.out_of_order[offset] = failed

    def take(self, first: int, next_offset: int) -> None:
        """Note records that poll returned."""
        self.position = next_offset
        if self.handed is None:
            return
        if self.handed and self.handed[-1][1] == first:
            first = self.handed.pop()[0]
        self.handed.append((first, next_offset))

    def seek(self, offset: int) -> None:
        """Note that poll returns the records from *offset* on again."""
        self.position = offset
        if self.handed is not None:
            self.handed = [(low, min(end, offset)) for low, end in self.handed if low < offset]

    def finished(self) -> list[tuple[int, int]]:
        """Return the ranges that are finished and not written; those behind them remain."""
        assert self.handed is not None, "only of a log that is compacted"
        found = [
            (max(low, self.written), min(end, self.done))
            for low, end in self.handed
            if end > self.written and low < self.done
        ]
        self.handed = [each for each in self.handed if each[1] > self.done]
        return found
