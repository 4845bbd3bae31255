"""The application thread: the passes of ``poll`` before records, close() and unsubscribe().

Source: ``AsyncKafkaConsumer.poll``, ``checkInflightPoll``, ``close``, ``unsubscribe``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from protocols.consumer.calls import Closed, CloseOperation, ExceptionName, Failed
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.fetching import Fetcher, Handed
from protocols.consumer.kip848 import commits, membership, reconciliation
from protocols.consumer.kip848.requests import queue
from protocols.consumer.kip848.state import ClientState, Consumer, MemberState, Progress, Slot
from protocols.consumer.kip848.threads import (
    EACH_RECORD_US,
    OUTSIDE,
    ApplyAssignment,
    Applying,
    CallbackCompleted,
    CallbackNeeded,
    Calling,
    CloseStage,
    Closing,
    Commit,
    LeaveWanted,
    Polled,
    Polling,
    Purpose,
    Unsubscribed,
    Unsubscribing,
)
from protocols.consumer.reader import MS, turn_interval_us
from protocols.consumer.record_order import in_record_order
from protocols.consumer.requests import take_number
from protocols.facts import CommitKind
from protocols.machine import Call, Return, SetTimer, Step
from protocols.messages import UNKNOWN_GENERATION
from protocols.messages.errors import ErrorCode
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
    if not consumer.listener:
        return _skip_call(state, consumer, calling, now, applied=True)
    needed = calling.needed
    return Step(replace(state, app=calling), (Call(needed.listener, needed.partitions),))


def _skip_call(
    state: ClientState, consumer: Consumer, calling: Calling, now: int, *, applied: bool
) -> Step[ClientState]:
    """End the reconciliation without a listener call; it failed if its assignment was not *applied*.

    The background thread is not woken: it acknowledges in its next round.
    """
    step = reconciliation.on_assigned(state, consumer, calling.needed, now, threw=not applied)
    return step.then(lambda s: _next_call(s, consumer, calling, now))


def on_called(
    state: ClientState, consumer: Consumer, now: int, *, threw: Failed | None
) -> Step[ClientState]:
    """Report the end of a listener call to the background thread, and make the next call."""
    calling = state.app
    assert isinstance(calling, Calling), "no listener call is running"
    state = replace(state, thrown=state.thrown or threw)
    ended = CallbackCompleted(calling.needed, threw is not None)
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
    """Return when (us) a wait for records ends: at a duty, or after ``retry.backoff.ms``.

    With a commit that is due, or in flight, poll waits for the interval at most; passes take no
    time here, so at least for one millisecond (``AutoCommitState.remainingMs``).
    """
    settings = consumer.settings
    moments = [polling.until_us, now + turn_interval_us(settings)]
    duties = [state.beat.due_us, now + (state.poll_due_us - now) // 2]
    if settings.enable_auto_commit:
        interval = max(settings.auto_commit_interval_ms, 1) * MS
        duties.append(state.autocommit_us if state.autocommit_us > now else now + interval)
    return min(moments + [when for when in duties if when > now])


CLOSE = "close"
"""Timer: the timeout of close() or unsubscribe() has run out."""


def begin_close(
    state: ClientState, consumer: Consumer, timeout_us: int, operation: CloseOperation, now: int
) -> Step[ClientState]:
    """Enter close(): the final automatic commit comes first, within the timeout."""
    budget = min(timeout_us, consumer.settings.request_timeout_ms * MS)
    deadline = now + budget
    state = replace(state, app=Closing(CloseStage.COMMIT, deadline, operation), needed=())
    step = Step(state, (SetTimer(CLOSE, deadline),))
    offsets = automatic_offsets(consumer)
    if not consumer.settings.enable_auto_commit or not offsets:
        return step.then(lambda s: advance_close(s, consumer, now))
    key, after = take_number(step.state)
    commit = Commit(key, CommitKind.CLOSE, offsets, deadline)
    return Step(after, step.effects).then(lambda s: queue(s, consumer, commit, now))


def advance_close(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run the steps that are not blocked; only a listener call may exceed the timeout."""
    app = state.app
    if isinstance(app, Unsubscribing):
        return _unsubscribing(state, consumer, app, now)
    if not isinstance(app, Closing):
        return Step(state)
    late = now >= app.deadline_us
    match app.stage:
        case CloseStage.COMMIT if late or not _committing(state, consumer):
            return _callbacks(_close_at(state, app, CloseStage.CALLBACKS), consumer, now)
        case CloseStage.LEAVE if late or _has_left(state):
            return advance_close(_close_at(state, app, CloseStage.COMMITS), consumer, now)
        case CloseStage.COMMITS if late or not commits.asynchronous(state):
            return Step(replace(state, app=Closed()), (Return(Closed()),))
        case _:
            return Step(state)


def _close_at(state: ClientState, app: Closing, stage: CloseStage) -> ClientState:
    return replace(state, app=app._replace(stage=stage))


def _committing(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the final commit, or an asynchronous commit before it, has not ended."""
    if not consumer.settings.enable_auto_commit:
        return False
    return any(
        kind in (CommitKind.CLOSE, CommitKind.ASYNC) for _, kind in commits.unfinished(state)
    )


def _has_left(state: ClientState) -> bool:
    """Return whether the background thread has left the group and has the response."""
    waiting = any(isinstance(event, LeaveWanted | Unsubscribed) for event in state.events)
    return not waiting and membership.has_left(state)


def _callbacks(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the last listener call: revoked, also if the member was removed and has not polled since.

    The Java client asks its ``groupMetadata`` for the epoch (``runRebalanceCallbacksOnClose``).
    """
    closing = state.app
    assert isinstance(closing, Closing)
    if not state.assignment or not consumer.listener or consumer.assigned is not None:
        return _leave_group(state, consumer, closing, now)
    epoch = state.member.epoch if consumer.profile.in_background else state.shown_generation
    listener = "revoked" if epoch > 0 else "lost"
    needed = CallbackNeeded(listener, tuple(sorted(state.assignment)), Purpose.LEAVE)
    calling = Calling(needed, (), closing)
    return Step(replace(state, app=calling), (Call(listener, needed.partitions),))


def on_last_call(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Continue after the last listener call, even if it threw."""
    calling = state.app
    assert isinstance(calling, Calling)
    assert isinstance(calling.outer, Closing)
    return _leave_group(replace(state, app=calling.outer), consumer, calling.outer, now)


def _leave_group(
    state: ClientState, consumer: Consumer, closing: Closing, now: int
) -> Step[ClientState]:
    epoch = membership.leave_epoch(consumer, closing.operation)
    state = _close_at(state, closing, CloseStage.LEAVE)
    return queue(state, consumer, LeaveWanted(epoch), now)


# -- unsubscribe -----------------------------------------------------------------------------------


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Drop the subscription: listener call, leaving heartbeat, no automatic commit."""
    deadline = now + consumer.settings.default_api_timeout_ms * MS
    step = queue(replace(state, app=Unsubscribing(deadline)), consumer, Unsubscribed(), now)
    return step.also(SetTimer(CLOSE, deadline))


def _unsubscribing(
    state: ClientState, consumer: Consumer, app: Unsubscribing, now: int
) -> Step[ClientState]:
    """Wait for the response to the leaving heartbeat; first throw a listener's exception."""
    if state.needed:
        return call_needed(state, consumer, now)
    failed, state = state.thrown, replace(state, thrown=None)
    if failed is not None and failed.error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return Step(replace(state, app=OUTSIDE), (Return(failed),))
    if now < app.deadline_us and not _has_left(state):
        return Step(state)
    left = replace(state, app=OUTSIDE, shown_generation=UNKNOWN_GENERATION)
    return Step(left, (Return(OUTSIDE),))


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


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    commits.COMMIT_SYNC: commits.on_commit_sync_timeout,
    CLOSE: advance_close,
}
"""Timers of the application thread in a waiting call; the machine handles those of poll itself."""
