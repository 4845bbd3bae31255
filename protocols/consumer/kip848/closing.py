"""close() and unsubscribe() (``AsyncKafkaConsumer.close``, spec kip848 3.8)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import take_number
from protocols.consumer.backoff import MS
from protocols.consumer.calls import Closed, CloseOperation
from protocols.consumer.kip848 import leaving, passes, sync_commit
from protocols.consumer.kip848.calls import (
    OUTSIDE,
    Calling,
    CloseStage,
    Closing,
    CommitWanted,
    LeaveWanted,
    Needed,
    Purpose,
    Unsubscribed,
    Unsubscribing,
)
from protocols.consumer.kip848.events import queue
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.consumer.offsets import all_consumed, automatic_order
from protocols.machine import Call, Return, SetTimer, Step
from protocols.messages.errors import ErrorCode

CLOSE = "close"
"""Timer: the budget of close() or unsubscribe() is used up."""


def begin(
    state: ClientState, consumer: Consumer, timeout_us: int, operation: CloseOperation, now: int
) -> Step[ClientState]:
    """Enter close(): the final automatic commit first, within the budget."""
    budget = min(timeout_us, consumer.settings.request_timeout_ms * MS)
    deadline = now + budget
    state = replace(state, app=Closing(CloseStage.COMMIT, deadline, operation), needed=())
    step = Step(state, (SetTimer(CLOSE, deadline),))
    offsets = automatic_order(all_consumed(consumer))
    if not consumer.settings.enable_auto_commit or not offsets:
        return step.then(lambda s: advance(s, consumer, now))
    key, after = take_number(step.state)
    event = CommitWanted(key, "close", offsets, deadline)
    return Step(after, step.effects).then(lambda s: queue(s, consumer, event, now))


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on as far as possible: nothing but a listener call takes longer than the budget."""
    app = state.app
    if isinstance(app, Unsubscribing):
        return _unsubscribing(state, consumer, app, now)
    if not isinstance(app, Closing):
        return Step(state)
    late = now >= app.deadline_us
    match app.stage:
        case CloseStage.COMMIT if late or not _committing(state, consumer):
            return _callbacks(_at(state, app, CloseStage.CALLBACKS), consumer, now)
        case CloseStage.LEAVE if late or _has_left(state):
            return advance(_at(state, app, CloseStage.COMMITS), consumer, now)
        case CloseStage.COMMITS if late or not sync_commit.asynchronous(state):
            return Step(replace(state, app=Closed()), (Return(Closed()),))
        case _:
            return Step(state)


def _at(state: ClientState, app: Closing, stage: CloseStage) -> ClientState:
    return replace(state, app=app._replace(stage=stage))


def _committing(state: ClientState, consumer: Consumer) -> bool:
    """Say whether the final commit, a commitSync, is under way, or a commit it ends after."""
    if not consumer.settings.enable_auto_commit:
        return False
    return any(kind in ("close", "async") for _, kind in sync_commit.under_way(state))


def _has_left(state: ClientState) -> bool:
    """Say whether the background has seen to it that the member leaves, and has its answer."""
    waiting = any(isinstance(event, LeaveWanted | Unsubscribed) for event in state.events)
    return not waiting and leaving.over(state)


def _callbacks(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the last listener call: revoked, or lost if the member is none any more."""
    closing = state.app
    assert isinstance(closing, Closing)
    if not state.assignment or not consumer.listener:
        return _leave(state, consumer, closing, now)
    listener = "revoked" if state.member.epoch > 0 else "lost"
    needed = Needed(listener, tuple(sorted(state.assignment)), Purpose.LEAVE)
    calling = Calling(needed, (), closing)
    return Step(replace(state, app=calling), (Call(listener, needed.partitions),))


def called(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on after that call, whatever it threw."""
    calling = state.app
    assert isinstance(calling, Calling)
    assert isinstance(calling.outer, Closing)
    return _leave(replace(state, app=calling.outer), consumer, calling.outer, now)


def _leave(state: ClientState, consumer: Consumer, closing: Closing, now: int) -> Step[ClientState]:
    epoch = leaving.leave_epoch(consumer, closing.operation)
    state = _at(state, closing, CloseStage.LEAVE)
    return queue(state, consumer, LeaveWanted(epoch), now)


# -- unsubscribe -------------------------------------------------------------------------------------


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Drop the subscription: listener call, last heartbeat, no automatic commit."""
    deadline = now + consumer.settings.default_api_timeout_ms * MS
    step = queue(replace(state, app=Unsubscribing(deadline)), consumer, Unsubscribed(), now)
    return step.also(SetTimer(CLOSE, deadline))


def _unsubscribing(
    state: ClientState, consumer: Consumer, app: Unsubscribing, now: int
) -> Step[ClientState]:
    """Wait for the last heartbeat's answer; what a listener threw is thrown before that."""
    if state.needed:
        return passes.call_needed(state, consumer, now)
    failed, state = state.thrown, replace(state, thrown=None)
    if failed is not None and failed.error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return Step(replace(state, app=OUTSIDE), (Return(failed),))
    if now < app.deadline_us and not _has_left(state):
        return Step(state)
    return Step(replace(state, app=OUTSIDE), (Return(OUTSIDE),))
