"""One fetch in flight as arithmetic: when it is answered, and the records a poll gets from it."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assignors.types import TopicPartition
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.shown_log import ShownLog, offset_after
from emulator.world.consumer.blueprints import Blueprint
from emulator.world.network import Caller, Way
from protocols.consumer.fetch_session import FetchSession
from protocols.messages import UNKNOWN_EPOCH, FetchedRecords, FetchResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from emulator.world.consumer.blueprints import AnyClient
    from protocols.consumer.positions import Reading

Ahead = list[tuple[TopicPartition, int, int]]

AT_ONCE = -1
"""The time at which a partition answers that has an error."""


class Reader(Caller, Protocol):
    """A process, as its fetches use it."""

    @property
    def blueprint(self) -> Blueprint:
        """Its settings."""

    @property
    def client(self) -> AnyClient:
        """Its client."""

    def unfold(self) -> None:
        """Stop polling by arithmetic."""


class Want:
    """One partition of a fetch session: where it is read, and when that can be answered."""

    __slots__ = ("answered", "epoch", "log", "offset", "partition", "when_us")

    def __init__(self, partition: TopicPartition, offset: int, log: ShownLog | None) -> None:
        self.partition = partition
        self.offset = offset
        self.answered = offset
        """The end of what was answered."""

        self.epoch = UNKNOWN_EPOCH
        """The leader epoch in which the client believes that the broker leads."""

        self.log = log
        self.when_us = NEVER

    def reads(self, log: ShownLog) -> bool:
        """Return whether it is of a partition, whatever its reader gets of it."""
        return self.log is not None and self.log.replicas is log.replicas

    def look_ahead(self) -> None:
        """Work out from when on the record at a new offset can be answered."""
        assert self.log is not None, "there are records in it"
        self.when_us = _first_us(self.log, self.offset)


def _first_us(log: ShownLog, offset: int) -> int:
    """Return when the first record from an offset on becomes visible."""
    return log.visible_us(offset if log.gaps is None else offset_after(log, offset, 0))


def visible_us(want: Want, broker: int, now: int) -> int:
    """Return from when on a broker has a record of one partition, or an error."""
    log = want.log
    if log is None or log.replicas.refusal(broker, want.epoch):
        return AT_ONCE
    if not log.start <= want.offset <= log.end(now):
        return AT_ONCE
    want.look_ahead()
    return want.when_us


class SavedFetch(NamedTuple):
    """A fetch, and its session: partition, offset, epoch, and when that can be answered."""

    asked_us: int
    ready_us: int
    arrives_us: int
    wants: tuple[tuple[TopicPartition, int, int, int], ...]


class FetchInFlight:
    """One fetch, from when it was sent to when its answer arrives."""

    __slots__ = (
        "_back",
        "_max_bytes",
        "_min_bytes",
        "_out",
        "_room",
        "_wait_us",
        "answers_us",
        "arrives_us",
        "asked_us",
        "broker",
        "close_asked_us",
        "live",
        "process",
        "ready_us",
        "waiting_answers",
        "wants",
    )

    def __init__(
        self,
        process: Reader,
        broker: int,
        wants: FetchSession[Want],
        out: Way,
        back: Way,
        *,
        waits: bool = True,
    ) -> None:
        """Create a fetch; one that does not wait is answered at once, also without records."""
        self.process = process
        self.broker = broker
        self.wants = wants
        self._out = out
        self._back = back
        self._wait_us = process.blueprint.settings.fetch_max_wait_ms * 1_000 if waits else 0
        self._room = process.blueprint.settings.fetch_max_bytes
        self._max_bytes = process.blueprint.settings.max_partition_fetch_bytes
        self._min_bytes = process.blueprint.settings.fetch_min_bytes
        self.asked_us = 0
        self.ready_us = NEVER
        self.arrives_us = NEVER
        self.close_asked_us = 0
        """When the broker has the request that ends the session, if one was sent behind the fetch."""

        self.waiting_answers: tuple[Callable[[], None], ...] = ()
        """The broker's answers to requests behind it, over the same connection."""

        self.answers_us = NEVER
        """When they are given."""

        self.live = True
        """Its answer arrives as an event; else the process's poll loop looks for it."""

    def send(self, now: int) -> None:
        """Leave now; work out when the broker has it, can answer it, and when that arrives."""
        out = self._out
        self.asked_us = now + (out if type(out) is int else out(now))  # type: ignore[operator]
        self.plan(self.asked_us)

    def send_close(self, now: int) -> None:
        """Send the request that ends the session now, behind the fetch.

        The broker reads it after it has answered the fetch; both answers count as one, the last one,
        because a consumer that closes reads no records.
        """
        out = self._out
        self.close_asked_us = now + (out if type(out) is int else out(now))  # type: ignore[operator]

    def plan(self, earliest: int) -> None:
        """Work out when the broker can answer, not before ``earliest``, and when that arrives."""
        ready = self.asked_us + self._wait_us
        for want in self.wants.cached.values():
            if want.when_us < ready:  # noqa: PLR1730 (a call costs more than this loop)
                ready = want.when_us
        if self._min_bytes > 1 and ready != AT_ONCE:
            ready = self._enough_us(self.asked_us + self._wait_us)
        if ready < earliest:  # noqa: PLR1730
            ready = earliest
        self.ready_us = ready
        back = self._back
        self.arrives_us = ready + (back if type(back) is int else back(ready))  # type: ignore[operator]

    def _enough_us(self, last_us: int) -> int:
        """Return when its partitions have enough together, or *last_us* (``DelayedFetch.tryComplete``)."""
        coming = [(want.when_us, tp, want.offset) for tp, want in self.wants.cached.items()]
        heapify(coming)
        counted, left = Counter[TopicPartition](), self._min_bytes
        while coming and coming[0][0] <= last_us:
            when_us, tp, offset = heappop(coming)
            log = self.wants.cached[tp].log
            assert log is not None, "no partition has an error"
            counted[tp] += log.record_size
            left -= log.record_size
            if left <= 0:
                return when_us
            if counted[tp] < self._max_bytes:
                following = offset_after(log, offset, 1)
                heappush(coming, (_first_us(log, following), tp, following))
        return last_us

    def asks_for(self, readings: Mapping[TopicPartition, Reading]) -> bool:
        """Return whether it asks for what is read next: a position may have been reset since."""
        wants = self.wants.cached.values()
        return all(want.offset == readings[want.partition].position for want in wants)

    def bring_up(self, readings: Mapping[TopicPartition, Reading]) -> None:
        """Move the session to what its consumer reads next of the same partitions."""
        for tp, want in self.wants.cached.items():
            reading = readings[tp]
            want.offset, want.epoch = reading.position, reading.current.epoch
            want.look_ahead()

    def bring(self) -> FetchResponse:
        """Return an answer that contains only records; the session moves past it."""
        ready, room = self.ready_us, self._room
        found: list[FetchedRecords] = []
        for want in [want for want in self.wants.cached.values() if want.when_us <= ready]:
            log, tp, first = want.log, want.partition, want.offset
            assert log is not None, "there are records in it"
            size = log.record_size
            count = min(self._max_bytes, room) // size or (0 if found else 1)
            if not count:
                continue
            following_us = log.visible_us(first + 1)
            if count > 1:
                count = 1 if following_us > ready else min(log.high_watermark(ready) - first, count)
            end = want.offset = first + count
            if count == 1 and log.gaps is None:
                want.when_us = following_us
            else:
                want.look_ahead()
            found.append(FetchedRecords(tp, first, end, epochs=log.epochs))
            self.wants.answered(tp)
            room -= count * size
            if room <= 0:
                break
        return FetchResponse(self.broker, tuple(found))

    # -- what repeats ----------------------------------------------------------------------------

    @property
    def is_regular(self) -> bool:
        """Whether both directions take the same time for every message."""
        return type(self._out) is int and type(self._back) is int

    def coming(self, now: int, *, is_in_flight: bool) -> tuple[object, ...] | None:
        """Return the fetch and the records it waits for, relative to *now*; None: irregular."""
        if not self.is_regular:
            return None
        found: list[object] = [self.broker]
        if is_in_flight:
            found += (self.asked_us - now, self.ready_us - now, self.arrives_us - now)
        for tp, want in self.wants.cached.items():
            phase = None if want.log is None else want.log.phase(want.offset)
            if phase is None:
                return None
            found += (tp, want.log, phase, NEVER if want.when_us == NEVER else want.when_us - now)
        return tuple(found)

    def relative(
        self, now: int, positions: Mapping[TopicPartition, int], *, is_in_flight: bool
    ) -> object:
        """Return the fetch and the records to come, relative to *now* and to the positions.

        None: irregular.
        """
        coming = self.coming(now, is_in_flight=is_in_flight)
        if coming is None or (is_in_flight and self.arrives_us >= NEVER):
            return None
        behind: list[object] = []
        for tp, want in self.wants.cached.items():
            position, log = positions.get(tp, want.offset), want.log
            if log is None or log.phase(position) is None:
                return None
            when = log.visible_us(position)
            behind += (want.offset - position, want.epoch, when if when >= NEVER else when - now)
        return coming, tuple(behind)

    @property
    def ahead(self) -> Ahead:
        """Partition, offset and time of the record that each partition waits for."""
        return [(tp, want.offset, want.when_us) for tp, want in self.wants.cached.items()]

    def repeats(
        self, later_us: int, records: Mapping[TopicPartition, int], ahead: Ahead | None = None
    ) -> bool:
        """Return whether the records that come later by that are further by *records*.

        *ahead*: those that it waited for when that time began; None: it begins now.
        """
        wants = self.wants.cached
        for tp, offset, when in self.ahead if ahead is None else ahead:
            log = wants[tp].log
            assert log is not None, "the log is regular"
            moved_us = when if when == NEVER else when + later_us
            if not self._comes(log, offset + records.get(tp, 0), moved_us):
                return False
        return True

    def _comes(self, log: ShownLog, offset: int, when_us: int) -> bool:
        """Return whether the first record from an offset on comes then, with all that it may wait for."""
        more = (self._min_bytes - 1) // log.record_size
        if more and when_us < NEVER <= log.visible_us(offset_after(log, offset, more)):
            return False
        return _first_us(log, offset) == when_us

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move the fetch, and what it asks for."""
        self.asked_us += later_us
        self.ready_us += later_us
        self.arrives_us += later_us
        for tp, want in self.wants.cached.items():
            want.offset += records.get(tp, 0)
            if want.when_us != NEVER:
                want.when_us += later_us

    def saved(
        self, now: int, offsets: Mapping[TopicPartition, int], *, is_in_flight: bool
    ) -> SavedFetch:
        """Return the fetch and what its session asks for, relative to *now* and to these offsets."""
        times = (0, 0, 0)
        if is_in_flight:
            times = (self.asked_us - now, self.ready_us - now, self.arrives_us - now)
        wants = [
            (tp, each.offset - offsets[tp], each.epoch, relative_us(each.when_us, now))
            for tp, each in self.wants.cached.items()
        ]
        return SavedFetch(*times, tuple(wants))

    def comes_to(self, saved: SavedFetch, now: int, offsets: Mapping[TopicPartition, int]) -> bool:
        """Return whether it will wait for the same records in that state at these offsets."""
        wants = self.wants.cached
        for tp, behind, _, when_us in saved.wants:
            log = wants[tp].log
            assert log is not None, "there are records in it"
            if not self._comes(log, offsets[tp] + behind, _absolute_us(when_us, now)):
                return False
        return True

    def restore(self, saved: SavedFetch, now: int, offsets: Mapping[TopicPartition, int]) -> None:
        """Take over that state now, at these offsets."""
        self.asked_us, self.ready_us = saved.asked_us + now, saved.ready_us + now
        self.arrives_us = saved.arrives_us + now
        wants = self.wants.cached
        for tp, behind, epoch, when_us in saved.wants:
            want = wants[tp] = wants.pop(tp)
            want.offset, want.epoch = offsets[tp] + behind, epoch
            want.when_us = _absolute_us(when_us, now)

    @property
    def first_record_us(self) -> int:
        """When the broker has a record."""
        return min([want.when_us for want in self.wants.cached.values()], default=NEVER)

    @property
    def sent_us(self) -> int:
        """When a regular fetch left its consumer."""
        assert isinstance(self._out, int)
        return self.asked_us - self._out

    def skip_empty(self, until_us: int) -> tuple[int, int]:
        """Skip answers without records that arrive before *until_us*, each asked again at once.

        No record comes before *until_us*. Return how many, and when the last one arrived.
        """
        if self.arrives_us >= until_us:
            return 0, -1
        assert isinstance(self._out, int)
        assert isinstance(self._back, int)
        round_us = self._out + self._wait_us + self._back
        times = (until_us - 1 - self.arrives_us) // round_us + 1
        arrived = self.arrives_us + (times - 1) * round_us
        self.send(arrived)
        return times, arrived


def relative_us(when_us: int, now: int) -> int:
    """Return a time relative to *now*; never is never."""
    return when_us if when_us == NEVER else when_us - now


def _absolute_us(when_us: int, now: int) -> int:
    """Return the time that is *when_us* relative to *now*."""
    return when_us if when_us == NEVER else when_us + now


def comes_again(
    log: ShownLog,
    positions: Mapping[TopicPartition, int],
    tp: TopicPartition,
    later_us: int,
    records: Mapping[TopicPartition, int],
) -> bool:
    """Return whether the next record of a partition comes later by that, too."""
    position = positions.get(tp)
    if position is None:
        return True
    now, later = log.visible_us(position), log.visible_us(position + records.get(tp, 0))
    return later == now + later_us if now < NEVER else later >= NEVER
