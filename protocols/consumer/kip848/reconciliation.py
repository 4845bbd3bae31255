"""Reconciliation of the owned partitions with the target assignment.

Pause the revoked partitions, commit, call onPartitionsRevoked, apply the assignment, call
onPartitionsAssigned, acknowledge. A newer target waits until the current reconciliation has ended.
Source: ``AbstractMembershipManager.maybeReconcile``, ``revokeAndAssign``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.clients import CommitClock
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.kip848.member import (
    NO_ASSIGNMENT,
    Ids,
    LocalAssignment,
    MemberState,
    Reconciling,
    Stage,
)
from protocols.consumer.kip848.membership import transition
from protocols.consumer.kip848.requests import pass_over, queue_automatic_commit, request_call
from protocols.consumer.kip848.state import ClientState, Consumer
from protocols.consumer.kip848.threads import CallbackCompleted, CallbackNeeded, Purpose
from protocols.consumer.reader import MS
from protocols.consumer.requests import on_reads
from protocols.facts import CommitKind
from protocols.machine import Step
from protocols.values import replace


def advance(state: ClientState, consumer: Consumer, now: int, *, polled: bool) -> Step[ClientState]:
    """Begin a reconciliation if the target differs and none is running.

    Its first commit is only queued (``state.commits``). *polled*: the application is in poll, so
    that its positions may be committed; a client in the background commits what it has stored.
    """
    member = state.member
    if member.state is not MemberState.RECONCILING or member.reconciled:
        return Step(state)
    if member.reconciling is not None:
        return Step(state)
    names = {topic.topic_id: topic.name for topic in state.metadata.topics.values()}
    known = tuple(ids for ids in member.target.partitions if ids.topic_id in names)
    step = Step(state)
    if known != member.target.partitions:
        step = on_reads(state, lambda reads: metadata.request_update(reads, consumer, now))
    resolved = LocalAssignment(member.target.epoch, known)
    acknowledges = consumer.profile.acknowledges_unchanged
    if known == member.current.partitions and (member.current != NO_ASSIGNMENT or not acknowledges):
        return step.then(lambda s: _owned_already(s, resolved, acknowledges=acknowledges))
    found = _difference(state, resolved, names)
    waits_for_poll = not polled and not consumer.profile.in_background
    if waits_for_poll and (consumer.settings.enable_auto_commit or found.revoked):
        return step
    return step.then(lambda s: _begin(s, consumer, found, now))


def _owned_already(
    state: ClientState, resolved: LocalAssignment, *, acknowledges: bool
) -> Step[ClientState]:
    """Acknowledge once for each target that all partitions of known topics are owned."""
    member = state.member
    if member.current.epoch == resolved.epoch:
        return Step(state)
    owning = member._replace(current=resolved)
    after = MemberState.ACKNOWLEDGING if acknowledges else MemberState.STABLE
    return transition(state, owning.to(after))


def _difference(
    state: ClientState, resolved: LocalAssignment, names: dict[str, str]
) -> Reconciling:
    assigned = _by_name(resolved.partitions, names)
    owned = frozenset(state.assignment)
    return Reconciling(
        stage=Stage.COMMITTING,
        resolved=resolved,
        assigned=assigned,
        revoked=tuple(sorted(owned.difference(assigned))),
        added=tuple(tp for tp in assigned if tp not in owned),
    )


def _by_name(ids: Ids, names: dict[str, str]) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(names[topic_id], number)
            for topic_id, numbers in ids
            for number in numbers
        )
    )


def _begin(
    state: ClientState, consumer: Consumer, found: Reconciling, now: int
) -> Step[ClientState]:
    """Pause the revoked partitions and commit all positions, including those of kept partitions.

    A client that commits what it gives away does that after the listener call.
    """
    state = state.becoming(state.member._replace(reconciling=found))
    state = replace(state, pending=state.pending.union(found.revoked))
    settings = consumer.settings
    if consumer.profile.listener_first:
        return _revoke(state, consumer, found, now)
    if not settings.enable_auto_commit or not automatic_offsets(consumer):
        return on_committed(state, consumer, now)
    deadline = now + settings.max_poll_interval_ms * MS
    return Step(queue_automatic_commit(state, consumer, CommitKind.PREPARE, deadline))


def on_committed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Continue after the commit, whether it succeeded or not: revoke, or assign."""
    found = _running(state)
    if found is None:
        return Step(_without_reconciliation(state))
    if consumer.profile.listener_first:
        return _assign(state, found)
    return _revoke(state, consumer, found, now)


def _revoke(
    state: ClientState, consumer: Consumer, found: Reconciling, now: int
) -> Step[ClientState]:
    if not found.revoked:
        return _assign(state, found)
    state = _at_stage(state, found, Stage.REVOKING)
    if not consumer.listener:
        passed = pass_over(state, "revoked", found.revoked)
        return passed.then(lambda s: on_revoked(s, consumer, now, threw=False))
    return Step(request_call(state, "revoked", found.revoked, Purpose.REVOKE))


def on_revoked(
    state: ClientState, consumer: Consumer, now: int, *, threw: bool
) -> Step[ClientState]:
    """Continue after onPartitionsRevoked; if it threw, the next poll begins again."""
    found = _running(state)
    if found is None or threw:
        return Step(_without_reconciliation(state))
    settings = consumer.settings
    removed = consumer.profile.listener_first
    if not removed or not settings.enable_auto_commit:
        return _assign(state, found)
    deadline = now + settings.session_timeout_ms * MS
    only = frozenset(found.revoked)
    after = queue_automatic_commit(state, consumer, CommitKind.PREPARE, deadline, only)
    if after is state:
        return _assign(state, found)
    return Step(_at_stage(after, found, Stage.COMMITTING))


def _assign(state: ClientState, found: Reconciling) -> Step[ClientState]:
    """Let the application apply the assignment in poll, even if it has no listener."""
    state = _at_stage(state, found, Stage.ASSIGNING)
    return Step(request_call(state, "assigned", found.added, Purpose.ASSIGN, found.assigned))


def apply_assignment(state: ClientState, needed: CallbackNeeded) -> ClientState:
    """Apply the assignment for which the application waits in poll.

    The Java client does this in the background thread, after the event of this poll: its automatic
    commit still covers the revoked partitions (``ApplyAssignmentEvent``). It does it even if the
    reconciliation was aborted meanwhile. Added partitions, and those of an earlier call that threw,
    are not read before onPartitionsAssigned has succeeded.
    """
    waiting = frozenset((*state.awaiting, *needed.partitions))
    awaiting = tuple(tp for tp in needed.assignment if tp in waiting)
    pending = state.pending.intersection(needed.assignment)
    return replace(state, assignment=needed.assignment, awaiting=awaiting, pending=pending)


def on_assigned(
    state: ClientState, consumer: Consumer, ended: CallbackCompleted, now: int
) -> Step[ClientState]:
    """Continue after onPartitionsAssigned: acknowledge; if it threw, begin again.

    The partitions of a call that threw are owned, so the next call does not list them; they are
    read once it succeeds. If the reconciliation was aborted meanwhile, those that the member still owns
    are read, too.
    """
    if not ended.threw:
        given = frozenset(ended.needed.assignment)
        state = replace(state, awaiting=tuple(tp for tp in state.awaiting if tp not in given))
    found = _running(state)
    if found is None or ended.threw:
        return Step(_without_reconciliation(state))
    state = _without_reconciliation(state)
    if consumer.profile.commit_clock is CommitClock.ASSIGNMENT:
        interval = consumer.settings.auto_commit_interval_ms * MS
        state = replace(state, autocommit_us=now - _unseen_us(found, ended) + interval)
    member = state.member._replace(current=found.resolved)
    return transition(state, member.to(MemberState.ACKNOWLEDGING))


def _unseen_us(found: Reconciling, ended: CallbackCompleted) -> int:
    """Return how much (us) of the call the timer of automatic commits has not seen.

    Rounds move it, and the reset uses the time of the last one, before or during the call: source
    ``AutoCommitState.remainingMs``, ``Timer.reset``. The wake-ups around the call are not subtracted:
    in Kafka's client they are made up for by waits of poll that end a wake-up late.
    """
    return max(0, min(ended.lasted_us, ended.ended_us - found.round_us))


def note_round(state: ClientState, now: int) -> ClientState:
    """Note when a round begins, while a reconciliation runs."""
    found = state.member.reconciling
    if not isinstance(found, Reconciling):
        return state
    return state.becoming(state.member._replace(reconciling=found._replace(round_us=now)))


def is_running(state: ClientState) -> bool:
    """Return whether a reconciliation is running that was not aborted."""
    return _running(state) is not None


def _running(state: ClientState) -> Reconciling | None:
    """Return the reconciliation, unless it was aborted (``maybeAbortReconciliation``)."""
    found = state.member.reconciling
    if not isinstance(found, Reconciling) or state.member.state is not MemberState.RECONCILING:
        return None
    return found


def _without_reconciliation(state: ClientState) -> ClientState:
    return state.becoming(state.member._replace(reconciling=None))


def _at_stage(state: ClientState, found: Reconciling, stage: Stage) -> ClientState:
    reconciling = found._replace(stage=stage)
    return state.becoming(state.member._replace(reconciling=reconciling))
