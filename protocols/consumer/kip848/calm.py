"""Polls of a calm member, as arithmetic: until a duty is due, only records can arrive.

This computes a pass of poll and a round of the background thread on a few numbers instead of a
whole state: the poll event passes through its slot, records are taken, waits end, fetches are
sent. A host may use it in place of the client while only records arrive. It has the same behaviour
as :mod:`~protocols.consumer.kip848.application`, :mod:`~protocols.consumer.kip848.background` and
the machine; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.consumer import metadata
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.application import POLL, Wait
from protocols.consumer.kip848.background import WOKEN
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.requests import BACKGROUND
from protocols.consumer.kip848.state import ClientState, Consumer, Progress, Slot
from protocols.consumer.kip848.threads import (
    OUTSIDE,
    Event,
    FetchesWanted,
    Lag,
    Outside,
    Polled,
    Polling,
)
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS, NEVER, turn_interval_us
from protocols.machine import Effect, SetTimer, Step
from protocols.messages import FetchResponse
from protocols.values import replace

_FETCHES_WANTED = FetchesWanted()


def quiet_until(state: ClientState, consumer: Consumer, now: int) -> int | None:
    """Return until when (us) only records can arrive at a consumer between two polls.

    Then a heartbeat, commit or metadata update is due. None: another event may happen now.
    """
    if type(state.app) is not Outside or not is_settled(state, consumer):
        return None
    beat = state.beat
    if beat.number is not None or beat.armed_us is None or beat.retry_us > beat.due_us:
        return None
    if beat.armed_us > beat.due_us:
        return None
    due = min(beat.armed_us, state.poll_due_us, metadata.due_us(state.metadata, consumer))
    if consumer.settings.enable_auto_commit:
        due = min(due, state.autocommit_us)
    return due if now < due else None


def is_settled(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the member is stable and reads all it has, with nothing pending."""
    return _settled(state) and _reads_all(state, consumer)


def _settled(state: ClientState) -> bool:
    """Return whether the member is stable, with no request, commit or call pending."""
    return (
        state.member.state is MemberState.STABLE
        and type(state.coordinator) is Known
        and state.subscribed is not None
        and not state.in_flight
        and not state.commits
        and not state.needed
        and state.fatal_error is None
        and state.thrown is None
        and _goes_well(state.slot, state.events)
    )


def _goes_well(slot: Slot | None, events: tuple[Event, ...]) -> bool:
    """Return whether the queue has only fetches, and the poll event if it was not taken yet."""
    queued = [event for event in events if type(event) is not FetchesWanted]
    if slot is None:
        return not queued
    if slot.failed is not None or slot.progress is Progress.TAKEN:
        return False
    return queued == ([] if slot.progress is Progress.COMPLETE else [Polled(slot.at_us)])


def _reads_all(state: ClientState, consumer: Consumer) -> bool:
    """Return whether every position is valid and every leader known."""
    reads, positions = state.reads, consumer.positions
    return (
        not state.pending_offset_fetches
        and not reads.listing
        and not reads.out_of_range
        and reads.validation_failure is None
        and reads.metadata.in_flight is None
        and reads.metadata.seen == reads.metadata.version
        and not state.awaiting
        and not consumer.fetcher.pending
        and not consumer.fetcher.has_errors
        and not positions.behind
        and not positions.leaderless
        and positions.all_reading()
        and consumer.fetcher.connected
    )


class SavedPoll(NamedTuple):
    """What changes in both threads of a calm consumer; see :class:`CalmPoll`."""

    wait: Wait
    answered: bool
    progress: Progress | None
    events: tuple[Event, ...]
    events_us: int
    at_us: int
    deadline_us: int
    poll_due_us: int
    until_us: int
    wait_us: int
    duty_us: int


def _later(event: Event, later_us: int) -> Event:
    return Polled(event.at_us + later_us) if type(event) is Polled else event


class CalmPoll:
    """Both threads of one consumer while it is calm; changed in place.

    The application thread is outside poll, or it waits until ``wait_us``; the background thread
    takes the queued events at ``events_us``.
    """

    __slots__ = (
        "_answered",
        "_at_us",
        "_collect",
        "_deadline_us",
        "_duty_us",
        "_events",
        "_fetcher",
        "_interval_us",
        "_lags",
        "_limit",
        "_poll_due_us",
        "_progress",
        "_queue_times",
        "_turn_interval_us",
        "_until_us",
        "_wait",
        "events_us",
        "wait_us",
    )

    timers = (BACKGROUND, POLL)
    """The timers of the client that this replaces."""

    blocking_timer = WOKEN
    """A timer that must not be set when this begins."""

    thread_timer = BACKGROUND
    """The timer of the background thread, which sends fetches."""

    unread_from: frozenset[int] = frozenset()
    """The brokers whose responses have arrived and were not read: none."""

    def __init__(self, state: ClientState, consumer: Consumer, *, answered: bool) -> None:
        """Begin with *state*, outside poll.

        *answered*: a fetch response has arrived since the last wait that one ended.
        """
        settings, slot = consumer.settings, state.slot
        self._fetcher: Fetcher = consumer.fetcher
        self._collect = consumer.fetcher.collect
        self._lags = consumer.lags
        self._queue_times = consumer.queue_times
        self._limit = settings.max_poll_records
        self._turn_interval_us = turn_interval_us(settings)
        self._interval_us = settings.max_poll_interval_ms * MS
        self._duty_us = state.beat.due_us
        if settings.enable_auto_commit:
            self._duty_us = min(self._duty_us, state.autocommit_us)
        self._answered = answered
        self._events: list[Event] = list(state.events)
        self.events_us = NEVER if state.events_us is None else state.events_us
        """When the background thread takes events; ``NEVER``: there are none."""

        self._progress = None if slot is None else slot.progress
        self._at_us = 0 if slot is None else slot.at_us
        self._deadline_us = 0 if slot is None else slot.deadline_us
        self._poll_due_us = state.poll_due_us
        self._wait = Wait.NONE
        self._until_us = 0
        self.wait_us = NEVER
        """When the wait in poll ends; ``NEVER``: the application is outside."""

    # -- the application thread ----------------------------------------------------------------

    def poll(self, now: int, timeout_us: int) -> tuple[Handed, ...] | None:
        """Enter poll; return its records, or None if it waits."""
        self._until_us = now + timeout_us
        return self._pass(now)

    def turn(self, now: int) -> tuple[Handed, ...] | None:
        """End the wait; return the records of poll, or None if it waits again."""
        self._wait, self.wait_us = Wait.NONE, NEVER
        handed = self._collect(self._limit)
        if handed:
            return self._hand_out(handed, now)
        return () if now >= self._until_us else self._pass(now)

    def _pass(self, now: int) -> tuple[Handed, ...] | None:
        """Make a pass: issue an event if the slot is free, then collect records."""
        progress = self._progress
        if progress is None or (progress is Progress.COMPLETE and not self._fetcher.queued):
            self._progress, self._at_us, self._deadline_us = Progress.QUEUED, now, self._until_us
            self._queue(Polled(now), now)
        elif progress is Progress.COMPLETE:
            self._progress = None
        handed = self._collect(self._limit)
        if handed:
            return self._hand_out(handed, now)
        if now >= self._until_us:
            return ()
        if self._answered:
            self._answered = False
            return self._pass(now)
        self._wait, self.wait_us = Wait.RECORDS, self._wait_until(now)
        return None

    def _hand_out(self, handed: tuple[Handed, ...], now: int) -> tuple[Handed, ...]:
        self._queue(_FETCHES_WANTED, now)
        return handed

    def _wait_until(self, now: int) -> int:
        """Return what :func:`~protocols.consumer.kip848.application.wait_until` does."""
        half = (self._poll_due_us - now) // 2
        longest = self._turn_interval_us
        most = longest if longest < half or half <= 0 else half
        return min(self._until_us, now + most, self._duty_us)

    def _queue(self, event: Event, now: int) -> None:
        self._events.append(event)
        if self.events_us == NEVER:
            self._queue_times.begin(now)
            self.events_us = now + self._lags(Lag.EVENT, now)

    # -- the background thread -----------------------------------------------------------------

    def take_events(self) -> None:
        """Take the queued events; the caller then sends fetches to free brokers."""
        for event in self._events:
            if type(event) is Polled:
                self._poll_due_us = event.at_us + self._interval_us
                self._progress = Progress.COMPLETE
        self._queue_times.end(self.events_us)
        self._events.clear()
        self.events_us = NEVER

    def answered(self, now: int, response: FetchResponse) -> bool:
        """Buffer a fetch response; end a wait for records, and take events earlier.

        Return False: the poll loop runs when the wait ends, not now.
        """
        self._fetcher.arrived(response)
        if self._wait is Wait.RECORDS:
            self._answered = any(part.next_offset > part.first for part in response.partitions)
            self._wait = Wait.WOKEN
            self.wait_us = now + self._lags(Lag.WAKE, now)
        else:
            self._answered = True
        if self.events_us != NEVER:
            self.events_us = min(self.events_us, now + self._lags(Lag.ROUND, now))
        return False

    # -- a state that comes again --------------------------------------------------------------

    def saved(self, now: int) -> SavedPoll:
        """Return all that decides what this does next, relative to *now*."""
        issued, waits = self._progress is not None, self._wait is not Wait.NONE
        return SavedPoll(
            self._wait,
            self._answered,
            self._progress,
            tuple([_later(event, -now) for event in self._events]),
            NEVER if self.events_us == NEVER else self.events_us - now,
            self._at_us - now if issued else 0,
            self._deadline_us - now if issued else 0,
            self._poll_due_us - now,
            self._until_us - now if waits else 0,
            NEVER if self.wait_us == NEVER else self.wait_us - now,
            self._duty_us - now,
        )

    def restore(self, saved: SavedPoll, now: int) -> None:
        """Take over a state before the same duty."""
        self._wait, self._answered, self._progress = saved.wait, saved.answered, saved.progress
        self._events = [_later(event, now) for event in saved.events]
        self.events_us = NEVER if saved.events_us == NEVER else saved.events_us + now
        self._at_us, self._deadline_us = saved.at_us + now, saved.deadline_us + now
        self._poll_due_us, self._until_us = saved.poll_due_us + now, saved.until_us + now
        self.wait_us = NEVER if saved.wait_us == NEVER else saved.wait_us + now

    # -- back to the client --------------------------------------------------------------------

    @property
    def waits_for(self) -> str | None:
        """The timer that ends the wait in poll; None: the application is outside."""
        if self._wait is Wait.NONE:
            return None
        return POLL if self._wait is Wait.RECORDS else WOKEN

    @property
    def marks(self) -> tuple[Wait, bool]:
        """The wait of poll, and whether a fetch response came since the last wait ended by one."""
        return self._wait, self._answered

    def leave(self, state: ClientState) -> Step[ClientState]:
        """Return the initial *state*, updated, with its timers set."""
        slot = None
        if self._progress is not None:
            slot = Slot(self._at_us, self._deadline_us, self._progress)
        timers: tuple[Effect, ...] = ()
        if self.events_us != NEVER:
            timers += (SetTimer(BACKGROUND, self.events_us),)
        if self.waits_for is not None:
            timers += (SetTimer(self.waits_for, self.wait_us),)
        after = replace(
            state,
            app=OUTSIDE if self.waits_for is None else Polling(self._until_us),
            slot=slot,
            events=tuple(self._events),
            events_us=None if self.events_us == NEVER else self.events_us,
            poll_due_us=self._poll_due_us,
        )
        return Step(after, timers)
