"""The progress of one process in one partition, from its assignment to its revocation."""

from __future__ import annotations


class Epoch:
    """One epoch of one partition."""

    __slots__ = (
        "began_us",
        "done",
        "ended",
        "generation",
        "incarnation",
        "out_of_order",
        "position",
        "written",
    )

    def __init__(self, generation: int, offset: int, incarnation: int) -> None:
        self.generation = generation
        self.incarnation = incarnation
        """Of the log that it reads: there may have been truncations since."""

        self.written = offset
        self.done = offset
        self.position = offset
        self.began_us = 0
        self.out_of_order: dict[int, bool] = {}
        """Records beyond ``done`` that are finished, and whether their processing failed."""

        self.ended: tuple[str, int | None] | None = None
        """Why the consumer gave the partition up, and the event; the handler still has records."""
