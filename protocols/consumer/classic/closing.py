"""close() and unsubscribe() (``ConsumerCoordinator.close``, spec 4.7)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import look_up
from protocols.consumer.backoff import MS
from protocols.consumer.calls import Closed, CloseOperation
from protocols.consumer.classic import sync_commit
from protocols.consumer.classic.calls import Calling, CloseStage, Closing, Outside, Resume
from protocols.consumer.classic.commits import end_pending
from protocols.consumer.classic.heartbeat import send_leave
from protocols.consumer.classic.membership import LEFT_BY_ITSELF, reset
from protocols.consumer.classic.rebalancing import PrepareNeeded
from protocols.consumer.classic.values import Asked, ClientState, Consumer, Membership
from protocols.consumer.lookup import Known
from protocols.consumer.offsets import all_consumed, automatic_order
from protocols.machine import Call, Return, SetTimer, Step

CLOSE = "close"
"""Timer: the close budget is used up."""


def begin(
    state: ClientState, consumer: Consumer, timeout_us: int, operation: CloseOperation, now: int
) -> Step[ClientState]:
    """Enter close(): the final automatic commit first, within the budget."""
    budget = min(timeout_us, consumer.settings.request_timeout_ms * MS)
    app = Closing(CloseStage.COMMIT, now + budget, operation)
    state = replace(state, app=app)
    step = Step(state, (SetTimer(CLOSE, app.deadline_us),))
    if not consumer.settings.enable_auto_commit:
        return step.then(lambda s: advance(s, consumer, now))
    offsets = automatic_order(all_consumed(consumer))
    step = step.then(
        lambda s: sync_commit.begin(s, consumer, offsets, "close", app.deadline_us, now)
    )
    return step.then(lambda s: advance(s, consumer, now))


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on as far as possible: nothing in close() waits beyond the budget."""
    match state.app:
        case Closing(CloseStage.COMMIT) as app:
            looking = replace(state, app=replace(app, stage=CloseStage.LOOKUP))
            return advance(looking, consumer, now)
        case Closing(CloseStage.LOOKUP, deadline):
            if state.pending_commits and now < deadline:
                return look_up(state, consumer, now)
            ended = end_pending(state, now)
            return ended.then(lambda s: _callbacks(s, consumer, now))
        case Closing(CloseStage.LEAVE, deadline):
            if _awaited(state, consumer) and now < deadline:
                return Step(state)
            return Step(replace(state, app=Closed(), beat=None), (Return(Closed()),))
        case _:
            return Step(state)


def _awaited(state: ClientState, consumer: Consumer) -> bool:
    """Say whether the coordinator, if it is known, still owes an answer (``awaitPendingRequests``).

    A static member's JoinGroup or SyncGroup may be parked there until the rebalance goes on. A
    dynamic one's LeaveGroup ends it, and a SyncGroup of who has left is never answered.
    """
    known = state.coordinator
    if not isinstance(known, Known):
        return False
    flights = [flight for flight in state.in_flight.values() if flight.broker == known.broker]
    if consumer.settings.group_instance_id is None:
        return any(flight.asked in (Asked.LEAVE, Asked.COMMIT) for flight in flights)
    return bool(flights)


def _listener_call(state: ClientState) -> Call | None:
    """Revoked, or lost when the generation is gone or a rebalance is under way; None: neither."""
    if not state.assignment:
        return None
    rebalancing = state.membership in (
        Membership.PREPARING_REBALANCE,
        Membership.COMPLETING_REBALANCE,
    )
    listener = "lost" if state.generation.lost or rebalancing else "revoked"
    return Call(listener, tuple(sorted(state.assignment)))


def _callbacks(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Stop the heartbeat thread and make the last listener call."""
    app = state.app
    assert isinstance(app, Closing)
    state = replace(state, beat=None)
    call = _listener_call(state)
    if call is None:
        return after_callbacks(state, consumer, app, now)
    calling = Calling(Resume.CLOSE, None, closing=app)
    return Step(replace(state, app=calling), (call,))


def after_callbacks(
    state: ClientState, consumer: Consumer, app: Closing, now: int
) -> Step[ClientState]:
    """Leave the group and wait for what is in flight, as long as the budget lasts.

    The state is reset in any case, so that no answer brings the member back; nobody is told
    that it dropped out, as it did not.
    """
    state = replace(state, app=replace(app, stage=CloseStage.LEAVE), assignment=())
    reason = "the consumer is being closed"
    step = send_leave(state, consumer, reason, now, operation=app.operation)
    gone = reset(step.state, LEFT_BY_ITSELF, keep_member_id=False).state
    return Step(gone, step.effects).then(lambda s: advance(s, consumer, now))


# -- unsubscribe ----------------------------------------------------------------------------------


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Drop the subscription: listener call, LeaveGroup, no automatic commit."""
    call = _listener_call(state)
    if call is None:
        return after_unsubscribe(state, consumer, now)
    return Step(replace(state, app=Calling(Resume.UNSUBSCRIBE, None)), (call,))


def after_unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Leave the group; nothing is subscribed any more."""
    reason = "the consumer unsubscribed from all topics"
    step = send_leave(replace(state, app=Outside()), consumer, reason, now)
    step = step.then(lambda s: reset(s, reason, keep_member_id=False))
    after = replace(
        step.state, assignment=(), future=None, rejoin=None, prepare=PrepareNeeded(), subscribed=()
    )
    return Step(after, (*step.effects, Return(Outside())))
