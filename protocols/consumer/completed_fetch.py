"""A part of a fetch response that is buffered (``CompletedFetch``)."""

from __future__ import annotations

from protocols.consumer.positions import Reading
from protocols.messages import FetchedRecords


class CompletedFetch:
    """One partition's part of a fetch response, drained from the front."""

    __slots__ = ("epochs", "gaps", "next_offset", "position", "reading")

    def __init__(self, reading: Reading, part: FetchedRecords) -> None:
        self.reading = reading
        self.position = part.first
        self.next_offset = part.next_offset
        self.epochs = part.epochs
        self.gaps = part.gaps

    @property
    def count(self) -> int:
        """The number of records that are left."""
        if self.gaps is None:
            return self.next_offset - self.position
        return self.gaps.count_in(self.position, self.next_offset)
