"""JoinGroup and SyncGroup responses, and the assignment that the leader computes.

Source: ``JoinGroupResponseHandler``, ``SyncGroupResponseHandler``,
``ConsumerCoordinator.onLeaderElected``.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.errors import AssignorDefectError, CooperativeViolationError
from assignors.plugin import CheckedAssignment, check_cooperative, is_built_in, run_assignor
from assignors.types import (
    Assignment,
    Assignor,
    RebalanceProtocol,
    Subscription,
    Topics,
)
from protocols.consumer import metadata
from protocols.consumer.calls import ExceptionName, exception_name
from protocols.consumer.classic import heartbeat, membership, next_join
from protocols.consumer.classic.membership import (
    ask,
    forget_coordinator,
    invalid_assignor,
    request_rejoin,
    reset_by,
)
from protocols.consumer.classic.phases import (
    AwaitingMetadata,
    JoinFailed,
    Joining,
    Reaction,
    Synced,
)
from protocols.consumer.classic.state import (
    Api,
    ClientState,
    Consumer,
    Generation,
    InFlight,
    Membership,
)
from protocols.consumer.clients import LeaderMetadata
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.requests import on_reads
from protocols.facts import AssignmentWarning, AssignorFailed
from protocols.machine import Report, Step
from protocols.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

NOTHING_ASSIGNED = CheckedAssignment({}, ())

_FATAL = frozenset({ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_AUTHORIZATION_FAILED})
_FATAL_TO_JOIN = _FATAL | {
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.UNSUPPORTED_VERSION,
}
"""Errors that have their own exception; other unexpected errors become a KafkaException."""


def offer(state: ClientState, consumer: Consumer, assignors: int, now: int) -> Step[ClientState]:
    """Send JoinGroup with all assignors, or with the first of them if others follow each with one more.

    Source: ``AbstractCoordinator.sendJoinGroupRequest``; aiokafka ``perform_group_join``.
    """
    offers = assignors if consumer.profile.joins_for_each_assignor else None
    settings = consumer.settings
    request = JoinGroupRequest(
        group_id=consumer.group_id,
        session_timeout_ms=settings.session_timeout_ms,
        rebalance_timeout_ms=consumer.rebalance_timeout_ms,
        member_id=state.generation.member_id,
        group_instance_id=settings.group_instance_id,
        protocols=_protocols(state, consumer)[:offers],
        reason=(state.rejoin or "")[:255],
    )
    return ask(replace(state, future=Joining(offers=offers)), consumer, Api.JOIN, request, now)


def _protocols(state: ClientState, consumer: Consumer) -> tuple[Protocol, ...]:
    topics = frozenset(state.subscribed)
    return tuple(
        Protocol(
            assignor.name,
            Subscription(
                topics=state.subscribed,
                user_data=assignor.subscription_user_data(topics),
                owned_partitions=tuple(sorted(state.assignment)),
                generation_id=state.generation.id,
                rack_id=consumer.settings.client_rack or None,
            ),
        )
        for assignor in consumer.assignors
    )


def _offers_more(
    state: ClientState, consumer: Consumer, error: ErrorCode, now: int
) -> Step[ClientState] | None:
    """Return the next JoinGroup, whatever the response to this one says; None: this was the last one."""
    joining = state.future
    if not isinstance(joining, Joining) or error is ErrorCode.MEMBER_ID_REQUIRED:
        return None
    if joining.offers is None or joining.offers >= len(consumer.assignors):
        return None
    return offer(state, consumer, joining.offers + 1, now)


def _fail(
    state: ClientState,
    exception: ExceptionName,
    reaction: Reaction,
    error: ErrorCode = ErrorCode.NONE,
) -> ClientState:
    return replace(state, future=JoinFailed(exception, reaction, error))


def on_join_response(
    state: ClientState,
    consumer: Consumer,
    flight: InFlight,
    response: JoinGroupResponse,
    now: int,
) -> Step[ClientState]:
    """Handle a JoinGroup response."""
    error = response.error
    more = _offers_more(state, consumer, error, now)
    if more is not None:
        return more
    if error is not ErrorCode.NONE:
        state = next_join.refused(state, consumer, error)
    match error:
        case ErrorCode.NONE:
            return _joined(state, consumer, response, now)
        case ErrorCode.MEMBER_ID_REQUIRED:
            state = replace(state, generation=Generation(member_id=response.member_id))
            reason = f"need to re-join with the given member-id: {response.member_id}"
            state = request_rejoin(state, reason)
            return Step(_fail(state, ExceptionName.MEMBER_ID_REQUIRED, Reaction.AT_ONCE, error))
        case ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            exception = ExceptionName.COORDINATOR_LOAD_IN_PROGRESS
            then = Reaction.LATER if consumer.profile.waits_for_loading else Reaction.THROW
            return Step(_fail(state, exception, then, error))
        case ErrorCode.REBALANCE_IN_PROGRESS:
            exception = ExceptionName.REBALANCE_IN_PROGRESS
            return Step(_fail(state, exception, Reaction.AT_ONCE, error))
        case ErrorCode.UNKNOWN_MEMBER_ID:
            failed = _fail(state, ExceptionName.UNKNOWN_MEMBER_ID, Reaction.AT_ONCE, error)
            if flight.generation != state.generation:
                return Step(failed)
            return reset_by(failed, error.name, "JOIN_GROUP", keep_member_id=False)
    if error in LOSES_COORDINATOR:
        return _coordinator_gone(state, consumer, error, "JoinGroup", now)
    exception = exception_name(error) if error in _FATAL_TO_JOIN else ExceptionName.KAFKA
    return Step(_fail(state, exception, Reaction.THROW, error))


def _coordinator_gone(
    state: ClientState, consumer: Consumer, error: ErrorCode, api: str, now: int
) -> Step[ClientState]:
    failed = _fail(state, exception_name(error), Reaction.LATER, error)
    if not isinstance(state.coordinator, Known):
        return Step(failed)
    return forget_coordinator(failed, consumer, f"{api} answered {error.name}", now)


def _joined(
    state: ClientState, consumer: Consumer, response: JoinGroupResponse, now: int
) -> Step[ClientState]:
    if state.membership is not Membership.PREPARING_REBALANCE:
        return Step(_fail(state, ExceptionName.UNJOINED_GROUP, Reaction.LATER))
    generation = Generation(response.generation_id, response.member_id, response.protocol_name)
    state = replace(state, membership=Membership.COMPLETING_REBALANCE, generation=generation)
    step = heartbeat.on_joined(state, consumer, now)
    if response.leader == response.member_id:
        return step.then(lambda s: on_leader_elected(s, consumer, response, now))
    return step.then(lambda s: _send_sync(s, consumer, NOTHING_ASSIGNED, now))


# -- the leader ---------------------------------------------------------------------------------


def on_leader_elected(
    state: ClientState, consumer: Consumer, response: JoinGroupResponse, now: int
) -> Step[ClientState]:
    """Act as leader: watch the topics of all members, run the assignor, send the result.

    The leader first waits for metadata, by its profile (:class:`LeaderMetadata`).
    """
    wanted = frozenset(topic for member in response.members for topic in member.metadata.topics)
    state = membership.watch_topics(state, consumer, wanted)
    if state.future != AwaitingMetadata(response) and _awaits_metadata(state, consumer, wanted):
        waiting = replace(state, future=AwaitingMetadata(response))
        return _requested(waiting, consumer, now)
    step = Step(_watching(replace(state, future=Joining()), consumer, wanted))
    if consumer.profile.leader_metadata is LeaderMetadata.BESIDE:
        step = step.then(lambda s: _requested(s, consumer, now))
    if response.skip_assignment:
        return step.then(lambda s: _send_sync(s, consumer, NOTHING_ASSIGNED, now))
    return step.then(lambda s: _assign(s, consumer, response, now))


def _awaits_metadata(state: ClientState, consumer: Consumer, wanted: frozenset[str]) -> bool:
    """Return whether the leader waits for new metadata before it assigns these topics."""
    match consumer.profile.leader_metadata:
        case LeaderMetadata.UNKNOWN:
            return any(topic not in state.metadata.topics for topic in wanted)
        case LeaderMetadata.FRESH:
            return True
        case LeaderMetadata.BESIDE:
            return False


def _requested(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    if consumer.profile.leader_metadata is LeaderMetadata.FRESH:
        return on_reads(state, lambda reads: metadata.request_now(reads, consumer, now))
    return membership.request_metadata(state, consumer, now)


def _watching(state: ClientState, consumer: Consumer, wanted: frozenset[str]) -> ClientState:
    """Return the state of a leader that will join again when the metadata of its assignment change.

    A leader that assigns beside its request keeps the snapshot that it has: topics of other members
    are not in it (kafka-python ``_perform_assignment``).
    """
    profile = consumer.profile
    if profile.every_member_watches:
        return state
    if profile.leader_metadata is LeaderMetadata.BESIDE:
        return replace(state, leader_snapshot=state.snapshot)
    watched = wanted.union(state.subscribed)
    snapshot = membership.snapshot(watched, state.metadata, consumer)
    return replace(state, snapshot=snapshot, leader_snapshot=snapshot)


def _assign(
    state: ClientState, consumer: Consumer, response: JoinGroupResponse, now: int
) -> Step[ClientState]:
    assignor = consumer.assignor(response.protocol_name)
    if assignor is None:
        invalid = invalid_assignor(consumer, response.protocol_name)
        failed = JoinFailed(invalid.exception, Reaction.THROW, message=invalid.message)
        return Step(replace(state, future=failed))
    subscriptions = {
        member.member_id: replace(member.metadata, group_instance_id=member.group_instance_id)
        for member in response.members
    }
    try:
        checked = run_assignor(assignor, _topics(state, subscriptions), subscriptions)
    except AssignorDefectError as defect:
        return _assignor_failed(state, assignor, str(defect), ExceptionName.KAFKA)
    violation = _violation(consumer, assignor, subscriptions, checked.assignment)
    if violation:
        return _assignor_failed(state, assignor, violation, ExceptionName.ILLEGAL_STATE)
    given_twice = tuple(
        Report(
            AssignmentWarning(
                assignor=assignor.name,
                generation=state.generation.id,
                partition=given.partition,
                member_ids=given.members,
            )
        )
        for given in checked.given_twice
    )
    step = _send_sync(state, consumer, checked, now)
    return Step(step.state, (*given_twice, *step.effects))


def _assignor_failed(
    state: ClientState, assignor: Assignor, message: str, exception: ExceptionName
) -> Step[ClientState]:
    """Throw from poll, because the leader's own assignor failed."""
    failed = Report(AssignorFailed(assignor=assignor.name, message=message))
    return Step(_fail(state, exception, Reaction.THROW), (failed,))


def _violation(
    consumer: Consumer,
    assignor: Assignor,
    subscriptions: Mapping[str, Subscription],
    assignment: Assignment,
) -> str | None:
    """Return how a custom cooperative assignor broke the rules; built-in ones are exempt.

    Source: ``ConsumerCoordinator.validateCooperativeAssignment``.
    """
    if consumer.protocol is not RebalanceProtocol.COOPERATIVE:
        return None
    if is_built_in(assignor):
        return None
    try:
        check_cooperative(subscriptions, assignment)
    except CooperativeViolationError as violation:
        return str(violation)
    return None


def _topics(state: ClientState, subscriptions: Mapping[str, Subscription]) -> Topics:
    names = sorted({topic for wanted in subscriptions.values() for topic in wanted.topics})
    known = [state.metadata.topics[name] for name in names if name in state.metadata.topics]
    return Topics(
        partition_counts={topic.name: len(topic.leaders) for topic in known},
        racks={topic.name: topic.racks for topic in known if topic.racks},
    )


def _send_sync(
    state: ClientState,
    consumer: Consumer,
    checked: CheckedAssignment,
    now: int,
) -> Step[ClientState]:
    if not isinstance(state.coordinator, Known):
        return Step(_fail(state, ExceptionName.COORDINATOR_NOT_AVAILABLE, Reaction.LATER))
    generation = state.generation
    request = SyncGroupRequest(
        group_id=consumer.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=consumer.settings.group_instance_id,
        protocol_name=generation.protocol,
        assignments=tuple(checked.assignment.items()),
        user_data=tuple(checked.user_data.items()),
    )
    return ask(state, consumer, Api.SYNC, request, now)


# -- SyncGroup ----------------------------------------------------------------------------------


def on_sync_response(
    state: ClientState,
    consumer: Consumer,
    flight: InFlight,
    response: SyncGroupResponse,
    now: int,
) -> Step[ClientState]:
    """Handle a SyncGroup response; the application thread applies the assignment later."""
    error = response.error
    current = flight.generation == state.generation
    match error:
        case ErrorCode.NONE:
            synced = _synced(state, response, current=current)
            return heartbeat.on_synced(synced, consumer, now)
        case ErrorCode.REBALANCE_IN_PROGRESS:
            exception = ExceptionName.REBALANCE_IN_PROGRESS
            return Step(_fail(state, exception, Reaction.AT_ONCE, error))
        case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
            failed = _fail(state, exception_name(error), Reaction.AT_ONCE, error)
            if not current:
                return Step(failed)
            keep = error in consumer.profile.keeps_id_after
            lost = next_join.lost(failed, consumer)
            return reset_by(lost, error.name, "SYNC_GROUP", keep_member_id=keep)
    if error in LOSES_COORDINATOR:
        return _coordinator_gone(state, consumer, error, "SyncGroup", now)
    exception = exception_name(error) if error in _FATAL else ExceptionName.KAFKA
    return Step(_fail(state, exception, Reaction.THROW, error))


def _synced(state: ClientState, response: SyncGroupResponse, *, current: bool) -> ClientState:
    if not current or state.membership is not Membership.COMPLETING_REBALANCE:
        return _fail(
            state, ExceptionName.ILLEGAL_GENERATION, Reaction.AT_ONCE, ErrorCode.ILLEGAL_GENERATION
        )
    return replace(
        state,
        membership=Membership.STABLE,
        rejoin=None,
        future=Synced(
            response.assignment,
            state.generation.id,
            state.generation.protocol,
            response.user_data,
        ),
    )
