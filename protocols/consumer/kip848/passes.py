"""The passes of ``poll`` up to the records: the event, and what the background wants called.

Source: ``AsyncKafkaConsumer.poll``, ``checkInflightPoll`` (spec kip848 3.10, steps 1 to 4).
"""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.calls import Failed
from protocols.consumer.kip848 import applying
from protocols.consumer.kip848.calls import (
    Called,
    Calling,
    Closing,
    Needed,
    Polled,
    Polling,
    Purpose,
    Unsubscribing,
)
from protocols.consumer.kip848.events import queue
from protocols.consumer.kip848.values import ClientState, Consumer, Progress, Slot
from protocols.machine import Call, Return, Step


def enter(state: ClientState, consumer: Consumer, timeout_us: int, now: int) -> Step[ClientState]:
    """Enter poll: an event of the last one that is over and did its part makes room."""
    if state.subscribed is None:
        failed = Failed("IllegalStateException", message="nothing is subscribed")
        return Step(state, (Return(failed),))
    slot = state.slot
    if slot is not None and slot.progress is Progress.TAKEN and now >= slot.deadline_us:
        state = replace(state, slot=None)
    until = now + timeout_us
    return begin(replace(state, app=Polling(until)), consumer, now)


def begin(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Begin a pass: issue an event if none is there, then call what is to be called.

    An event that is complete stays while whole fetches are buffered: then none is issued.
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
    if slot is not None or state.died is not None:
        return call_needed(replace(state, slot=slot), consumer, now)
    state = replace(state, slot=Slot(now, polling.until_us))
    step = queue(state, consumer, Polled(now), now)
    return step.then(lambda s: call_needed(s, consumer, now))


def call_needed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the listener calls that were wanted by now, one after the other."""
    needed = state.needed
    if not needed:
        return throw(state)
    outer = state.app
    assert isinstance(outer, Polling | Unsubscribing), "listener calls do not nest"
    return _call(replace(state, needed=()), consumer, needed, outer, now)


def _call(
    state: ClientState,
    consumer: Consumer,
    needed: tuple[Needed, ...],
    outer: Polling | Unsubscribing,
    now: int,
) -> Step[ClientState]:
    first, rest = needed[0], needed[1:]
    calling = Calling(first, rest, outer)
    if first.purpose is Purpose.ASSIGN:
        if isinstance(outer, Unsubscribing):
            return _ended(state, consumer, calling, now, threw=True)
        applied = applying.apply(state, consumer)
        if applied is None or not consumer.listener:
            return called(replace(applied or state, app=calling), consumer, now, threw=None)
        state = applied
    return Step(replace(state, app=calling), (Call(first.listener, first.partitions),))


def called(
    state: ClientState, consumer: Consumer, now: int, *, threw: Failed | None
) -> Step[ClientState]:
    """Tell the background that a listener call has ended, and make the next one."""
    calling = state.app
    assert isinstance(calling, Calling), "no listener call is running"
    thrown = replace(state, thrown=state.thrown or threw)
    return _ended(thrown, consumer, calling, now, threw=threw is not None)


def _ended(
    state: ClientState, consumer: Consumer, calling: Calling, now: int, *, threw: bool
) -> Step[ClientState]:
    """Go on after a call, or after one that unsubscribe() does not make: it assigns nothing."""
    outer = calling.outer
    step = queue(replace(state, app=outer), consumer, Called(calling.needed, threw), now)
    if calling.rest and not isinstance(outer, Closing):
        return step.then(lambda s: _call(s, consumer, calling.rest, outer, now))
    return step.then(throw)


def throw(state: ClientState) -> Step[ClientState]:
    """Throw from poll what there is to throw, after all listener calls; its event is given up."""
    if not isinstance(state.app, Polling):
        return Step(state)
    failed = state.thrown or state.died
    if failed is None:
        return Step(state)
    return Step(replace(state, thrown=None, slot=None), (Return(failed),))


def end_pass(state: ClientState) -> ClientState:
    """Make room for the next event if this one is complete (step 4)."""
    slot = state.slot
    if slot is None or slot.progress is not Progress.COMPLETE or slot.failed is not None:
        return state
    return replace(state, slot=None)
