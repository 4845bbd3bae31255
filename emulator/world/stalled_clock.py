"""The error of a run whose clock stands still: who makes event after event without waiting.

Kafka accepts back-offs and intervals of 0; on a real network each round then takes the time of a
request. In a scenario with zero latency it takes none, and the run would never end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assignors.errors import EmulatorError

MAX_NAMED = 4
"""The maximum number of parties that the message names."""

_WORDS = {
    "FAULT": "faults and acts",
    "AT_BROKER": "requests of {}",
    "BROKER_TIMER": "work of broker-{}",
    "RECORDS_AT_CLIENT": "fetched records of {}",
    "AT_CLIENT": "responses to {}",
    "CLIENT_TIMER": "timers of {}",
    "APPLICATION": "the application of {}",
    "SAMPLE": "samples",
}

Made = Counter[tuple[str, int]]
"""The number of events by the name of their rank and their party."""


class StalledClockError(EmulatorError):
    """A run makes events without end at one instant."""

    def __init__(self, at_us: int, events: int, made: Made, names: Sequence[str]) -> None:
        super().__init__(at_us, events, made, names)
        self.at_us = at_us
        self.events = events
        self.made = made
        self.names = names

    def __str__(self) -> str:
        named = ", ".join(
            self._party(rank, who) for (rank, who), _ in self.made.most_common(MAX_NAMED)
        )
        return (
            f"The run was stopped: virtual time does not advance beyond {self.at_us / 1e6:.6f} s. "
            f"More than {self.events:,} events happened at that instant, the last ones: {named}. "
            "A delay of 0 makes a loop that never waits: give network.latency more than 0, or look "
            "for intervals and back-offs of 0 in the settings of these consumers and of the cluster"
        )

    def _party(self, rank: str, who: int) -> str:
        is_consumer = "{}" in _WORDS[rank] and rank != "BROKER_TIMER"
        return _WORDS[rank].format(self._consumer(who) if is_consumer else who)

    def _consumer(self, who: int) -> str:
        return self.names[who] if who < len(self.names) else "an administrator"
