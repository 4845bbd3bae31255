"""A classic client on its bench (see ``client_bench``): jitter is in the middle of its range.

So a back-off of 100 ms is 100 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assignors.registry import load_assignor
from assignors.types import TopicPartition
from protocols.consumer.classic.machine import Client
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.facts import EpochOpened
from protocols.machine import Call

from ...client_bench import BROKER, Bench, Sent

__all__ = ["BROKER", "ClientBench", "Sent"]


class ClientBench(Bench):
    def __init__(
        self,
        *,
        topics: dict[str, int] | None = None,
        subscribe: Iterable[str] = ("t",),
        matches: Callable[[str], bool] | None = None,
        assignors: Iterable[Any] = ("range",),
        brokers: tuple[int, ...] = (BROKER,),
        assigned: tuple[TopicPartition, ...] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            topics={"t": 2} if topics is None else topics, brokers=brokers, settings=settings
        )
        made = tuple(load_assignor(a, {}) if isinstance(a, str) else a for a in assignors)
        shared = set.intersection(*(set(a.rebalance_protocols) for a in made))
        self.calls: list[tuple[str, tuple[TopicPartition, ...]]] = []
        self.client = Client(
            Consumer(
                name="c",
                group_id="g",
                settings=self.settings,
                assignors=made,
                protocol=max(shared),
                topics=None if matches else tuple(subscribe),
                matches=matches,
                assigned=assigned,
                jitter=lambda _what, _when: 0.5,
                epoch_ms=1_700_000_000_000,
                brokers=brokers,
            )
        )

    def note(self, call: Call) -> None:
        """Keep a listener call with its partitions."""
        self.calls.append((call.listener, call.partitions))

    @property
    def state(self) -> ClientState:
        return self.client.state

    @property
    def now_ms(self) -> float:
        return self.now_us / 1_000

    @property
    def membership(self) -> Membership:
        return self.state.membership

    def ever(self, kind: type) -> list[Sent]:
        """All requests of one kind that were ever sent."""
        return [sent for sent in self.history if isinstance(sent.message, kind)]

    def times_ms(self, kind: type) -> list[float]:
        """Return when each request of one kind was sent, in milliseconds."""
        return [sent.at_us / 1_000 for sent in self.ever(kind)]

    def sources(self) -> list[tuple[int, int, str, str]]:
        """Return partition number, first offset, its source and why, of each epoch that began."""
        reported = self.emitted(EpochOpened)
        return [(fact.partition.partition, fact.offset, fact.source, fact.why) for fact in reported]

    def tick(self) -> None:
        """Let the heartbeat thread turn once, and read what has arrived."""
        self.advance(self.settings.retry_backoff_ms)
