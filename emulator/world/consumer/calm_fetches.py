"""The fetches of a calm consumer as arithmetic: asked, answered and asked again without events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.arrivals import NEVER
from emulator.world.consumer.interfaces import ConsumerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from assignors.types import TopicPartition
    from emulator.world.consumer.fetch_in_flight import FetchInFlight
    from protocols.consumer.fetching import Fetcher
    from protocols.messages import FetchResponse


State = tuple[object, ...]
"""All that decides what a consumer does next while it is calm, with relative times."""


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
        "sent",
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

        self.sent = 0
        """The number of fetches sent."""

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
            self._count(1)
            fetch = self._by_broker[broker]
            if broker in self._behind:
                self._behind.discard(broker)
                fetch.bring_up(self._fetcher.positions.by_leader[broker])
            fetch.send(now)
            self._under_way[broker] = fetch
            if fetch.arrives_us < self.next_us:
                self._next, self.next_us = fetch, fetch.arrives_us

    def _count(self, fetches: int) -> None:
        self._counts["Fetch"] += fetches
        self.sent += fetches

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

    # -- what repeats ----------------------------------------------------------------------------

    def positions(self) -> dict[TopicPartition, int]:
        """Return the position of every partition."""
        return {tp: reading.position for tp, reading in self._fetcher.positions.readings.items()}

    def state(self, now: int) -> State | None:
        """Return the fetches, the records to come and all orders, with times relative to *now*.

        None: they are not regular.
        """
        if self._behind:
            return None
        found: list[object] = [tuple(self._under_way)]
        for broker, fetch in self._by_broker.items():
            coming = fetch.coming(now, is_under_way=broker in self._under_way)
            if coming is None:
                return None
            found.append(coming)
        positions = self._fetcher.positions
        by_leader = tuple(map(tuple, positions.by_leader.values()))
        return (*found, self._fetcher.buffer_state, tuple(positions.readings), by_leader)

    def move(self, later_us: int, records: Mapping[TopicPartition, int], fetches: int) -> bool:
        """Move all fetches and positions, after *fetches* more.

        False, and nothing done, if the records to come are not the same ones, later by that.
        """
        every = self._by_broker.values()
        if not all(fetch.repeats(later_us, records) for fetch in every):
            return False
        for fetch in every:
            fetch.move(later_us, records)
        self._fetcher.move(records)
        self._count(fetches)
        if self._next is not None:
            self.next_us += later_us
        return True

    def skip_idle(self, until_us: int) -> tuple[int, int] | None:
        """Skip answers without records that arrive before *until_us* and before any record.

        Return the time before which none are left, and when the last one arrived, -1 if none did.
        None: delays are not constant, or some broker is not asked.
        """
        under_way = self._under_way.values()
        if not self._fetcher.idle or len(under_way) < len(self._by_broker):
            return None
        if not all(fetch.is_regular for fetch in under_way):
            return None
        limit, last = min([until_us, *(fetch.first_record_us for fetch in under_way)]), -1
        for fetch in under_way:
            sent, arrived = fetch.skip_empty(limit)
            if sent:
                self._count(sent)
                last = max(last, arrived)
        if last >= 0:
            self._put_in_order()
        return limit, last

    def _put_in_order(self) -> None:
        """Order the fetches as they were sent; those of one instant keep their order."""
        sent = sorted(self._under_way.values(), key=lambda fetch: fetch.sent_us)
        self._under_way.clear()
        self._under_way.update({fetch.broker: fetch for fetch in sent})
        self._find_next()
