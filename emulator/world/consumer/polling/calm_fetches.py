"""The fetches of a calm consumer as arithmetic: sent, answered and sent again without events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.consumer.interfaces import ConsumerProcess, State
from emulator.world.consumer.polling.fetch_in_flight import relative_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from assignors.types import TopicPartition
    from emulator.world.cluster.partitions.shown_log import ShownLog
    from emulator.world.consumer.polling.fetch_in_flight import Ahead, FetchInFlight, SavedFetch
    from protocols.consumer.fetching import Fetcher
    from protocols.consumer.saved import SavedFetcher
    from protocols.messages import EpochStart, FetchResponse, LeaderAndEpoch


class Coming(NamedTuple):
    """What decides which records come in one partition, behind its position."""

    partition: TopicPartition
    log: ShownLog
    phase: int
    when_us: int
    """When the record at the position is visible."""

    epochs: tuple[EpochStart, ...]
    leader: LeaderAndEpoch


class SavedFetches(NamedTuple):
    """The fetches of a consumer, and what it has read; see :class:`CalmFetches`."""

    in_flight: tuple[int, ...]
    outdated: frozenset[int]
    fetches: tuple[SavedFetch, ...]
    coming: tuple[Coming, ...]
    fetcher: SavedFetcher


class CalmFetches:
    """The fetches of one calm process; its poll loop sends and receives them."""

    __slots__ = (
        "_by_broker",
        "_counts",
        "_fetcher",
        "_in_flight",
        "_next",
        "_outdated",
        "_process",
        "next_us",
        "sent",
    )

    def __init__(self, process: ConsumerProcess, fetcher: Fetcher) -> None:
        self._process = process
        self._fetcher = fetcher
        self._counts = process.request_counts
        self._by_broker: dict[int, FetchInFlight] = {}
        """The fetch of each broker, in flight or not."""

        self._in_flight: dict[int, FetchInFlight] = {}
        """The fetches in flight, in the order in which they were sent."""

        self._outdated: set[int] = set()
        """Brokers whose session has old offsets: their records are in the buffer or unread."""

        self._next: FetchInFlight | None = None
        self.next_us = NEVER
        """When the next response arrives."""

        self.sent = 0
        """The number of fetches sent."""

    def begin(self, now: int, unread: AbstractSet[int]) -> bool:
        """Receive responses here instead of by events; return whether that is possible.

        *unread*: brokers whose responses have arrived and were not read.
        """
        fetches, fetcher = self._process.fetches, self._fetcher
        by_broker = fetches.undisturbed(self._process, fetcher.positions.by_leader, now)
        in_flight = fetches.of(self._process)
        if by_broker is None or fetcher.in_flight != in_flight.keys() | unread:
            return False
        self._by_broker, self._in_flight = by_broker, in_flight
        self._outdated = set(by_broker).difference(in_flight)
        for fetch in by_broker.values():
            fetch.live = False
        self._find_next()
        return True

    def end(self) -> None:
        """Receive responses by events again."""
        self._process.fetches.go_live(self._process)

    def send_fetches(self, now: int) -> None:
        """Send a fetch to every broker that has none in flight and no buffered records."""
        for broker in self._fetcher.take_free():
            self.count(1)
            fetch = self._by_broker[broker]
            if broker in self._outdated:
                self._outdated.discard(broker)
                fetch.bring_up(self._fetcher.positions.by_leader[broker])
            fetch.send(now)
            self._in_flight[broker] = fetch
            if fetch.arrives_us < self.next_us:
                self._next, self.next_us = fetch, fetch.arrives_us

    def count(self, fetches: int) -> None:
        """Count so many more fetches."""
        self._counts["Fetch"] += fetches
        self.sent += fetches

    def receive(self) -> FetchResponse:
        """Return the response that arrives next."""
        fetch = self._next
        assert fetch is not None, "a response arrives"
        del self._in_flight[fetch.broker]
        response = fetch.bring()
        self._find_next()
        return response

    def _find_next(self) -> None:
        """Find the next response: of several at one instant, that of the fetch sent first."""
        self.next_us, self._next = NEVER, None
        for fetch in self._in_flight.values():
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
        return self._fetcher.positions.offsets

    def state(self, now: int) -> State | None:
        """Return the fetches, the records to come and all orders, with times relative to *now*.

        None: they are not regular.
        """
        if self._outdated:
            return None
        found: list[object] = [tuple(self._in_flight)]
        for broker, fetch in self._by_broker.items():
            coming = fetch.coming(now, is_in_flight=broker in self._in_flight)
            if coming is None:
                return None
            found.append(coming)
        positions = self._fetcher.positions
        by_leader = tuple(map(tuple, positions.by_leader.values()))
        return (*found, self._fetcher.buffer_state, tuple(positions.readings), by_leader)

    def ahead(self) -> list[Ahead]:
        """Return the records that each fetch waits for, or will."""
        return [fetch.ahead for fetch in self._by_broker.values()]

    def repeats(
        self, later_us: int, records: Mapping[TopicPartition, int], ahead: Sequence[Ahead]
    ) -> bool:
        """Return whether the records that come later by that are further by *records*.

        *ahead*: those that were ahead when that time began.
        """
        fetches = zip(self._by_broker.values(), ahead, strict=True)
        return all(fetch.repeats(later_us, records, before) for fetch, before in fetches)

    def move(self, later_us: int, records: Mapping[TopicPartition, int], fetches: int) -> bool:
        """Move all fetches and positions, after *fetches* more.

        False, and nothing done, if the records to come are not the same ones, later by that.
        """
        every = self._by_broker.values()
        if not all(fetch.repeats(later_us, records) for fetch in every):
            return False
        for fetch in every:
            fetch.move(later_us, records)
        self._fetcher.move(later_us, records)
        self.count(fetches)
        if self._next is not None:
            self.next_us += later_us
        return True

    def skip_idle(self, until_us: int) -> tuple[int, int] | None:
        """Skip responses without records that arrive before *until_us* and before any record.

        Return the time before which none are left, and when the last one arrived, -1 if none did.
        None: delays are not constant, or a broker has no fetch in flight.
        """
        in_flight = [f for f in self._in_flight.values() if f.broker in self._by_broker]
        if not self._fetcher.idle or len(in_flight) < len(self._by_broker):
            return None
        if not all(fetch.is_regular for fetch in in_flight):
            return None
        limit, last = min([until_us, *(fetch.first_record_us for fetch in in_flight)]), -1
        for fetch in in_flight:
            sent, arrived = fetch.skip_empty(limit)
            if sent:
                self.count(sent)
                last = max(last, arrived)
        if last >= 0:
            self._put_in_order()
        return limit, last

    # -- a state that comes again ------------------------------------------------------------------

    def saved(self, now: int, offsets: Mapping[TopicPartition, int]) -> SavedFetches | None:
        """Return all that decides what is fetched and read, relative to *now* and to these positions.

        None: it is not regular, or something else than records can be read.
        """
        fetcher, in_flight = self._fetcher, self._in_flight
        if not fetcher.undisturbed or in_flight.keys() - self._by_broker.keys():
            return None
        fetches, coming = [], []
        for broker, fetch in self._by_broker.items():
            if not fetch.is_regular:
                return None
            fetches.append(fetch.saved(now, offsets, is_in_flight=broker in in_flight))
            for tp, want in fetch.wants.cached.items():
                position, log = offsets[tp], want.log
                phase = None if log is None else log.phase(position)
                if log is None or phase is None:
                    return None
                when_us = relative_us(log.visible_us(position), now)
                leader = fetcher.positions.readings[tp].current
                coming.append(Coming(tp, log, phase, when_us, log.epochs, leader))
        return SavedFetches(
            tuple(in_flight),
            frozenset(self._outdated),
            tuple(fetches),
            tuple(coming),
            fetcher.saved(),
        )

    def comes_to(
        self, saved: SavedFetches, now: int, offsets: Mapping[TopicPartition, int]
    ) -> bool:
        """Return whether the records behind a state will come as they did behind the saved one."""
        fetches = zip(self._by_broker.values(), saved.fetches, strict=True)
        if not all(fetch.comes_to(before, now, offsets) for fetch, before in fetches):
            return False
        return all(
            relative_us(each.log.visible_us(offsets[each.partition]), now) == each.when_us
            for each in saved.coming
        )

    def restore(self, saved: SavedFetches, now: int, offsets: Mapping[TopicPartition, int]) -> None:
        """Take over a saved state now, at these positions."""
        for fetch, before in zip(self._by_broker.values(), saved.fetches, strict=True):
            fetch.restore(before, now, offsets)
        self._in_flight.clear()
        self._in_flight.update({broker: self._by_broker[broker] for broker in saved.in_flight})
        self._outdated = set(saved.outdated)
        self._fetcher.restore(saved.fetcher, offsets)
        self._find_next()

    def _put_in_order(self) -> None:
        """Order the fetches as they were sent; those of one instant keep their order."""
        sent = sorted(self._in_flight.values(), key=lambda fetch: fetch.sent_us)
        self._in_flight.clear()
        self._in_flight.update({fetch.broker: fetch for fetch in sent})
        self._find_next()
