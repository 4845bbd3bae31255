"""The fetches of one calm process as its loop plays them: whose answer comes next, with what.

Nothing of it is an event of the kernel. Brokers answer with records, and only with records: else
the process is not calm (:meth:`emulator.world.consumer.fetches.Fetches.undisturbed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.arrivals import NEVER

if TYPE_CHECKING:
    from emulator.world.consumer.process import Process
    from emulator.world.consumer.under_way import UnderWay
    from protocols.consumer.fetching import Fetcher


class CalmFetches:
    """What one process has asked its brokers for, and will ask them."""

    __slots__ = ("_behind", "_by_broker", "_counts", "_fetcher", "_next", "_process", "_under_way")

    def __init__(self, process: Process, fetcher: Fetcher) -> None:
        self._process = process
        self._fetcher = fetcher
        self._counts = process.services.post.counts
        self._by_broker: dict[int, UnderWay] = {}
        """Of each broker its fetch, under way or not."""

        self._under_way: dict[int, UnderWay] = {}
        """In the order in which they were sent."""

        self._behind: set[int] = set()
        """Brokers that were asked for what is buffered now: what they are asked next is open."""

        self._next: UnderWay | None = None

    def take_over(self, now: int) -> bool:
        """Let no answer arrive as an event any more, if that can be; say whether it can."""
        fetches, fetcher = self._process.services.fetches, self._fetcher
        by_broker = fetches.undisturbed(self._process, fetcher.positions.by_leader, now)
        under_way = fetches.of(self._process)
        if by_broker is None or fetcher.in_flight != under_way.keys():
            return False
        self._by_broker, self._under_way = by_broker, under_way
        self._behind = set(by_broker).difference(under_way)
        for fetch in by_broker.values():
            fetch.live = False
        self._find_next()
        return True

    def give_back(self) -> None:
        """Let the answers arrive as events again."""
        self._process.services.fetches.go_live(self._process)

    @property
    def next_us(self) -> int:
        """When the next answer arrives."""
        return NEVER if self._next is None else self._next.arrives_us

    def ask(self, now: int) -> int:
        """Ask the brokers that are free for records; return when the next answer arrives."""
        for broker in self._fetcher.take_free():
            self._counts["Fetch"] += 1
            fetch = self._by_broker[broker]
            if broker in self._behind:
                self._behind.discard(broker)
                fetch.bring_up(self._fetcher.positions.by_leader[broker])
            fetch.send(now)
            self._under_way[broker] = fetch
            if self._next is None or fetch.arrives_us < self._next.arrives_us:
                self._next = fetch
        return self.next_us

    def arrive(self) -> bool:
        """Buffer what the next answer brings; say whether that is anything."""
        fetch = self._next
        assert fetch is not None, "an answer arrives"
        del self._under_way[fetch.broker]
        response = fetch.bring()
        self._fetcher.arrived(response)
        self._find_next()
        return any(part.next_offset > part.first for part in response.partitions)

    def _find_next(self) -> None:
        """Find the next answer: of several at one instant, the one that was asked for first."""
        soonest, self._next = NEVER, None
        for fetch in self._under_way.values():
            if fetch.arrives_us < soonest:
                soonest, self._next = fetch.arrives_us, fetch

    @property
    def overtaken(self) -> bool:
        """Whether retention has overtaken what is read."""
        positions = self._fetcher.positions.valid()
        wants = [want for f in self._by_broker.values() for want in f.wants.cached.values()]
        return any(w.log is not None and positions[w.partition] < w.log.start for w in wants)
