"""The application thread: the passes of ``poll`` before records.

Source: ``AsyncKafkaConsumer.poll``, ``checkInflightPoll``.
"""

from __future__ import annotations

import enum

from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.fetch_buffer import Handed, in_record_order
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848 import reconciliation
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.requests import pass_over, queue
from protocols.consumer.kip848.state import ClientState, Consumer, Progress, Slot
from protocols.consumer.kip848.threads import (
    EACH_RECORD_US,
    ApplyAssignment,
    Applying,
    CallbackCompleted,
    CallbackNeeded,
    Calling,
    Closing,
    Polled,
    Polling,
    Purpose,
    Unsubscribing,
)
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS, turn_interval_us
from protocols.machine import Call, Return, Step
from protocols.values import replace


def enter_poll(
    state: ClientState, consumer: Consumer, timeout_us: int, now: int
) -> Step[ClientState]:
    """Enter poll; drop the handled event of an earlier poll that timed out."""
    if state.subscribed is None:
        failed = Failed(ExceptionName.ILLEGAL_STATE, message="nothing is subscribed")
        return Step(state, (Return(failed),))
    slot = state.slot
    if slot is not None and slot.progress is Progress.TAKEN and now >= slot.deadline_us:
        state = replace(state, slot=None)
    until = now + timeout_us
    return begin_pass(replace(state, app=Polling(until)), consumer, now)


def begin_pass(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Begin a pass: issue an event if there is none, then make the listener calls.

    A complete event stays while whole fetches are buffered; no new event is issued then.
    """
    polling = state.app
    assert isinstance(polling, Polling), "a pass is made in poll"
    slot = state.slot
    if slot is not None and slot.failed is not None:
        return Step(replace(state, slot=None, thrown=slot.failed)).then(
            lambda s: call_needed(s, consumer, now)
        )
    if slot is not None and slot.progress is Progress.COMPLETE and not consumer.fetcher.queued:
        slot = None
    if slot is not None or state.fatal_error is not None:
        return call_needed(replace(state, slot=slot), consumer, now)
    state = replace(state, slot=Slot(now, polling.until_us))
    step = queue(state, consumer, Polled(now), now)
    return step.then(lambda s: call_needed(s, consumer, now))


def call_needed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the requested listener calls, one after the other."""
    needed = state.needed
    if not needed:
        return throw(state)
    outer = state.app
    assert isinstance(outer, Polling | Unsubscribing), "listener calls do not nest"
    return _call(replace(state, needed=()), consumer, needed, outer, now)


def _call(
    state: ClientState,
    consumer: Consumer,
    needed: tuple[CallbackNeeded, ...],
    outer: Polling | Unsubscribing,
    now: int,
) -> Step[ClientState]:
    first, rest = needed[0], needed[1:]
    calling = Calling(first, rest, outer)
    if first.purpose is not Purpose.ASSIGN:
        return Step(replace(state, app=calling), (Call(first.listener, first.partitions),))
    if isinstance(outer, Unsubscribing):
        return _skip_call(state, consumer, calling, now, applied=False)
    if not consumer.profile.in_background:
        return queue(replace(state, app=Applying(calling)), consumer, ApplyAssignment(first), now)
    if not reconciliation.is_running(state):
        return _skip_call(state, consumer, calling, now, applied=False)
    applied = reconciliation.apply_assignment(state, first)
    return on_applied(replace(applied, app=Applying(calling)), consumer, now)


def on_applied(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the listener call after the assignment was applied."""
    applying = state.app
    assert isinstance(applying, Applying), "no assignment is being applied"
    calling = applying.calling
    needed = calling.needed
    if not consumer.listener:
        passed = pass_over(state, needed.listener, needed.partitions)
        return passed.then(lambda s: _skip_call(s, consumer, calling, now, applied=True))
    return Step(replace(state, app=calling), (Call(needed.listener, needed.partitions),))


def _skip_call(
    state: ClientState, consumer: Consumer, calling: Calling, now: int, *, applied: bool
) -> Step[ClientState]:
    """End the reconciliation without a listener call; it failed if its assignment was not *applied*.

    The background thread is not woken: it acknowledges in its next round.
    """
    skipped = CallbackCompleted(calling.needed, threw=not applied)
    step = reconciliation.on_assigned(state, consumer, skipped, now)
    return step.then(lambda s: _next_call(s, consumer, calling, now))


def on_called(
    state: ClientState, consumer: Consumer, now: int, *, threw: Failed | None, lasted_us: int = 0
) -> Step[ClientState]:
    """Report the end of a listener call to the background thread, and make the next call."""
    calling = state.app
    assert isinstance(calling, Calling), "no listener call is running"
    state = replace(state, thrown=state.thrown or threw)
    failed = threw is not None
    ended = CallbackCompleted(calling.needed, failed, ended_us=now, lasted_us=lasted_us)
    step = queue(state, consumer, ended, now)
    return step.then(lambda s: _next_call(s, consumer, calling, now))


def _next_call(
    state: ClientState, consumer: Consumer, calling: Calling, now: int
) -> Step[ClientState]:
    """Continue after a listener call with the next one, or with what made it."""
    outer = calling.outer
    state = replace(state, app=outer)
    if calling.rest and not isinstance(outer, Closing):
        return _call(state, consumer, calling.rest, outer, now)
    return throw(state)


def throw(state: ClientState) -> Step[ClientState]:
    """Throw the pending exception from poll after all listener calls, and drop its event."""
    if not isinstance(state.app, Polling):
        return Step(state)
    failed = state.thrown or state.fatal_error
    if failed is None:
        return Step(state)
    return Step(replace(state, thrown=None, slot=None), (Return(failed),))


def end_pass(state: ClientState) -> ClientState:
    """Remove the event if it is complete, so that the next one can be issued."""
    slot = state.slot
    if slot is None or slot.progress is not Progress.COMPLETE or slot.failed is not None:
        return state
    return replace(state, slot=None)


POLL = "poll"
"""Timer: the wait of poll ends."""


class Wait(enum.Enum):
    """The wait of a poll that found no records."""

    NONE = "it turns"
    RECORDS = "it waits for records"
    WOKEN = "it was woken and has not looked for records yet"
    CALLED = "a listener call has ended and its pass has not continued yet"


def held_back(state: ClientState, consumer: Consumer) -> bool:
    """Return whether records wait until the background thread has taken the event of this poll.

    They wait during a reconciliation, and while a position is not validated.
    """
    positions = consumer.positions
    if state.slot is None or state.slot.progress is not Progress.QUEUED:
        return False
    if state.member.state is MemberState.RECONCILING:
        return True
    unconfirmed = positions.behind or not positions.all_reading()
    return unconfirmed and not consumer.fetcher.idle


def raced(state: ClientState, consumer: Consumer, now: int) -> bool:
    """Return whether the background thread may read positions while records are taken.

    It may if an automatic commit is due with the event, or a heartbeat is in flight.
    """
    if state.slot is None or state.slot.progress is not Progress.QUEUED:
        return False
    if not consumer.settings.enable_auto_commit:
        return False
    return now >= state.autocommit_us or state.beat.number is not None


def wait_until(state: ClientState, consumer: Consumer, polling: Polling, now: int) -> int:
    """Return when (us) a wait for records ends: with poll, at a duty, or after ``retry.backoff.ms``.

    The last of these only if a fetch may bring records soon, or a duty is overdue: passes take no
    time here. Source: ``AsyncKafkaConsumer.pollForFetches``, ``maximumTimeToWait``.
    """
    duties = [_beat_us(state, now), now + (state.poll_due_us - now) // 2]
    if consumer.settings.enable_auto_commit:
        duties.append(_commit_us(state, consumer, now))
    ahead = [when for when in duties if when > now]
    if len(ahead) < len(duties) or _may_fetch(state, consumer):
        ahead.append(now + turn_interval_us(consumer.settings))
    return min(polling.until_us, *ahead)


def _beat_us(state: ClientState, now: int) -> int:
    """Return when (us) the next heartbeat may be sent; one interval later if none can be sent now."""
    beat = state.beat
    if not isinstance(state.coordinator, Known) or not state.member.state.in_group:
        return now + beat.interval_us
    return beat.due_us if beat.due_us > now else beat.retry_us


def _commit_us(state: ClientState, consumer: Consumer, now: int) -> int:
    """Return when (us) the next automatic commit is due; one interval later if it is overdue.

    Passes take no time here, so at least one millisecond later (``AutoCommitState.remainingMs``).
    """
    interval = max(consumer.settings.auto_commit_interval_ms, 1) * MS
    return state.autocommit_us if state.autocommit_us > now else now + interval


def _may_fetch(state: ClientState, consumer: Consumer) -> bool:
    """Return whether nothing is assigned, a position is missing, or a partition is fetched.

    No records of a partition that is fetched are buffered when poll begins to wait.
    """
    fetcher = consumer.fetcher
    if not state.assignment or state.awaiting or not consumer.positions.all_reading():
        return True
    unread = fetcher.pending | fetcher.paused
    return any(tp not in unread for tp in state.assignment)


class Taking:
    """Records that the application thread takes from the buffer; changed in place."""

    __slots__ = ("_fetcher", "_left", "_moments", "_taken", "ends_us")

    def __init__(self, fetcher: Fetcher, limit: int, begins_us: int) -> None:
        """Begin to take up to *limit* records at *begins_us*."""
        self._fetcher = fetcher
        self._left = limit
        self._taken: list[tuple[Handed, int]] = []
        """Each range without a gap, and the position behind it."""

        self._moments: list[tuple[int, int]] = []
        """For each completed fetch: when its records are taken, and how many."""

        moment = begins_us
        for size in fetcher.shares_ahead(limit):
            moment += size * EACH_RECORD_US
            self._moments.append((moment, size))
        self.ends_us = moment

    def catch_up(self, now: int) -> None:
        """Take the records that the application thread has reached at *now* (us)."""
        while self._moments and self._moments[0][0] <= now:
            self._take(self._moments.pop(0)[1])

    def _take(self, records: int) -> None:
        """Take so many records of the fetch at the front; a gap ends a share, not the fetch."""
        positions = self._fetcher.positions
        while records > 0:
            share = self._fetcher.share(self._left)
            if share is None:
                self._moments.clear()
                return
            count = share.next_offset - share.first
            self._left -= count
            records -= count
            behind = positions.fetch_position(share.partition).offset
            self._taken.append((share, behind))

    def finish(self) -> tuple[Handed, ...]:
        """Return the taken records, in the order in which the application gets them."""
        return in_record_order([share for share, _ in self._taken])

    def put_back(self) -> None:
        """Move the positions back, because none of these records was returned."""
        positions = self._fetcher.positions
        for share, behind in reversed(self._taken):
            if positions.reads_at(share.partition, behind):
                before = positions.fetch_position(share.partition)
                positions.move_back(share.partition, share.first, before.epoch)
