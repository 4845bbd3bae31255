"""Fetches of a client that asks for more only when it has taken all that it has (kafka-python).

Source: ``fetcher.py`` (``fetch_records``, ``_fetchable_partitions``), ``group.py`` (``_message_generator_v2``).
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import AskedOf, Fetcher, without


class DrainedFetcher(Fetcher):
    """The data plane of one consumer that asks no broker while a response waits to be taken.

    Else it asks all of them, also that of the partition that is being read, for other partitions.
    """

    __slots__ = ("_begins", "_rereads")

    def __init__(self, *, rereads: bool) -> None:
        """Create the data plane of a new consumer.

        *rereads*: positions move with each record that the application takes from the call, so a fetch
        that this call sends asks for its records again; that response is dropped.
        """
        super().__init__()
        self._rereads = rereads
        self._begins: dict[TopicPartition, tuple[int, int]] = {}
        """Where the records begin that the last call returned, in the form of ``Queued``."""

    def collect(self, limit: int, *, as_arrived: bool = False) -> tuple[Handed, ...]:
        """Return up to ``limit`` records and move the positions past them."""
        handed = super().collect(limit, as_arrived=as_arrived)
        if self._rereads:
            self._begins = {}
            for tp, first, _ in handed:
                self._begins.setdefault(tp, (first, 0))
        return handed

    def _asked_of_each(self, now: int) -> AskedOf:  # noqa: ARG002  others ask by the time
        if self.queued:
            return lambda *_: ()
        read = {completed.reading.partition for completed in self._buffer}
        return lambda _, readings: self._partitions_to_fetch(without(readings, read), self._begins)
