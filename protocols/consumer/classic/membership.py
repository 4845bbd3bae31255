"""Generation, coordinator and subscription of a member of a classic group.

Source: ``AbstractCoordinator.requestRejoin``, ``resetStateAndRejoin``, ``markCoordinatorUnknown``;
``ConsumerCoordinator.rejoinNeededOrPending``, ``updatePatternSubscription``.
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.calls import CloseOperation, ExceptionName, Failed
from protocols.consumer.classic.phases import (
    AwaitingMetadata,
    JoinFailed,
    JoinFuture,
    Outside,
    PrepareNeeded,
    Reaction,
)
from protocols.consumer.classic.state import (
    Api,
    ClientState,
    Consumer,
    Generation,
    InFlight,
    Membership,
    Reconnect,
    Snapshot,
)
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.reader import MS, Metadata, reconnect_backoff_us
from protocols.consumer.requests import on_reads, send
from protocols.facts import ClientDropped, CommitKind, CoordinatorLost
from protocols.machine import Call, Report, Return, Step
from protocols.messages import (
    Disconnected,
    Envelope,
    Header,
    LeaveGroupRequest,
    LeavingMember,
    Message,
    OffsetToCommit,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

LEFT_BY_ITSELF = "consumer pro-actively leaving the group"

RETRY = "poll-retry"
"""Timer: the poll loop runs again without a response."""


def request_rejoin(state: ClientState, reason: str) -> ClientState:
    """Ask for a new JoinGroup at the next poll; a later reason replaces an earlier one."""
    return replace(state, rejoin=reason)


def reset(state: ClientState, reason: str, *, keep_member_id: bool) -> Step[ClientState]:
    """Drop the generation, and the member id unless kept; the next poll loses the partitions.

    The heartbeat thread stops, and the next join runs onJoinPrepare. A consumer with partitions of
    its own has nothing to drop. Source: ``resetStateAndRejoin``.
    """
    if state.membership is Membership.USER_ASSIGNED:
        return Step(state)
    member_id = state.generation.member_id if keep_member_id else ""
    after = replace(
        state,
        membership=Membership.UNJOINED,
        generation=Generation(member_id=member_id),
        rejoin=reason,
        prepare=PrepareNeeded(),
        future=_outdated(state.future),
        beat=None,
    )
    return Step(after, (Report(ClientDropped(reason=reason)),))


def _outdated(future: JoinFuture) -> JoinFuture:
    """End the join of a leader that waits for metadata, as its SyncGroup would be outdated.

    Other joins end with the response to their request in flight.
    """
    if not isinstance(future, AwaitingMetadata):
        return future
    error = ErrorCode.ILLEGAL_GENERATION
    return JoinFailed(ExceptionName.ILLEGAL_GENERATION, Reaction.AT_ONCE, error)


def reset_by(
    state: ClientState, error: str, api: str, *, keep_member_id: bool
) -> Step[ClientState]:
    """Reset after an error response; the reason names error and API, as in the Java client."""
    reason = f"encountered {error} from {api} response"
    return reset(state, reason, keep_member_id=keep_member_id)


JOIN_GRACE_MS = 5_000
"""Milliseconds that a JoinGroup may take beyond the rebalance timeout.

Source: ``JoinGroupRequest``, ``AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE``.
"""


def timeout_us(consumer: Consumer, api: Api) -> int:
    """Return the timeout of a request in microseconds."""
    settings = consumer.settings
    if api is Api.JOIN and consumer.profile.awaits_rebalances:
        longest = consumer.rebalance_timeout_ms + JOIN_GRACE_MS
        return max(settings.request_timeout_ms, longest) * MS
    return settings.request_timeout_ms * MS


def ask(
    state: ClientState,
    consumer: Consumer,
    api: Api,
    message: Message,
    now: int,
    *,
    commit: tuple[OffsetToCommit, ...] = (),
    kind: CommitKind = CommitKind.SYNC,
) -> Step[ClientState]:
    """Send a request to the coordinator, which must be known, and record it as in flight."""
    assert isinstance(state.coordinator, Known), "a group request needs a coordinator"
    deadline = now + timeout_us(consumer, api)
    broker = state.coordinator.broker
    return send(state, message, InFlight(api, broker, deadline, state.generation, commit, kind))


def forget_coordinator(
    state: ClientState, consumer: Consumer, reason: str, now: int
) -> Step[ClientState]:
    """Mark the coordinator unknown and break its connection (``markCoordinatorUnknown``).

    Requests in flight to it fail at the next pump.
    """
    assert isinstance(state.coordinator, Known)
    node = coordinator_node(state.coordinator.broker)
    lost = Envelope(Header(consumer.name, -1), Disconnected(node))
    breaking = replace(state, inbox=(*state.inbox, lost))
    return mark_unknown(breaking, consumer, reason, now)


def mark_unknown(
    state: ClientState, consumer: Consumer, reason: str, now: int
) -> Step[ClientState]:
    """Mark the coordinator unknown; its connection is broken or will be closed.

    The client reconnects only after the reconnect back-off, which doubles until the broker
    responds.
    """
    assert isinstance(state.coordinator, Known)
    broker = state.coordinator.broker
    failures = state.reconnect.failures if state.reconnect.broker == broker else 0
    ready = now + reconnect_backoff_us(consumer, failures, now)
    reconnect = Reconnect(broker, ready, failures + 1)
    after = replace(state, coordinator=Unknown(retry_us=now), reconnect=reconnect)
    return Step(after, (Report(CoordinatorLost(reason=reason)),))


def refresh_metadata(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request metadata if an update is due and no request is in flight."""
    return on_reads(state, lambda reads: metadata.refresh(reads, consumer, now))


def request_metadata(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request an update before the age limit; the request is sent after the back-off."""
    return on_reads(state, lambda reads: metadata.request_update(reads, consumer, now))


def watch_topics(
    state: ClientState, consumer: Consumer, group_topics: frozenset[str]
) -> ClientState:
    """Watch the group's topics in addition to the client's own, as the leader does."""
    topics = consumer.topics
    watched = None if topics is None else tuple(sorted(group_topics.union(topics)))
    reads = replace(state.reads, metadata=replace(state.metadata, watched=watched))
    return replace(state, group_topics=group_topics, reads=reads)


def note_new_metadata(state: ClientState, consumer: Consumer) -> ClientState:
    """Apply a new version of the metadata: update the pattern's topics and the snapshot."""
    known = state.metadata
    if known.seen == known.version:
        return state
    subscribed = metadata.subscribed_topics(consumer, known)
    seen = metadata.with_seen_topics(known, consumer, others=subscribed != state.subscribed)
    state = replace(
        state,
        reads=replace(state.reads, metadata=seen),
        subscribed=subscribed,
        snapshot=snapshot(state.group_topics.union(subscribed), known, consumer),
    )
    if consumer.profile.every_member_watches:
        state = _watched(state, consumer, by_step=not known.step_seen)
    return rejoin_if_changed(state)


def _watched(state: ClientState, consumer: Consumer, *, by_step: bool) -> ClientState:
    """Compare new metadata with those known when this member last compared them.

    Other partition counts are noticed in periodic metadata only (*by_step*), other topics in any: the
    client requests a missing topic again until it exists.
    """
    found, before = snapshot(state.subscribed, state.metadata, consumer), state.own_snapshot
    if before is not None and not by_step and _names(found) == _names(before):
        return state
    state = replace(state, own_snapshot=found)
    if before in (None, found) or state.rejoin is not None:
        return state
    return request_rejoin(state, "metadata for subscribed topics have changed")


def _names(found: Snapshot) -> list[str]:
    return [name for name, _, _ in found]


def change_subscription(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Apply a new subscription; the next poll joins with it."""
    state = watch_topics(state, consumer, state.group_topics)
    subscribed = metadata.subscribed_topics(consumer, state.metadata)
    state = replace(state, subscribed=subscribed, own_snapshot=None)
    if state.rejoin is None and state.membership is Membership.UNJOINED:
        state = request_rejoin(state, "")
    return request_metadata(rejoin_if_changed(state), consumer, now)


def extend_subscription(
    state: ClientState, consumer: Consumer, assignment: tuple[TopicPartition, ...]
) -> ClientState:
    """Subscribe to assigned topics that match the pattern but were not seen yet.

    Source: ``ConsumerCoordinator.maybeUpdateJoinedSubscription``.
    """
    if consumer.matches is None:
        return state
    given = {tp.topic for tp in assignment}
    return replace(
        state,
        subscribed=tuple(sorted(given.union(state.subscribed))),
        joined_with=tuple(sorted(given.union(state.joined_with or ()))),
    )


def subscribes(state: ClientState, consumer: Consumer, tp: TopicPartition) -> bool:
    """Return whether the topic of a partition is subscribed, or matches the pattern."""
    if consumer.matches is not None:
        return consumer.matches(tp.topic)
    return tp.topic in state.subscribed


def unsubscribed_partitions(state: ClientState) -> frozenset[TopicPartition]:
    """Return the assigned partitions of topics that are no longer subscribed."""
    return frozenset(tp for tp in state.assignment if tp.topic not in state.subscribed)


def rejoin_if_changed(state: ClientState) -> ClientState:
    """Request a rejoin if the leader's metadata or the subscription have changed.

    A rejoin that is already requested keeps its reason.
    """
    if state.rejoin is not None:
        return state
    if state.leader_snapshot is not None and state.leader_snapshot != state.snapshot:
        return request_rejoin(state, "cached metadata has changed")
    if state.joined_with is not None and state.joined_with != state.subscribed:
        return request_rejoin(state, "subscription has changed")
    return state


def snapshot(topics: Iterable[str], known: Metadata, consumer: Consumer) -> Snapshot:
    """Return the partition counts, and the racks if the client has one, for the leader to compare.

    Each partition has the set of racks of its replicas: a replica that moves within its rack
    changes nothing (``PartitionRackInfo.equivalentTo``). The metadata name the rack of a replica
    whether it is online or not, so an offline replica does not change the snapshot.
    """
    found = (known.topics[name] for name in sorted(topics) if name in known.topics)
    racked = bool(consumer.settings.client_rack)
    return tuple(
        (topic.name, len(topic.leaders), tuple(map(frozenset, topic.racks)) if racked else ())
        for topic in found
    )


def invalid_assignor(consumer: Consumer, name: str | None) -> Failed:
    """Return the exception for a coordinator that selected an assignor not configured here.

    Source: ``ConsumerCoordinator.onLeaderElected``, ``onJoinComplete``.
    """
    supported = ", ".join(assignor.name for assignor in consumer.assignors)
    message = f"Coordinator selected invalid assignment protocol: {name}; supported: {supported}"
    return Failed(ExceptionName.ILLEGAL_STATE, message=message)


# -- leaving -------------------------------------------------------------------------------------


def leave(state: ClientState, consumer: Consumer, reason: str, now: int) -> Step[ClientState]:
    """Leave the group proactively: LeaveGroup for dynamic members, best effort, then a reset."""
    return send_leave(state, consumer, reason, now).then(
        lambda s: reset(s, LEFT_BY_ITSELF, keep_member_id=False)
    )


def send_leave(
    state: ClientState,
    consumer: Consumer,
    reason: str,
    now: int,
    *,
    operation: CloseOperation = CloseOperation.DEFAULT,
) -> Step[ClientState]:
    """Send LeaveGroup if the member leaves, has an id, and the coordinator is known."""
    member_id = state.generation.member_id
    joined = member_id and state.membership is not Membership.UNJOINED
    if not _leaves(consumer, operation) or not joined or not isinstance(state.coordinator, Known):
        return Step(state)
    request = LeaveGroupRequest(
        group_id=consumer.group_id, members=(LeavingMember(member_id, None, reason),)
    )
    return ask(state, consumer, Api.LEAVE, request, now)


def _leaves(consumer: Consumer, operation: CloseOperation) -> bool:
    """Return whether a member sends LeaveGroup; by default dynamic members do (KIP-1092)."""
    if operation is CloseOperation.DEFAULT:
        return consumer.settings.group_instance_id is None
    return operation is CloseOperation.LEAVE_GROUP


def last_call(state: ClientState, consumer: Consumer) -> Call | None:
    """Return the listener call of close() and unsubscribe(); None: there is none.

    It is *lost* without a generation or in a rebalance, else *revoked*.
    """
    if not state.assignment or state.membership is Membership.USER_ASSIGNED:
        return None
    if not consumer.profile.calls_at_end:
        return None
    rebalancing = state.membership in (
        Membership.PREPARING_REBALANCE,
        Membership.COMPLETING_REBALANCE,
    )
    listener = "lost" if state.generation.lost or rebalancing else "revoked"
    return Call(listener, tuple(sorted(state.assignment)))


def leave_after_unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Leave the group; nothing is subscribed any more."""
    reason = "the consumer unsubscribed from all topics"
    step = send_leave(replace(state, app=Outside()), consumer, reason, now)
    step = step.then(lambda s: reset(s, reason, keep_member_id=False))
    after = replace(
        step.state, assignment=(), future=None, rejoin=None, prepare=PrepareNeeded(), subscribed=()
    )
    return Step(after, (*step.effects, Return(Outside())))
