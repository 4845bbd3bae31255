"""Whether a turn of the poll loop would only check its deadlines, and when its next duty is due."""

from __future__ import annotations

from protocols.consumer import metadata
from protocols.consumer.classic import positions, rejoin
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.heartbeat import HEARTBEAT, beat_due_us
from protocols.consumer.classic.phases import Calling, Joining, Outside, PrepareNeeded
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.consumer.clients import Busy
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.positions import Positions
from protocols.consumer.reader import MS, NEVER
from protocols.machine import SetTimer
from protocols.messages import HeartbeatResponse


def settled(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a turn of a stable member would only check deadlines, if it has no responses."""
    return (
        state.membership is Membership.STABLE
        and state.beat is not None
        and state.rejoin is None
        and state.future is None
        and _has_no_news(state)
        and not state.reads.out_of_range
        and not consumer.fetcher.has_errors
        and reads_all(consumer.positions)
    )


def reads_all(positions: Positions) -> bool:
    """Return whether every partition is read from a leader, the newest one that is known."""
    return not (positions.behind or positions.leaderless) and positions.all_reading()


def has_responses(state: ClientState) -> bool:
    """Return whether the next turn has a response to read, or a callback to run."""
    return bool(state.inbox or state.callbacks)


def is_due(state: ClientState, consumer: Consumer, now: int) -> bool:
    """Return whether a poll has a duty before it returns; it reads no response before records."""
    reads = bool(state.inbox) and not consumer.fetcher.returns_records
    return reads or bool(state.callbacks) or now >= due_us(state, consumer)


def _has_no_news(state: ClientState) -> bool:
    """Return whether no metadata and no error wait for the next turn."""
    return (
        isinstance(state.coordinator, Known)
        and state.metadata.seen == state.metadata.version
        and state.commit_fenced is None
        and state.heartbeat_failure is None
    )


def awaits_round(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a turn of a joining member would only check its deadlines.

    Its JoinGroup or SyncGroup is in flight. A pattern subscriber asks for metadata in each turn.
    """
    return (
        isinstance(state.future, Joining)
        and consumer.topics is not None
        and not without_subscription(state)
        and not has_responses(state)
        and _has_no_news(state)
    )


def begin_turn(state: ClientState, consumer: Consumer, now: int) -> None:
    """Note when this turn of the poll loop begins, and the one before a join."""
    clock = consumer.clock
    if isinstance(state.prepare, PrepareNeeded):
        clock.joined_from_us = clock.polled_us
    clock.polled_us = now


def due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when a calm client next has a duty in poll: a heartbeat or a commit."""
    beat_us = beat_due_us(state, consumer)
    if not consumer.settings.enable_auto_commit:
        return beat_us
    if not consumer.settings.auto_commit_interval_ms:
        return 0  # each poll() commits
    return min(beat_us, state.autocommit_us)


def background_due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when a client that works in the background next does something by itself; 0: at once.

    Beside the timers of its requests and heartbeats: it commits, or requests metadata. The client is
    in no callback and in no commit that waits.
    """
    if not settled(state, consumer) or has_responses(state) or state.pending_commits:
        return 0
    if state.reads.validation_failure is not None:
        return 0
    known = state.metadata
    due_us = NEVER if known.in_flight is not None else metadata.due_us(known, consumer)
    return min(due_us, state.autocommit_us) if consumer.settings.enable_auto_commit else due_us


def round_due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when a joining member next has a duty in poll: a heartbeat or a metadata request."""
    known = state.metadata
    due = NEVER if known.in_flight is not None else metadata.due_us(known, consumer)
    return due if state.beat is None else min(due, beat_due_us(state, consumer))


def reads_on(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a member that awaits a round only reads its partitions (cooperative)."""
    positions = consumer.positions
    if not state.assignment or state.beat is not None or state.reads.out_of_range:
        return False
    return positions.all_reading() and not (positions.behind or positions.leaderless)


def beats_later(
    state: ClientState, consumer: Consumer, timer: str, poll_until_us: int | None
) -> bool:
    """Return whether *timer* wakes a heartbeat thread that the application keeps from running.

    *poll_until_us*: when the poll that waits returns; None: the application is outside.
    """
    waits = consumer.profile.heartbeats_wait_for
    if not waits or state.beat is None or timer != HEARTBEAT:
        return False
    if poll_until_us is not None:
        return Busy.FETCH in waits
    if isinstance(state.app, Calling):
        return Busy.LISTENER in waits
    return Busy.WORK in waits and isinstance(state.app, Outside)


def waits_on(
    state: ClientState, consumer: Consumer, body: object, until: int | None, now: int
) -> tuple[SetTimer, ...]:
    """Return the timer with which a wait for records goes on after a response; empty: that ends it.

    *until*: when (us) poll returns; None: the application is not in poll. The poll of some clients
    waits for fetches alone (``ClientProfile.wakes_for_group``): it hears of a rebalance later. Without
    a fetch in flight it looks again after each ``retry.backoff.ms``.
    """
    if type(body) is not HeartbeatResponse or not body.error:
        return ()
    if until is None or not settled(state, consumer):
        return ()
    assert state.beat is not None, "a settled client has a heartbeat thread"
    due = min(until, due_us(state, consumer), state.beat.due_us)
    if not consumer.fetcher.in_flight:
        turn_us = max(1, consumer.settings.retry_backoff_ms) * MS
        due = min(due, now + turn_us - (now - consumer.clock.polled_us) % turn_us)
    return (SetTimer(POLL, max(now, due)),)


def returns_first(state: ClientState, consumer: Consumer, *, is_calm: bool) -> bool:
    """Return whether poll takes the records or errors of a fetch response before it looks at its group.

    It does if it waits for fetches, and ``max.poll.interval.ms`` does not begin again; a wait of its
    group turn goes on (``ClassicKafkaConsumer.pollForFetches``).
    """
    return consumer.fetcher.has_available and (is_calm or may_collect(state, consumer))


def idle_until_us(state: ClientState, consumer: Consumer, *, is_calm: bool) -> int:
    """Return until when (us) polls of a member that is calm or awaits a round do nothing; 0: they may."""
    if is_calm:
        return due_us(state, consumer) if _awaits_fetches(consumer) else 0
    if state.assignment or state.reads.out_of_range or not isinstance(state.app, Outside):
        return 0
    return wait_until_us(state, consumer, round_due_us(state, consumer))


def _awaits_fetches(consumer: Consumer) -> bool:
    """Return whether poll has waited, has no records, and every broker still has to respond."""
    fetcher = consumer.fetcher
    if fetcher.paused or not (consumer.clock.is_waiting and fetcher.idle and fetcher.connected):
        return False
    return fetcher.in_flight.issuperset(fetcher.positions.by_leader)


def wait_until_us(
    state: ClientState, consumer: Consumer, until: int, *, is_calm: bool = False
) -> int:
    """Return when (us) the poll loop runs next, at most *until*."""
    waits = consumer.profile.heartbeats_wait_for
    if waits and Busy.FETCH in waits:
        return until
    if is_calm and consumer.settings.auto_commit_interval_ms:
        return min(until, due_us(state, consumer))
    if state.beat is not None:
        until = min(until, beat_due_us(state, consumer))
    commits_due = consumer.settings.enable_auto_commit and not rejoin.needed(state)
    user_assigned = state.membership is Membership.USER_ASSIGNED
    if commits_due and (user_assigned or isinstance(state.coordinator, Known)):
        until = min(until, state.autocommit_us)
    return until


def may_collect(state: ClientState, consumer: Consumer) -> bool:
    """Return whether poll may collect records after this turn.

    The coordinator lookup and the fetch of committed offsets block poll up to its timeout.
    """
    user_assigned = state.membership is Membership.USER_ASSIGNED
    if isinstance(state.coordinator, Unknown) and not user_assigned:
        return False
    return rejoin.needed(state) or not positions.waiting_for_committed(consumer)


def needs_coordinator(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a turn has to look the coordinator up.

    A member always needs it; a consumer with partitions of its own only for committed offsets
    (``ConsumerCoordinator.poll``), and its commits look it up themselves.
    """
    if not isinstance(state.coordinator, Unknown):
        return False
    user_assigned = state.membership is Membership.USER_ASSIGNED
    return not user_assigned or positions.waiting_for_committed(consumer)


def holds_records(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a client returns no records because it joins, by its profile."""
    if consumer.profile.records_while_joining:
        return False
    return state.future is not None or not isinstance(state.prepare, PrepareNeeded)


def without_subscription(state: ClientState) -> bool:
    """Return whether nothing is subscribed (after unsubscribe)."""
    return state.rejoin is None and state.membership is Membership.UNJOINED


def check(state: ClientState, consumer: Consumer, *, is_in_poll: bool) -> None:
    """Assert the invariants of a client; *is_in_poll*: whether a poll waits."""
    assert set(consumer.positions.assigned) == set(state.assignment)
    assert not is_in_poll or isinstance(state.app, Outside)
    assert len(set(state.assignment)) == len(state.assignment)
    for number in state.in_flight:
        assert number < state.reads.next_correlation_id
