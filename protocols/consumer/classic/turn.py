"""One turn of the poll loop up to the records: the coordinator, then the positions.

Source: ``ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded``, ``ConsumerCoordinator.poll``.
"""

from __future__ import annotations

from protocols.consumer import metadata
from protocols.consumer.calls import Failed
from protocols.consumer.classic import commits, heartbeat, membership, positions, rejoin
from protocols.consumer.classic.responses import pump
from protocols.consumer.classic.state import (
    Calling,
    ClientState,
    Consumer,
    Joining,
    Membership,
)
from protocols.consumer.requests import Known, Unknown, look_up
from protocols.machine import Return, Step
from protocols.values import replace

NEVER = 1 << 62
"""A time (us) after every deadline."""


def calm(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a turn of a stable member would only check its deadlines."""
    return (
        state.membership is Membership.STABLE
        and state.rejoin is None
        and state.future is None
        and _has_no_news(state)
        and not state.reads.out_of_range
        and consumer.positions.all_reading()
        and not consumer.positions.behind
        and not consumer.positions.leaderless
    )


def _has_no_news(state: ClientState) -> bool:
    """Return whether no response, callback or error waits for the next turn."""
    return (
        isinstance(state.coordinator, Known)
        and state.metadata.seen == state.metadata.version
        and not state.callbacks
        and not state.inbox
        and state.poisoned is None
        and state.died is None
    )


def awaits_round(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a turn of a joining member would only check its deadlines.

    Its JoinGroup or SyncGroup is in flight. A pattern subscriber asks for metadata in each turn.
    """
    return (
        isinstance(state.future, Joining)
        and consumer.topics is not None
        and not without_subscription(state)
        and _has_no_news(state)
    )


def round_due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when a joining member next has a duty in poll: a heartbeat or a metadata request."""
    known, beat = state.metadata, state.beat
    due = NEVER if known.in_flight is not None else metadata.due_us(known, consumer)
    return due if beat is None else min(due, beat.due_us)


def due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when a calm client next has a duty in poll: a heartbeat or a commit."""
    assert state.beat is not None, "a stable client has a heartbeat thread"
    if not consumer.settings.enable_auto_commit:
        return state.beat.due_us
    return min(state.beat.due_us, state.autocommit_us)


def wait_until_us(state: ClientState, consumer: Consumer, until: int) -> int:
    """Return when (us) the poll loop of a client that is not calm runs next, at most *until*."""
    if state.beat is not None:
        until = min(until, state.beat.due_us)
    commits_due = consumer.settings.enable_auto_commit and not rejoin.needed(state)
    if commits_due and isinstance(state.coordinator, Known):
        until = min(until, state.autocommit_us)
    return until


def take_turn(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Run one turn; afterwards the application thread may be in a listener call."""
    if without_subscription(state):
        failed = Failed("IllegalStateException", message="nothing is subscribed")
        return Step(state, (Return(failed),))
    if state.poisoned is not None:
        return Step(state, (Return(state.poisoned),))
    if state.died is not None:
        return Step(replace(state, died=None), (Return(state.died),))
    step = membership.refresh_metadata(membership.note_new_metadata(state, consumer), consumer, now)
    step = step.then(lambda s: commits.run_callbacks(s, consumer, now))
    step = step.then(lambda s: _wake_heartbeat(s, consumer, now))
    if isinstance(step.state.coordinator, Unknown):
        step = step.then(lambda s: pump(s, consumer, now))
    if isinstance(step.state.coordinator, Unknown):
        return step.then(lambda s: look_up(s, consumer, now))
    if rejoin.needed(step.state):
        step = step.then(lambda s: _join(s, consumer, now, poll_until_us))
        if rejoin.needed(step.state) or interrupted(step):
            return step
    step = step.then(lambda s: commits.autocommit_due(s, consumer, now))
    step = step.then(lambda s: positions.update_positions(s, consumer, now))
    if consumer.positions.leaderless:
        return step.then(lambda s: membership.request_metadata(s, consumer, now))
    return step


def interrupted(step: Step[ClientState]) -> bool:
    """Return whether the turn ended in a listener call or threw."""
    if isinstance(step.state.app, Calling):
        return True
    return any(isinstance(effect, Return) for effect in step.effects)


def _wake_heartbeat(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Wake the heartbeat thread if a heartbeat is due; the thread may still be late."""
    if state.beat is None or now < state.beat.due_us:
        return Step(state)
    due = state.beat.due_us
    late_us = max(0, due + consumer.late(due) - now)
    return heartbeat.turn(state, consumer, now, late_us)


def _join(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Advance the join; each network step handles the responses once and never waits.

    A pattern subscriber first requests fresh metadata, as often as the back-off allows, and waits
    for it, so that most members see a new topic in one rebalance (``ConsumerCoordinator.poll``).
    """
    step = Step(state)
    if consumer.topics is None:
        if now >= state.metadata.retry_us:
            step = membership.request_metadata(state, consumer, now)
        if step.state.metadata.in_flight is not None:
            return step
    step = step.then(lambda s: pump(membership.note_new_metadata(s, consumer), consumer, now))
    while True:
        before = step.state
        step = step.then(lambda s: rejoin.advance(s, consumer, now, poll_until_us))
        if interrupted(step) or not rejoin.needed(step.state) or rejoin.pauses(before):
            return step
        step = step.then(lambda s: pump(s, consumer, now))
        if step.state is before:
            return step


def may_collect(state: ClientState, consumer: Consumer) -> bool:
    """Return whether poll may collect records after this turn.

    The coordinator lookup and the fetch of committed offsets block poll up to its timeout.
    """
    if isinstance(state.coordinator, Unknown):
        return False
    return rejoin.needed(state) or not positions.waiting_for_committed(consumer)


def without_subscription(state: ClientState) -> bool:
    """Return whether nothing is subscribed (after unsubscribe)."""
    return state.rejoin is None and state.membership is Membership.UNJOINED


def initial_state(consumer: Consumer) -> ClientState:
    """Return the state of a consumer that has subscribed and never polled."""
    state = membership.watch_topics(ClientState(), consumer, frozenset())
    return replace(state, subscribed=metadata.subscribed_topics(consumer, state.metadata))
