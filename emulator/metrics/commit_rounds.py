"""How long a commit to ZooKeeper takes: its writes come one after the other, one for each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.readings import Handler, Reading, seconds


@dataclass(slots=True)
class Round:
    """Writes of one member, each sent when the one before is answered, until a partition comes again."""

    began_us: int
    ended_us: int
    written: set[TopicPartition] = field(default_factory=set)


class CommitRoundMeter:
    """Measures the commits to stores outside Kafka."""

    def __init__(self) -> None:
        self._longest_us = 0
        self._rounds: dict[str, Round] = {}
        """The last one of each consumer."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {ev.OffsetsStored: self._on_stored}

    def _on_stored(self, event: ev.Event, what: ev.OffsetsStored) -> None:
        """Add a write to the last round of its member, or begin one with it."""
        partitions = {partition for partition, _ in what.offsets}
        latest = self._rounds.get(what.consumer)
        if latest is None or what.sent_us > latest.ended_us or latest.written & partitions:
            latest = self._rounds[what.consumer] = Round(what.sent_us, event.at_us)
        latest.written |= partitions
        latest.ended_us = event.at_us
        self._longest_us = max(self._longest_us, event.at_us - latest.began_us)

    def read(self, _ended_us: int, _ledger: Ledger) -> Reading:
        """Return the longest commit."""
        return Reading(values={"commit_round_max_s": seconds(self._longest_us)})
