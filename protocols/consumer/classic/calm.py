"""Polls of a calm member of the classic protocol: until a duty is due, only records can arrive.

This does what :mod:`~protocols.consumer.classic.machine` does in a poll of a stable member, on a few
numbers instead of a whole state. A host may use it in place of the client while only records
arrive; runs with and without it are compared in ``tests/emulator/modes/test_folding.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols.consumer.classic.heartbeat import last_tick
from protocols.consumer.classic.state import Beat, Consumer
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.reader import NEVER
from protocols.messages import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignors.types import TopicPartition
    from protocols.consumer.positions import Reading

POLL = "poll"
"""Timer: a waiting poll runs its loop again, or returns empty."""


class CalmPoll:
    """The application thread of one consumer while it is calm; changed in place.

    It is outside poll, or waits in poll until ``wait_us``.
    """

    __slots__ = (
        "_arrived",
        "_beat",
        "_consumer",
        "_due_us",
        "_fetcher",
        "_limit",
        "clock",
        "late_reads",
        "unread",
        "until_us",
        "wait_us",
    )

    timers = (POLL,)
    """The timers of the client that this replaces."""

    blocking_timer = ""
    """A timer that must not be set when this begins; none."""

    thread_timer = ""
    """The timer of the thread that sends fetches; none: poll itself sends them."""

    events_us = NEVER
    """When that thread takes events."""

    def __init__(
        self,
        consumer: Consumer,
        beat: Beat | None,
        due_us: int,
        unread: list[tuple[int, FetchResponse]],
    ) -> None:
        """Begin outside poll.

        *beat*: the heartbeat thread; None: it does not run. *due_us*: when the client has a duty in
        poll.
        """
        self._consumer = consumer
        self._beat = beat
        self._due_us = due_us
        self.clock = consumer.clock
        self._fetcher = consumer.fetcher
        self._limit = consumer.settings.max_poll_records
        self.unread = unread
        """Responses that arrived outside poll, by time of arrival."""

        self.late_reads = 0
        """How often responses had waited for the poll that read them."""

        self._arrived = False
        """Whether a fetch response has just ended the wait."""

        self.until_us = 0
        self.wait_us = NEVER
        """When the wait in poll ends; ``NEVER``: the application is outside."""

    def poll(self, now: int, timeout_us: int) -> tuple[Handed, ...] | None:
        """Enter poll; return its records, or None if it waits."""
        self.until_us = now + timeout_us
        return self.turn(now)

    def enter(self, now: int, timeout_us: int) -> None:
        """Enter poll: its loop runs now, after the duties of the client."""
        self.until_us, self.wait_us = now + timeout_us, now

    def turn(self, now: int) -> tuple[Handed, ...] | None:
        """Run the poll loop once; return the records of poll, or None if it waits.

        Records that have just arrived are returned before the coordinator is polled again, which
        restarts ``max.poll.interval.ms`` (``ClassicKafkaConsumer.pollForFetches``).
        """
        handed = self._collect(now)
        if not (handed and self._arrived):
            self.clock.polled_us = now
        self._arrived = False
        if handed or now >= self.until_us:
            self.wait_us = NEVER
            if handed:
                self.clock.leave(now, leaves_unread=bool(self.unread))
            return handed
        self.clock.wait(now)
        self.wait_us = min(self.until_us, self._due_us)
        return None

    def _collect(self, now: int) -> tuple[Handed, ...]:
        """Take records from the buffer; read responses that arrived meanwhile only if it is empty.

        The heartbeat thread has read those that had arrived at its last turn.
        """
        if self.unread:
            self.late_reads += 1
            self._read(self._last_tick(now))
        handed = self._fetcher.collect(self._limit)
        if not handed and self.unread:
            self._read(now)
            handed = self._fetcher.collect(self._limit)
        return handed

    def _read(self, until_us: int) -> None:
        unread = self.unread
        while unread and unread[0][0] <= until_us:
            self._fetcher.arrived(unread.pop(0)[1])

    def answered(self, now: int, response: FetchResponse) -> bool:
        """Take a fetch response; return whether the poll loop has to run now."""
        if self.wait_us == NEVER:
            self.unread.append((now, response))
            return False
        self._fetcher.arrived(response)
        self._arrived = True
        return True

    def turn_phase_us(self, now: int) -> int:
        """Return the time since the last turn of the heartbeat thread."""
        return now - self._last_tick(now)

    def _last_tick(self, now: int) -> int:
        """Return the last turn of the heartbeat thread; without one poll itself reads everything."""
        return now if self._beat is None else last_tick(self._beat, self._consumer, now)

    def unread_state(self, now: int) -> tuple[object, ...]:
        """Return the responses that wait for a poll, relative to *now* and to the positions."""
        return unread_state(self.unread, self._fetcher.positions.readings, now)

    def move(self, later_us: int, records: Mapping[TopicPartition, int], *, polled_us: int) -> None:
        """Move unread responses; the application is outside poll, whose last turn was at *polled_us*."""
        self.clock.polled_us = polled_us
        self.unread = moved_responses(self.unread, later_us, records)

    def wait_on(self, before_us: int, timeout_us: int, last_us: int) -> None:
        """Wait on without records: end polls before *before_us* empty and enter the next ones.

        *last_us*: when the last response without records arrived; -1: none did.
        """
        if self.until_us < before_us:
            polls = (before_us - 1 - self.until_us) // timeout_us + 1
            last_us = max(last_us, self.until_us + (polls - 1) * timeout_us)
            self.until_us += polls * timeout_us
        self.clock.polled_us = max(self.clock.polled_us, last_us)
        self.wait_us = min(self.until_us, self._due_us)

    def go_on(self, beat: Beat | None, due_us: int) -> None:
        """Continue after the client has handled something, with its heartbeat thread and duty."""
        self._beat, self._due_us = beat, due_us
        if self.wait_us != NEVER:
            self.wait_us = min(self.until_us, due_us)

    @property
    def unread_from(self) -> set[int]:
        """The brokers whose responses have arrived and were not read."""
        return {response.node for _, response in self.unread}

    def take_events(self) -> None:
        """Do nothing: there is no second thread."""

    @property
    def returns_us(self) -> int | None:
        """When the poll that waits returns at the latest; None: the application is outside."""
        return None if self.wait_us == NEVER else self.until_us

    @property
    def waits_for(self) -> str | None:
        """The timer that ends the wait in poll; None: the application is outside."""
        return None if self.wait_us == NEVER else POLL


def unread_state(
    arrived: list[tuple[int, FetchResponse]], readings: Mapping[TopicPartition, Reading], now: int
) -> tuple[object, ...]:
    """Return the responses that wait for a poll, relative to *now* and to the positions.

    Offsets of a partition that has been revoked since are not relative: its records are discarded.
    """
    found: list[object] = []
    for at_us, response in arrived:
        found += (at_us - now, response.node)
        for part in response.partitions:
            reading = readings.get(part.partition)
            position = 0 if reading is None else reading.position
            found += (part.partition, part.first - position, part.next_offset - position)
    return tuple(found)


def moved_responses(
    arrived: list[tuple[int, FetchResponse]], later_us: int, records: Mapping[TopicPartition, int]
) -> list[tuple[int, FetchResponse]]:
    """Return the responses with so many records of each partition in between."""
    return [(at_us + later_us, _moved(response, records)) for at_us, response in arrived]


def _moved(response: FetchResponse, records: Mapping[TopicPartition, int]) -> FetchResponse:
    parts = []
    for part in response.partitions:
        count = records.get(part.partition, 0)
        moved = part._replace(first=part.first + count, next_offset=part.next_offset + count)
        parts.append(moved)
    return FetchResponse(response.node, tuple(parts))
