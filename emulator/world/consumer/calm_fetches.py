"""The fetches of a calm consumer as arithmetic: asked, answered and asked again without events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.arrivals import NEVER
from emulator.world.consumer.interfaces import ConsumerProcess

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from emulator.world.consumer.fetch_in_flight import FetchInFlight
    from protocols.consumer.fetching import Fetcher
    from protocols.messages import FetchResponse


class CalmFetches:
    """The fetches of one calm process, as its loop plays them."""

    __slots__ = (
        "_behind",
        "_by_broker",
        "_counts",
        "_fetcher",
        "_next",
        "_process",
        "_under_way",
        "next_us",
    )

    def __init__(self, process: ConsumerProcess, fetcher: Fetcher) -> None:
        self._process = process
        self._fetcher = fetcher
        self._counts = process.request_counts
        self._by_broker: dict[int, FetchInFlight] = {}
        """By broker: its fetch, in flight or not."""

        self._under_way: dict[int, FetchInFlight] = {}
        """In the order in which they were sent."""

        self._behind: set[int] = set()
        """Brokers that were asked for what is buffered now: what they are asked next is open."""

        self._next: FetchInFlight | None = None
        self.next_us = NEVER
        """When the next answer arrives."""

    def take_over(self, now: int, unread: AbstractSet[int]) -> bool:
        """Stop answers from arriving as events, if possible; return whether it is.

        *unread*: brokers whose answers have arrived and were not read.
        """
        fetches, fetcher = self._process.fetches, self._fetcher
        by_broker = fetches.undisturbed(self._process, fetcher.positions.by_leader, now)
        under_way = fetches.of(self._process)
        if by_broker is None or fetcher.in_flight != under_way.keys() | unread:
            return False
        self._by_broker, self._under_way = by_broker, under_way
        self._behind = set(by_broker).difference(under_way)
        for fetch in by_broker.values():
            fetch.live = False
        self._find_next()
        return True

    def give_back(self) -> None:
        """Make the answers arrive as events again."""
        self._process.fetches.go_live(self._process)

    def ask(self, now: int) -> None:
        """Ask the brokers that are free for records."""
        for broker in self._fetcher.take_free():
            self._counts["Fetch"] += 1
            fetch = self._by_broker[broker]
            if broker in self._behind:
                self._behind.discard(broker)
                fetch.bring_up(self._fetcher.positions.by_leader[broker])
            fetch.send(now)
            self._under_way[broker] = fetch
            if fetch.arrives_us < self.next_us:
                self._next, self.next_us = fetch, fetch.arrives_us

    def arrive(self) -> FetchResponse:
        """Return the answer that arrives next."""
        fetch = self._next
        assert fetch is not None, "an answer arrives"
        del self._under_way[fetch.broker]
        response = fetch.bring()
        self._find_next()
        return response

    def _find_next(self) -> None:
        """Find the next answer: of several at one instant, the one that was asked for first."""
        self.next_us, self._next = NEVER, None
        for fetch in self._under_way.values():
            if fetch.arrives_us < self.next_us:
                self.next_us, self._next = fetch.arrives_us, fetch

    @property
    def overtaken(self) -> bool:
        """Whether retention has overtaken what is read."""
        positions = self._fetcher.positions.valid()
        wants = [want for f in self._by_broker.values() for want in f.wants.cached.values()]
        return any(w.log is not None and positions[w.partition] < w.log.start for w in wants)
