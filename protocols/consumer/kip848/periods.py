"""The state of a member that is not disturbed, relative to the time and to its positions.

Such a member repeats the same steps. A host that finds all parts of a run in the state of
one period before skips whole periods: times move, and with them positions and numbers. The lags of
the two threads have to repeat with the period.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from assignors.types import TopicPartition
from protocols.consumer.kip848.calm import is_settled
from protocols.consumer.kip848.commits import unanswered, unfinished
from protocols.consumer.kip848.state import (
    NO_BEAT,
    Beat,
    ClientState,
    Consumer,
    InFlight,
    Progress,
    Slot,
)
from protocols.consumer.kip848.threads import (
    OUTSIDE,
    App,
    Commit,
    CommittingSync,
    Event,
    Outside,
    Polled,
    Polling,
)
from protocols.consumer.reader import MS, NOTHING_ASKED
from protocols.consumer.requests import OpenRequest, Renumbered, moved_offsets
from protocols.values import replace

Records = Mapping[TopicPartition, int]
Numbers = Mapping[int, int]


class Recurring:
    """What a host uses of a client to skip whole periods; the client is at rest then."""

    consumer: Consumer
    state: ClientState

    def move(self, later_us: int, records: Records, numbers: Renumbered) -> None:
        """Move a client at rest by whole periods with so many records, and later *numbers*."""
        self.state = moved_state(self.state, self.consumer, later_us, records, numbers)
        self.consumer.fetcher.move(later_us, records)
        if self.consumer.store is not None:
            self.consumer.store.move(records)


def is_at_rest(state: ClientState, consumer: Consumer) -> bool:
    """Return whether only records, a heartbeat or a commit can happen next."""
    beat, app = state.beat, state.app
    if type(app) is CommittingSync:
        if not _waits_for_one(state, app):
            return False
        events = tuple([event for event in state.events if type(event) is not Commit])
        state = replace(state, app=app.outer, in_flight={}, events=events)
    return (
        type(state.app) in (Outside, Polling)
        and is_settled(state, consumer)
        and beat.number is None
        and beat.armed_us is not None
        and not beat.retry_us
    )


def _waits_for_one(state: ClientState, app: CommittingSync) -> bool:
    """Return whether commitSync waits for the first response to its commit, and for nothing else."""
    keys = [key for key, _ in unfinished(state)]
    retries = any(commit.attempt for commit in unanswered(state))
    return keys == [app.key] and app.result is None and not retries


def open_requests(state: ClientState, consumer: Consumer) -> dict[int, OpenRequest]:
    """Return the commit of a client at rest that is in flight, by its correlation id."""
    timeout_us = consumer.settings.request_timeout_ms * MS
    return {
        number: OpenRequest(flight.deadline_us - timeout_us, is_sync=True)
        for number, flight in state.in_flight.items()
    }


def keys(state: ClientState, consumer: Consumer) -> dict[int, int]:
    """Return the key of the commit that commitSync waits for, and when (us) it was taken."""
    app = state.app
    if type(app) is not CommittingSync:
        return {}
    return {app.key: app.deadline_us - consumer.profile.commit_timeout_ms(consumer.settings) * MS}


def relative_state(state: ClientState, consumer: Consumer, now: int) -> tuple[object, ...]:
    """Return all that decides what a client at rest does next, without the absolute times.

    When the metadata are due is left out.
    """
    app, fetcher, following = state.app, consumer.fetcher, state.reads.next_correlation_id
    back = {tp: -reading.position for tp, reading in consumer.positions.readings.items()}
    numbers = {number: number - following for number in (*state.in_flight, *keys(state, consumer))}
    rest = replace(
        state,
        app=OUTSIDE,
        in_flight={},
        request_timer_us=None,
        beat=NO_BEAT,
        poll_due_us=0,
        autocommit_us=0,
        slot=None,
        events=(),
        events_us=None,
        reads=NOTHING_ASKED,
    )
    return (
        rest,
        _moved_app(app, -now, back, numbers),
        tuple(_moved_requests(state, -now, back, numbers).items()),
        _moved_beat(state.beat, -now),
        state.poll_due_us - now,
        state.autocommit_us - now if consumer.settings.enable_auto_commit else None,
        _moved_slot(state.slot, -now),
        _moved_events(state.events, -now, back, numbers),
        None if state.events_us is None else state.events_us - now,
        state.reads.without_times(),
        fetcher.relative(now),
        fetcher.queued,
    )


def moved_state(
    state: ClientState, consumer: Consumer, later_us: int, records: Records, numbers: Renumbered
) -> ClientState:
    """Return the state *later_us* later, with later *numbers*; metadata keep their age."""
    reads, commit_us, timer_us = state.reads, state.autocommit_us, state.request_timer_us
    if consumer.settings.enable_auto_commit:
        commit_us += later_us
    return replace(
        state,
        app=_moved_app(state.app, later_us, records, numbers.open),
        in_flight=_moved_requests(state, later_us, records, numbers.open),
        request_timer_us=None if timer_us is None else timer_us + later_us,
        beat=_moved_beat(state.beat, later_us),
        poll_due_us=state.poll_due_us + later_us,
        autocommit_us=commit_us,
        slot=_moved_slot(state.slot, later_us),
        events=_moved_events(state.events, later_us, records, numbers.open),
        events_us=None if state.events_us is None else state.events_us + later_us,
        reads=replace(reads, next_correlation_id=reads.next_correlation_id + numbers.more),
    )


def _moved_beat(beat: Beat, later_us: int) -> Beat:
    assert beat.armed_us is not None, "the heartbeat of a client at rest has a timer"
    return beat._replace(due_us=beat.due_us + later_us, armed_us=beat.armed_us + later_us)


def _moved_slot(slot: Slot | None, later_us: int) -> Slot | None:
    """Return a later slot; that of a client in the background is taken at any time."""
    if slot is None or slot.progress is Progress.TAKEN:
        return slot
    return slot._replace(at_us=slot.at_us + later_us, deadline_us=slot.deadline_us + later_us)


def _moved_events(
    events: tuple[Event, ...], later_us: int, records: Records, numbers: Numbers
) -> tuple[Event, ...]:
    return tuple([_moved_event(event, later_us, records, numbers) for event in events])


def _moved_event(event: Event, later_us: int, records: Records, numbers: Numbers) -> Event:
    if isinstance(event, Polled):
        return Polled(event.at_us + later_us)
    if isinstance(event, Commit):
        return _moved_commit(event, later_us, records, numbers)
    return event


AnyCommit = TypeVar("AnyCommit", Commit, CommittingSync)


def _moved_commit(
    commit: AnyCommit, later_us: int, records: Records, numbers: Numbers
) -> AnyCommit:
    """Return a later commit of the application."""
    deadline_us = commit.deadline_us
    return commit._replace(
        key=numbers[commit.key],
        offsets=moved_offsets(commit.offsets, records),
        deadline_us=None if deadline_us is None else deadline_us + later_us,
    )


def _moved_app(app: App, later_us: int, records: Records, numbers: Numbers) -> App:
    if isinstance(app, Polling):
        return Polling(app.until_us + later_us)
    if isinstance(app, CommittingSync):
        return _moved_commit(app, later_us, records, numbers)
    return app


def _moved_requests(
    state: ClientState, later_us: int, records: Records, numbers: Numbers
) -> dict[int, InFlight]:
    """Return the commits in flight, later by *later_us*, with these *numbers*."""
    return {
        numbers[number]: flight._replace(
            deadline_us=flight.deadline_us + later_us,
            commit=flight.commit and _moved_commit(flight.commit, later_us, records, numbers),
        )
        for number, flight in state.in_flight.items()
    }
