"""How long a commit to ZooKeeper takes: its writes come one after the other, one for each partition."""

from __future__ import annotations

from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev


@dataclass(slots=True)
class Round:
    """Writes of one member, each sent when the one before is answered, until a partition comes again."""

    began_us: int
    ended_us: int
    written: set[TopicPartition] = field(default_factory=set)


class CommitRounds:
    """Measures the rounds of all members."""

    def __init__(self) -> None:
        self.longest_us = 0
        self._rounds: dict[str, Round] = {}

    def add(self, at_us: int, what: ev.OffsetsStored) -> None:
        """Add a write that took effect; it belongs to the last round of its member, or begins one."""
        partitions = {partition for partition, _ in what.offsets}
        latest = self._rounds.get(what.consumer)
        if latest is None or what.sent_us > latest.ended_us or latest.written & partitions:
            latest = self._rounds[what.consumer] = Round(what.sent_us, at_us)
        latest.written |= partitions
        latest.ended_us = at_us
        self.longest_us = max(self.longest_us, at_us - latest.began_us)
