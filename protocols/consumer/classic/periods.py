"""The state of a classic member that is not disturbed, relative to the time and to its positions.

Such a member repeats the same steps. A host that finds all parts of a run in the state of one period before
skips whole periods: times move, and with them positions and correlation ids (:func:`relative_state`,
:func:`moved_state`). It does not matter whether the member works on its group in poll or in the background.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from protocols.consumer.classic.calm import unread_state
from protocols.consumer.classic.heartbeat import last_tick
from protocols.consumer.classic.membership import timeout_us
from protocols.consumer.classic.next_join import polls_phase_us
from protocols.consumer.classic.phases import OUTSIDE, App, CommittingSync, Outside
from protocols.consumer.classic.state import Api, ClientState, Consumer, InFlight
from protocols.consumer.committing import has_succeeded
from protocols.consumer.reader import NOTHING_ASKED
from protocols.consumer.requests import OpenRequest, Renumbered, moved_offsets, renumbered
from protocols.facts import CommitKind
from protocols.messages import FetchResponse
from protocols.values import replace

NEXT_BEAT = "next heartbeat"
SESSION_END = "session end"
"""Deadlines of the heartbeat thread; its timer is at the earliest."""


class Recurring:
    """What a host uses of a client to skip whole periods; the client is at rest then."""

    consumer: Consumer
    state: ClientState
    _poll_until: int | None

    def move(
        self, later_us: int, records: Mapping[TopicPartition, int], numbers: Renumbered
    ) -> None:
        """Move a client at rest by whole periods with so many records, and later *numbers*."""
        if self._poll_until is not None:
            self._poll_until += later_us
        self.state = moved_state(self.state, self.consumer, later_us, records, numbers)
        self.consumer.clock.polled_us += later_us
        self.consumer.fetcher.move(later_us, records)
        if self.consumer.store is not None:
            self.consumer.store.move(records)


def relative_state(
    state: ClientState,
    consumer: Consumer,
    until_us: int | None,
    arrived: list[tuple[int, FetchResponse]],
    now: int,
) -> tuple[object, ...]:
    """Return all that decides what a calm client does next, without the absolute times.

    *until_us*: when the poll that waits returns; None: the application is outside poll. When the
    metadata are due, and :func:`heartbeat.deadlines_of`, are left out.
    """
    beat, reads, last_us = state.beat, state.reads, state.last_beat_us
    assert beat is not None, "a stable client has a heartbeat thread"
    automatic = consumer.settings.enable_auto_commit
    rest = replace(
        state,
        beat=None,
        last_beat_us=None,
        autocommit_us=0,
        app=OUTSIDE,
        inbox=(),
        in_flight={},
        request_timer_us=None,
        callbacks=(),
        reads=NOTHING_ASKED,
    )
    return (
        rest,
        _relative_requests(state, consumer, now),
        None if until_us is None else until_us - now,
        now - last_tick(beat, consumer, now),
        polls_phase_us(beat, now),
        None if last_us is None else last_us - beat.due_us,
        state.autocommit_us - now if automatic else None,
        consumer.clock.polled_us - now,
        reads.without_times(),
        unread_state(arrived, consumer.positions.readings, now),
        consumer.fetcher.relative(now),
        None if consumer.store is None else consumer.store.relative(consumer.positions),
    )


def _relative_requests(state: ClientState, consumer: Consumer, now: int) -> tuple[object, ...]:
    """Return the requests in flight, the commit that commitSync waits for, and unread responses.

    Callbacks of commits that succeeded only run: how many there are is all that matters.
    """
    app, following = state.app, state.reads.next_correlation_id
    back = {tp: -reading.position for tp, reading in consumer.positions.readings.items()}
    numbers = {number: number - following for number in state.in_flight}
    return (
        tuple(_moved_requests(state, -now, back, numbers).items()),
        _moved_app(app, -now, back, numbers),
        renumbered(state.inbox, numbers),
        [flight.kind for flight, _, _ in state.callbacks],
    )


def _moved_requests(
    state: ClientState,
    later_us: int,
    records: Mapping[TopicPartition, int],
    numbers: Mapping[int, int],
) -> dict[int, InFlight]:
    """Return the requests in flight, later by *later_us*, with these *numbers*."""
    return {
        numbers[number]: flight._replace(
            deadline_us=flight.deadline_us + later_us,
            commit=moved_offsets(flight.commit, records),
        )
        for number, flight in state.in_flight.items()
    }


def _moved_app(
    app: App, later_us: int, records: Mapping[TopicPartition, int], numbers: Mapping[int, int]
) -> App:
    """Return commitSync, whose request is in flight, later by *later_us*; else *app* as it is."""
    if not isinstance(app, CommittingSync) or app.correlation_id is None:
        return app
    return replace(
        app,
        offsets=moved_offsets(app.offsets, records),
        deadline_us=app.deadline_us + later_us,
        correlation_id=numbers[app.correlation_id],
    )


def moves_requests(state: ClientState) -> bool:
    """Return whether all requests in flight, and the call that waits, move with whole periods.

    Heartbeats and commits do, also with a response that no thread has read, and commitSync that waits
    for its first response. The time at which a member notices that it was removed does not: it is the
    same whatever happens until then.
    """
    if state.beat is not None and state.beat.notices_us is not None:
        return False
    if any(error for _, _, error in state.callbacks):
        return False
    if not all(has_succeeded(each, state.in_flight) for each in state.inbox):
        return False
    app = state.app
    if isinstance(app, CommittingSync):
        if app.attempt or not isinstance(app.outer, Outside) or app.correlation_id is None:
            return False
    elif not isinstance(app, Outside):
        return False
    return all(flight.api in (Api.HEARTBEAT, Api.COMMIT) for flight in state.in_flight.values())


def open_requests(state: ClientState, consumer: Consumer) -> dict[int, OpenRequest]:
    """Return the requests to the coordinator without a response yet, by correlation id."""
    return {
        number: OpenRequest(
            flight.deadline_us - timeout_us(consumer, flight.api),
            is_sync=bool(flight.commit) and flight.kind is CommitKind.SYNC,
        )
        for number, flight in state.in_flight.items()
    }


def moved_state(
    state: ClientState,
    consumer: Consumer,
    later_us: int,
    records: Mapping[TopicPartition, int],
    numbers: Renumbered,
) -> ClientState:
    """Return the state *later_us* later, with later *numbers*; metadata keep their age."""
    beat, timer_us, last_us = state.beat, state.request_timer_us, state.last_beat_us
    assert beat is not None, "a stable client has a heartbeat thread"
    reads = state.reads
    commit_us = state.autocommit_us
    if consumer.settings.enable_auto_commit:
        commit_us += later_us
    return replace(
        state,
        beat=replace(
            beat,
            phase_us=beat.phase_us + later_us,
            due_us=beat.due_us + later_us,
            session_us=beat.session_us + later_us,
        ),
        last_beat_us=None if last_us is None else last_us + later_us,
        autocommit_us=commit_us,
        app=_moved_app(state.app, later_us, records, numbers.open),
        inbox=renumbered(state.inbox, numbers.open),
        in_flight=_moved_requests(state, later_us, records, numbers.open),
        request_timer_us=None if timer_us is None else timer_us + later_us,
        reads=replace(reads, next_correlation_id=reads.next_correlation_id + numbers.more),
    )


def deadlines_of(state: ClientState) -> dict[str, int]:
    """Return when the heartbeat thread of a client has to send, and when its session ends."""
    beat = state.beat
    return {} if beat is None else {NEXT_BEAT: beat.due_us, SESSION_END: beat.session_us}


def with_deadlines(state: ClientState, deadlines: Mapping[str, int]) -> ClientState:
    """Return the state with some of :func:`deadlines_of` at other times.

    A clock of heartbeats that joins do not stop moves with the heartbeat that is due.
    """
    beat = state.beat
    assert beat is not None, "a stable client has a heartbeat thread"
    due_us = deadlines.get(NEXT_BEAT, beat.due_us)
    session_us = deadlines.get(SESSION_END, beat.session_us)
    last_us = state.last_beat_us
    if last_us is not None:
        state = replace(state, last_beat_us=last_us + due_us - beat.due_us)
    return replace(state, beat=replace(beat, due_us=due_us, session_us=session_us))
