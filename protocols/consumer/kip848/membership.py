"""Membership in a group of the consumer protocol: join, assignment, fencing, leaving.

Source: ``AbstractMembershipManager``, ``ConsumerMembershipManager``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer import metadata, offset_fetcher
from protocols.consumer.calls import CloseOperation, Failed, IllegalCallError, exception_name
from protocols.consumer.kip848.member import (
    NO_ASSIGNMENT,
    AbortedReconciliation,
    Ids,
    Membership,
    MemberState,
    Reconciling,
    ReleaseStage,
    by_id,
)
from protocols.consumer.kip848.requests import pass_over, request_call
from protocols.consumer.kip848.state import Api, ClientState, Consumer
from protocols.consumer.kip848.threads import Purpose
from protocols.consumer.reader import MS
from protocols.consumer.requests import on_reads
from protocols.facts import ClientDropped, ClientStateChanged
from protocols.machine import Report, Step
from protocols.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    TEMPORARY_LEAVE_EPOCH,
    ConsumerGroupHeartbeatResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def transition(state: ClientState, member: Membership) -> Step[ClientState]:
    """Return the state with the changed member; report a change of the member state."""
    after = state.becoming(member)
    before = state.member.state
    if before is member.state:
        return Step(after)
    fact = ClientStateChanged(
        member_id=state.member_id, epoch=member.epoch, before=before.name, after=member.state.name
    )
    return Step(after, (Report(fact),))


def join(state: ClientState) -> Step[ClientState]:
    """Prepare to join with epoch 0; a running reconciliation is aborted."""
    member = abort_reconciliation(state.member)._replace(
        epoch=JOIN_EPOCH, target=NO_ASSIGNMENT, current=NO_ASSIGNMENT
    )
    return transition(state, member.to(MemberState.JOINING))


def abort_reconciliation(member: Membership) -> Membership:
    """Return the member with its running reconciliation aborted."""
    if not isinstance(member.reconciling, Reconciling):
        return member
    return member._replace(reconciling=AbortedReconciliation(member.reconciling.stage))


def on_heartbeat_success(
    state: ClientState, response: ConsumerGroupHeartbeatResponse
) -> Step[ClientState]:
    """Apply the epoch of a response without error, and its assignment if it has one."""
    member = state.member
    outside = not member.state.in_group or member.state is MemberState.LEAVING
    if outside or response.member_epoch < 0:
        return Step(state)
    member = member._replace(epoch=response.member_epoch)
    if response.member_epoch > 0:
        state = replace(state, shown_generation=response.member_epoch)
    if response.assignment is None or not member.state.takes_assignments:
        return Step(state.becoming(member))
    return _take_assignment(state, member, by_id(response.assignment))


def _take_assignment(state: ClientState, member: Membership, partitions: Ids) -> Step[ClientState]:
    member = member._replace(target=member.target.with_target(partitions))
    state = _watch_assigned(state, member)
    if not member.reconciled:
        return transition(state, member.to(MemberState.RECONCILING))
    if member.state in (MemberState.RECONCILING, MemberState.JOINING):
        return transition(state, member.to(MemberState.STABLE))
    return Step(state.becoming(member))


def _watch_assigned(state: ClientState, member: Membership) -> ClientState:
    """Watch the topics of the assignment by id, if the coordinator evaluates the pattern.

    Their names are unknown until metadata are requested with these ids
    (``SubscriptionState.setAssignedTopicIds``).
    """
    known = state.metadata
    if not known.by_id:
        return state
    ids = {part.topic_id for part in (*member.target.partitions, *member.current.partitions)}
    watched = replace(known, watched=tuple(sorted(ids)))
    return replace(state, reads=replace(state.reads, metadata=watched))


def on_heartbeat_generated(state: ClientState) -> Step[ClientState]:
    """Continue after a heartbeat was created: it acknowledges the owned partitions."""
    member = state.member
    if member.state is not MemberState.ACKNOWLEDGING:
        return Step(state)
    after = MemberState.STABLE if member.reconciled else MemberState.RECONCILING
    return transition(state, member.to(after))


def release_assignment(
    state: ClientState, consumer: Consumer, release: ReleaseStage
) -> Step[ClientState]:
    """Stop reading all owned partitions, and request the call of onPartitionsLost."""
    state = state.becoming(state.member._replace(release=release))
    if not state.assignment:
        return on_released(state)
    if not consumer.listener:
        return pass_over(state, "lost", state.assignment).then(on_released)
    state = replace(state, pending=frozenset(state.assignment))
    return Step(request_call(state, "lost", state.assignment, Purpose.RELEASE))


def on_released(state: ClientState) -> Step[ClientState]:
    """Drop all partitions; rejoin if the release was requested for that."""
    then = state.member.release
    member = state.member._replace(current=NO_ASSIGNMENT, release=ReleaseStage.DONE)
    state = replace(_without_assignment(state), member=member)
    rejoins = member.state in (MemberState.FENCED, MemberState.STALE)
    return join(state) if then is ReleaseStage.THEN_JOIN and rejoins else Step(state)


def on_fenced(state: ClientState, consumer: Consumer, error: ErrorCode) -> Step[ClientState]:
    """Handle a removal by the coordinator: release all partitions, then join with the same id.

    A member that is leaving has left (``transitionToFenced``).
    """
    member = state.member
    if member.state.leaving:
        if member.state is MemberState.PREPARE_LEAVING:
            member = member.to(MemberState.LEAVING)
        gone = abort_reconciliation(member)._replace(epoch=JOIN_EPOCH, current=NO_ASSIGNMENT)
        return transition(state, gone.to(MemberState.UNSUBSCRIBED))
    if not member.state.in_group:
        return Step(state)
    fenced = abort_reconciliation(member)._replace(epoch=JOIN_EPOCH, target=NO_ASSIGNMENT)
    step = transition(state, fenced.to(MemberState.FENCED))
    dropped = Report(ClientDropped(reason=f"heartbeat answered {error.name}"))
    return step.also(dropped).then(
        lambda s: release_assignment(s, consumer, ReleaseStage.THEN_JOIN)
    )


def on_fatal(
    state: ClientState, consumer: Consumer, error: ErrorCode, message: str
) -> Step[ClientState]:
    """Handle a fatal error: all partitions are lost, and every poll throws.

    For a member that leaves or has left, the listener is not called again (``transitionToFatal``).
    """
    failed = Failed(exception_name(error), error, message)
    member = abort_reconciliation(state.member)._replace(epoch=JOIN_EPOCH, target=NO_ASSIGNMENT)
    step = transition(replace(state, fatal_error=failed), member.to(MemberState.FATAL))
    dropped = Report(ClientDropped(reason=f"heartbeat answered {error.name}"))
    if state.member.state.leaving or state.member.state is MemberState.UNSUBSCRIBED:
        return step.also(dropped)
    return step.also(dropped).then(lambda s: release_assignment(s, consumer, ReleaseStage.RUNNING))


def throw_once(state: ClientState, error: ErrorCode) -> ClientState:
    """Record an error that the next poll throws; the member continues."""
    failed = Failed(exception_name(error), error)
    return replace(state, thrown=failed)


POLL_EXPIRED = "consumer poll timeout has expired."


def leave_epoch(consumer: Consumer, operation: CloseOperation) -> int | None:
    """Return the epoch of the leaving heartbeat; None: none is sent."""
    static = consumer.settings.group_instance_id is not None
    match operation:
        case CloseOperation.LEAVE_GROUP:
            return LEAVE_EPOCH
        case CloseOperation.REMAIN_IN_GROUP if not static:
            return None
        case _:
            return TEMPORARY_LEAVE_EPOCH if static else LEAVE_EPOCH


def leave_after_unsubscribe(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Leave because the application unsubscribed; first request the listener call."""
    state = replace(state, subscribed=None)
    if not state.member.state.in_group:
        return discard_assignment(state)
    step = transition(state, abort_reconciliation(state.member).to(MemberState.PREPARE_LEAVING))
    if not state.assignment:
        return step.then(lambda s: on_leave_prepared(s, consumer))
    listener = "revoked" if state.member.epoch > 0 else "lost"
    if not consumer.listener:
        passed = step.then(lambda s: pass_over(s, listener, s.assignment))
        return passed.then(lambda s: on_leave_prepared(s, consumer))
    called = request_call(step.state, listener, state.assignment, Purpose.LEAVE)
    return Step(called, step.effects)


def on_leave_prepared(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Leave after the listener call of unsubscribe(), unless the member was fenced since."""
    if state.member.state is not MemberState.PREPARE_LEAVING:
        return discard_assignment(state)
    return begin_leaving(state, leave_epoch(consumer, CloseOperation.DEFAULT))


def leave_at_close(state: ClientState, epoch: int | None) -> Step[ClientState]:
    """Leave at the end of close(), which has called the listener itself."""
    state = replace(state, subscribed=None)
    member = abort_reconciliation(state.member)
    if not member.state.in_group:
        return discard_assignment(state)
    if member.state is MemberState.LEAVING:
        return Step(state)
    if member.state is not MemberState.PREPARE_LEAVING:
        member = member.to(MemberState.PREPARE_LEAVING)
    return transition(state, member).then(lambda s: begin_leaving(s, epoch))


def begin_leaving(state: ClientState, epoch: int | None) -> Step[ClientState]:
    """Drop all partitions and prepare the heartbeat with *epoch*; None: send none."""
    member = state.member._replace(
        epoch=JOIN_EPOCH if epoch is None else epoch, current=NO_ASSIGNMENT
    )
    return transition(_without_assignment(state), member.to(MemberState.LEAVING))


def _without_assignment(state: ClientState) -> ClientState:
    return replace(state, assignment=(), awaiting=(), pending=frozenset())


def discard_assignment(state: ClientState) -> Step[ClientState]:
    """Drop all partitions of a member that is already outside the group."""
    after = _without_assignment(state)
    if state.member.state is not MemberState.FENCED:
        return Step(after)
    return transition(after, state.member.to(MemberState.UNSUBSCRIBED))


def on_poll_expired(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Leave because ``max.poll.interval.ms`` has passed without a poll: no call, no commit."""
    epoch = leave_epoch(consumer, CloseOperation.DEFAULT)
    assert epoch is not None, "by default a member sends a leaving heartbeat"
    step = transition(state, abort_reconciliation(state.member).to(MemberState.PREPARE_LEAVING))
    member = step.state.member._replace(epoch=epoch, current=NO_ASSIGNMENT)
    step = step.then(lambda s: transition(s, member.to(MemberState.LEAVING)))
    return step.also(Report(ClientDropped(reason=POLL_EXPIRED)))


def on_left(state: ClientState, after: MemberState) -> Step[ClientState]:
    """Complete the leave once its heartbeat was created or cannot be sent."""
    return transition(state, state.member.to(after))


def on_heartbeat_skipped(state: ClientState) -> Step[ClientState]:
    """Leave without a heartbeat because none can be sent (``onHeartbeatRequestSkipped``)."""
    if state.member.state is not MemberState.LEAVING:
        return Step(state)
    return on_left(state, MemberState.UNSUBSCRIBED)


def has_left(state: ClientState) -> bool:
    """Return whether the member has left and no leaving heartbeat is in flight; a fatal error ends it."""
    if state.member.state is MemberState.FATAL:
        return True
    sent = (flight.api for flight in state.in_flight.values())
    return not state.member.state.leaving and Api.LEAVE not in sent


def initial_state(consumer: Consumer) -> ClientState:
    """Return the state of a consumer that has subscribed and never polled.

    With ``assign()`` it stays UNSUBSCRIBED: it sends no heartbeats, and its commits have no member id.
    """
    settings = consumer.settings
    state = ClientState(
        member_id=consumer.member_id,
        poll_due_us=settings.max_poll_interval_ms * MS,
        autocommit_us=settings.auto_commit_interval_ms * MS,
    )
    watched = None if consumer.topics is None else tuple(sorted(set(consumer.topics)))
    by_id = consumer.regex is not None
    known = replace(state.metadata, watched=() if by_id else watched, by_id=by_id)
    reads = replace(state.reads, metadata=known)
    state = replace(state, reads=reads, subscribed=metadata.subscribed_topics(consumer, known))
    if consumer.assigned is None:
        return state
    offset_fetcher.assign(consumer, consumer.assigned)
    return replace(state, assignment=consumer.assigned)


def change_subscription(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Change the subscription: the next heartbeat sends it, the next poll joins if necessary.

    Partitions of other topics are no longer read, but stay owned until the coordinator revokes
    them; until then the names of these topics stay known (``assignedTopicNamesCache``).
    """
    if consumer.topics is None:
        raise IllegalCallError("a subscription can only be replaced by topic names")
    watched = tuple(sorted({*consumer.topics, *(tp.topic for tp in state.assignment)}))
    known = replace(state.metadata, watched=watched, by_id=False)
    reads = replace(state.reads, metadata=known)
    state = replace(state, reads=reads, subscribed=metadata.subscribed_topics(consumer, known))
    return on_reads(state, lambda reads: metadata.request_update(reads, consumer, now))


def unread_partitions(state: ClientState, consumer: Consumer) -> frozenset[TopicPartition]:
    """Return the owned partitions that are not read now (``isFetchableAndSubscribed``).

    They are about to be revoked, or belong to topics that are no longer subscribed by name.
    """
    if consumer.topics is None or state.subscribed is None:
        return state.pending
    gone = (tp for tp in state.assignment if tp.topic not in state.subscribed)
    return state.pending.union(gone)


def changes_unread(before: ClientState, after: ClientState) -> bool:
    """Return whether :func:`unread_partitions` may differ between two states."""
    return (
        after.pending is not before.pending
        or after.assignment is not before.assignment
        or after.subscribed is not before.subscribed
    )


def refresh_subscription(state: ClientState, consumer: Consumer) -> ClientState:
    """Apply new metadata: a pattern that the client evaluates may match other topics."""
    known = state.metadata
    if known.seen == known.version or state.subscribed is None:
        return state
    subscribed = metadata.subscribed_topics(consumer, known)
    seen = metadata.with_seen_topics(known, consumer, others=subscribed != state.subscribed)
    return replace(state, reads=replace(state.reads, metadata=seen), subscribed=subscribed)
