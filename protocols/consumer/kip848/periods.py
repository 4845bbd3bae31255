"""The state of a member that is not disturbed, relative to the time and to its positions.

Such a member repeats the same steps. A host that finds all parts of a run in the state of
one period before skips whole periods: times move, and with them positions and numbers. The lags of
the two threads have to repeat with the period.
"""

from __future__ import annotations

from protocols.consumer.kip848.calm import is_settled
from protocols.consumer.kip848.state import NO_BEAT, Beat, ClientState, Consumer, Slot
from protocols.consumer.kip848.threads import OUTSIDE, Event, Outside, Polled, Polling
from protocols.consumer.reader import NOTHING_ASKED
from protocols.values import replace


def is_at_rest(state: ClientState, consumer: Consumer) -> bool:
    """Return whether only records, a heartbeat or a commit can happen next."""
    beat = state.beat
    return (
        type(state.app) in (Outside, Polling)
        and is_settled(state, consumer)
        and beat.number is None
        and beat.armed_us is not None
        and not beat.retry_us
    )


def relative_state(state: ClientState, consumer: Consumer, now: int) -> tuple[object, ...]:
    """Return all that decides what a client at rest does next, without the absolute times.

    When the metadata are due is left out.
    """
    app, fetcher = state.app, consumer.fetcher
    rest = replace(
        state,
        app=OUTSIDE,
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
        app.until_us - now if isinstance(app, Polling) else None,
        _moved_beat(state.beat, -now),
        state.poll_due_us - now,
        state.autocommit_us - now if consumer.settings.enable_auto_commit else None,
        _moved_slot(state.slot, -now),
        _moved_events(state.events, -now),
        None if state.events_us is None else state.events_us - now,
        state.reads.without_times(),
        fetcher.relative(),
        fetcher.queued,
    )


def moved_state(
    state: ClientState, consumer: Consumer, later_us: int, requests: int
) -> ClientState:
    """Return the state *later_us* later, after *requests* more; metadata keep their age."""
    app, reads, commit_us = state.app, state.reads, state.autocommit_us
    if consumer.settings.enable_auto_commit:
        commit_us += later_us
    return replace(
        state,
        app=Polling(app.until_us + later_us) if isinstance(app, Polling) else app,
        beat=_moved_beat(state.beat, later_us),
        poll_due_us=state.poll_due_us + later_us,
        autocommit_us=commit_us,
        slot=_moved_slot(state.slot, later_us),
        events=_moved_events(state.events, later_us),
        events_us=None if state.events_us is None else state.events_us + later_us,
        reads=replace(reads, next_correlation_id=reads.next_correlation_id + requests),
    )


def _moved_beat(beat: Beat, later_us: int) -> Beat:
    assert beat.armed_us is not None, "the heartbeat of a client at rest has a timer"
    return beat._replace(due_us=beat.due_us + later_us, armed_us=beat.armed_us + later_us)


def _moved_slot(slot: Slot | None, later_us: int) -> Slot | None:
    if slot is None:
        return None
    return slot._replace(at_us=slot.at_us + later_us, deadline_us=slot.deadline_us + later_us)


def _moved_events(events: tuple[Event, ...], later_us: int) -> tuple[Event, ...]:
    return tuple(
        Polled(event.at_us + later_us) if isinstance(event, Polled) else event for event in events
    )
