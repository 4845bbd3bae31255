"""The rejoin flow of the application thread: prepare, join, apply the assignment.

Each call continues until it has to wait for the network or the listener. Source:
``AbstractCoordinator.joinGroupIfNeeded``, ``ConsumerCoordinator.onJoinPrepare``,
``ConsumerCoordinator.onJoinComplete``.
"""

from __future__ import annotations

from assignors.plugin import call_on_assignment
from assignors.types import RebalanceProtocol, TopicPartition
from protocols.consumer import requests
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic import joining, next_join
from protocols.consumer.classic.async_commits import commit_at_revocation, commit_automatically
from protocols.consumer.classic.membership import (
    RETRY,
    extend_subscription,
    invalid_assignor,
    rejoin_if_changed,
    request_rejoin,
    reset,
    subscribes,
    watch_topics,
)
from protocols.consumer.classic.phases import (
    Calling,
    JoinFailed,
    Outside,
    PrepareCommitted,
    PrepareCommitting,
    PrepareDone,
    PrepareNeeded,
    Reaction,
    Resume,
    Synced,
)
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.consumer.clients import CommitClock, RevokeCommit
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS
from protocols.facts import CommitKind
from protocols.machine import Call, Return, SetTimer, Step
from protocols.values import replace


def needed(state: ClientState) -> bool:
    """Return whether a rejoin is needed or pending (``rejoinNeededOrPending``)."""
    return state.rejoin is not None or state.future is not None


def advance(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Take the next step of a join: a request, a listener call, or the finished assignment."""
    if not isinstance(state.coordinator, Known):
        return Step(state)
    match state.future:
        case Synced() if now > poll_until_us and not consumer.profile.takes_late_joins:
            return Step(state)
        case Synced() as synced:
            return _on_join_complete(state, consumer, synced, now, poll_until_us)
        case JoinFailed() as failed:
            return _failed(state, consumer, failed, now, poll_until_us)
        case None:
            return _prepare(state, consumer, now, poll_until_us)
        case _:
            return Step(state)


def _failed(
    state: ClientState, consumer: Consumer, failed: JoinFailed, now: int, poll_until_us: int
) -> Step[ClientState]:
    state = next_join.failed(replace(state, future=None), consumer, failed.error, now)
    if failed.exception != ExceptionName.MEMBER_ID_REQUIRED:
        state = request_rejoin(state, f"rebalance failed due to {failed.exception}")
    match failed.reaction:
        case Reaction.AT_ONCE:
            return advance(state, consumer, now, poll_until_us)
        case Reaction.LATER:
            due_us = _next_join_us(state, consumer, now)
            return Step(state, () if due_us is None else (SetTimer(RETRY, due_us),))
        case Reaction.THROW:
            return Step(state, (Return(Failed(failed.exception, failed.error, failed.message)),))


def _next_join_us(state: ClientState, consumer: Consumer, now: int) -> int | None:
    """Return when (us) a member joins again after a failure; None: after the next response.

    The poll of the Java client waits for a response; without a request in flight, or while a position
    is missing, for ``retry.backoff.ms`` at most (``ConsumerNetworkClient.poll``). Other clients wait for
    the back-off.
    """
    settings, profile = consumer.settings, consumer.profile
    backoff_us = now + settings.retry_backoff_ms * MS
    if profile.in_background or not profile.records_while_joining:
        return backoff_us
    due = [now + _left_of_interval_us(state, consumer)] if settings.enable_auto_commit else []
    awaits = consumer.fetcher.in_flight or requests.are_in_flight(state)
    if not awaits or not consumer.positions.all_reading():
        due.append(backoff_us)
    return min(due, default=None)


def _left_of_interval_us(state: ClientState, consumer: Consumer) -> int:
    """Return what was left of the interval of automatic commits when the join began.

    No wait of poll is longer. A join does not read the clock of that timer, so it stands still
    (``ConsumerCoordinator.timeToNextPoll``).
    """
    return max(MS, state.autocommit_us - consumer.clock.joined_from_us)


# -- prepare -------------------------------------------------------------------------------------


def _prepare(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    match state.prepare:
        case PrepareDone():
            return _send_join(state, consumer, now)
        case PrepareNeeded():
            deadline = now + consumer.settings.max_poll_interval_ms * MS
            return _commit_first(state, consumer, deadline, now, poll_until_us)
        case PrepareCommitting() | PrepareCommitted() as prepare if consumer.profile.listener_first:
            return _commit_and_leave(state, consumer, prepare.gone, now)
        case PrepareCommitted():
            return _before_joining(state, consumer, now, poll_until_us)
        case PrepareCommitting(deadline, commit) as prepare:
            if now >= deadline:
                return _before_joining(state, consumer, now, poll_until_us)
            if commit is not None:
                return Step(state)
            if prepare.retry_us is None:
                return _pause(state, consumer, prepare, now)
            if now < prepare.retry_us and consumer.profile.in_background:
                return Step(state, (SetTimer(RETRY, prepare.retry_us),))
            return _commit_first(state, consumer, deadline, now, poll_until_us)


def _pause(
    state: ClientState, consumer: Consumer, failed: PrepareCommitting, now: int
) -> Step[ClientState]:
    """Wait before the commit of onJoinPrepare is sent again: as long as poll waits, or for the back-off.

    ``ConsumerCoordinator.onJoinPrepare`` returns when its commit has failed, and sends no other: the
    next turn of the poll loop does. Clients that work in the background wait for their back-off (aiokafka
    ``commit_offsets``, franz-go ``handleReqWithCoordinator``).
    """
    due_us = _next_join_us(state, consumer, now)
    assert due_us is not None, "a poll waits no longer than the interval of automatic commits"
    return Step(
        replace(state, prepare=replace(failed, retry_us=due_us)), (SetTimer(RETRY, due_us),)
    )


def _commit_first(
    state: ClientState, consumer: Consumer, deadline: int, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Send the automatic commit of onJoinPrepare; continue at once if none comes here.

    An eager client first stops returning records, so that the commit covers all returned records.
    """
    eager = consumer.protocol is RebalanceProtocol.EAGER
    if consumer.settings.enable_auto_commit and eager:
        state = replace(state, revoking=True)
    if consumer.commits_revoked and not consumer.profile.listener_first:
        sends = state.membership is Membership.STABLE or consumer.profile.commits_removed
        if sends and automatic_offsets(consumer):
            number = state.reads.next_correlation_id
            waiting = replace(state, prepare=PrepareCommitting(deadline, number))
            return commit_automatically(waiting, consumer, CommitKind.PREPARE, now)
        step = commit_automatically(state, consumer, CommitKind.PREPARE, now)
        return step.then(lambda s: _before_joining(s, consumer, now, poll_until_us))
    return _before_joining(state, consumer, now, poll_until_us)


def _before_joining(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Make the listener calls of onJoinPrepare, then join."""
    call = call_before_joining(state, consumer)
    state = replace(state, prepare=PrepareDone(), leader_snapshot=None)
    state = watch_topics(state, consumer, frozenset())
    if call is None:
        return on_prepared(state, consumer, (), now)
    state = next_join.revoked(state, consumer)
    return Step(replace(state, app=Calling(Resume.JOIN, poll_until_us)), (call,))


def call_before_joining(state: ClientState, consumer: Consumer) -> Call | None:
    """Return the listener call of onJoinPrepare; None: the member joins without one."""
    owned, profile = tuple(sorted(state.assignment)), consumer.profile
    if state.generation.lost and owned:
        return Call("revoked" if profile.commits_removed else "lost", owned)
    if state.generation.lost and not profile.calls_at_first_join:
        return None
    if consumer.protocol is RebalanceProtocol.EAGER:
        return Call("revoked", owned)
    gone = tuple(tp for tp in owned if tp.topic not in state.subscribed)
    return Call("revoked", gone) if gone or profile.calls_unchanged else None


def on_prepared(
    state: ClientState, consumer: Consumer, gone: tuple[TopicPartition, ...], now: int
) -> Step[ClientState]:
    """Continue after the listener call of onJoinPrepare: drop the partitions, send JoinGroup."""
    if consumer.profile.listener_first:
        return _commit_and_leave(replace(state, app=Outside()), consumer, frozenset(gone), now)
    return _send_join(_without_partitions(state, frozenset(gone)), consumer, now)


def _commit_and_leave(
    state: ClientState, consumer: Consumer, gone: frozenset[TopicPartition], now: int
) -> Step[ClientState]:
    """Commit after the listener call; when that has ended, drop the partitions, send JoinGroup."""
    step = commit_at_revocation(state, consumer, gone, now)
    if isinstance(step.state.prepare, PrepareCommitting):
        return step
    left = _without_partitions(step.state, gone)
    if isinstance(left.prepare, PrepareCommitted):
        left = replace(left, prepare=PrepareDone())
    return step.then(lambda _: _send_join(left, consumer, now))


def _without_partitions(state: ClientState, gone: frozenset[TopicPartition]) -> ClientState:
    kept = tuple(tp for tp in state.assignment if tp not in gone)
    return replace(state, app=Outside(), assignment=kept, revoking=False)


def _send_join(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    if not isinstance(state.coordinator, Known):
        return Step(state)
    state = next_join.prepared(state, consumer, now)
    due_us = next_join.held_until_us(state, consumer, now)
    if now < due_us:
        held = state if state.join_us == due_us else replace(state, join_us=due_us)
        return Step(held, (SetTimer(next_join.NEXT_JOIN, due_us),))
    began = replace(
        state,
        membership=Membership.PREPARING_REBALANCE,
        joined_with=state.subscribed,
        beat=None,
    )
    step = joining.offer(next_join.sent(began, consumer, now), consumer, 1, now)
    return next_join.let_session_go_on(step, state.beat, consumer, now)


# -- apply ---------------------------------------------------------------------------------------


def _on_join_complete(
    state: ClientState, consumer: Consumer, synced: Synced, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Apply a completed join (``onJoinComplete``), unless the generation was reset since."""
    if state.membership is not Membership.STABLE:  # a reset ends it with the generation
        now_is = f"{state.generation.id}/{state.membership.name}"
        reason = (
            "rebalance failed since the generation/state was modified by heartbeat thread to "
            f"{now_is} before the rebalance callback triggered"
        )
        step = reset(replace(state, future=None), reason, keep_member_id=False)
        return step.then(lambda s: advance(s, consumer, now, poll_until_us))
    if consumer.assignor(synced.protocol) is None:
        return Step(state, (Return(invalid_assignor(consumer, synced.protocol)),))
    if any(not subscribes(state, consumer, tp) for tp in synced.assignment):
        reason = "received assignment does not match the current subscription"
        again = replace(state, future=None, prepare=PrepareNeeded())
        return advance(request_rejoin(again, reason), consumer, now, poll_until_us)
    gone = frozenset(state.assignment).difference(synced.assignment)
    if consumer.protocol is not RebalanceProtocol.COOPERATIVE or not gone:
        return _apply_assignment(state, consumer, synced, now, poll_until_us)
    if consumer.profile.listener_first:
        if isinstance(state.prepare, PrepareCommitting | PrepareCommitted):  # it has returned
            return _commit_and_apply(state, consumer, synced, now, poll_until_us)
    elif consumer.profile.revoke_commit is RevokeCommit.TWICE:
        step = commit_at_revocation(state, consumer, gone, now)
        if isinstance(step.state.prepare, PrepareCommitting):
            return step
        state = step.state
    calling = Calling(Resume.REVOKED, poll_until_us, synced)
    return Step(replace(state, app=calling), (Call("revoked", tuple(sorted(gone))),))


def on_revoked(
    state: ClientState, consumer: Consumer, calling: Calling, now: int
) -> Step[ClientState]:
    """Continue a cooperative onJoinComplete after its revocation; another join follows."""
    synced, poll_until_us = calling.synced, calling.poll_until_us
    assert synced is not None, "the revocation of a cooperative join follows its SyncGroup"
    assert poll_until_us is not None, "a join goes on in poll"
    state = replace(next_join.revoked(state, consumer), app=Outside(), revoking=False)
    if consumer.profile.listener_first and calling.thrown is None:
        return _commit_and_apply(state, consumer, synced, now, poll_until_us)
    state = request_rejoin(state, "need to revoke partitions and re-join")
    return _apply_assignment(state, consumer, synced, now, poll_until_us, calling.thrown)


def _commit_and_apply(
    state: ClientState, consumer: Consumer, synced: Synced, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Commit what is stored of the partitions that were revoked, then apply the assignment."""
    gone = frozenset(state.assignment).difference(synced.assignment)
    step = commit_at_revocation(state, consumer, gone, now)
    if isinstance(step.state.prepare, PrepareCommitting):
        return step
    state = replace(step.state, revoking=False)
    state = request_rejoin(state, "need to revoke partitions and re-join")
    return step.then(lambda _: _apply_assignment(state, consumer, synced, now, poll_until_us))


def on_listener_threw(
    state: ClientState, consumer: Consumer, call: Call, failed: Failed, now: int
) -> Step[ClientState]:
    """Continue after a listener call that threw; poll throws its exception after the last call.

    In onJoinPrepare the partitions of the call are still dropped, and the next poll joins without
    another call. In onJoinComplete the assignment is still applied, but the join is not completed
    (``resetJoinGroupFuture`` runs after the call): the next poll applies it again, with no new
    partitions, before it collects records.
    """
    calling = state.app
    assert isinstance(calling, Calling), f"no listener call is running: {call}"
    match calling.resume:
        case Resume.JOIN:
            return Step(_without_partitions(state, frozenset(call.partitions)), (Return(failed),))
        case Resume.REVOKED:
            return on_revoked(state, consumer, replace(calling, thrown=failed), now)
        case _:
            again = replace(state, app=Outside(), future=calling.synced, prepare=PrepareDone())
            return Step(again, (Return(failed),))


def _apply_assignment(
    state: ClientState,
    consumer: Consumer,
    synced: Synced,
    now: int,
    poll_until_us: int,
    thrown: Failed | None = None,
) -> Step[ClientState]:
    """Apply the new assignment and call the listener with the added partitions."""
    owned = frozenset(state.assignment)
    assignment = tuple(sorted(synced.assignment))
    state = extend_subscription(state, consumer, assignment)
    assignor = consumer.assignor(synced.protocol)
    if assignor is not None:
        call_on_assignment(assignor, synced.assignment, synced.generation, synced.user_data)
    autocommit_us = state.autocommit_us
    if consumer.profile.commit_clock is CommitClock.ASSIGNMENT:
        autocommit_us = now + consumer.settings.auto_commit_interval_ms * MS
    added = tuple(tp for tp in assignment if tp not in owned)
    after = replace(
        state,
        assignment=assignment,
        autocommit_us=autocommit_us,
        future=None,
        prepare=PrepareNeeded(),
        app=Calling(Resume.ASSIGNED, poll_until_us, synced, thrown=thrown),
    )
    return Step(rejoin_if_changed(after), (Call("assigned", added),))
