"""Requests to the coordinator, and the two queues between the application and background threads.

Source: ``NetworkClientDelegate``, ``CoordinatorRequestManager.markCoordinatorUnknown``,
``ApplicationEventHandler``, ``BackgroundEventHandler``.
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.types import TopicPartition
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.kip848.state import Api, ClientState, Consumer, InFlight
from protocols.consumer.kip848.threads import (
    CallbackNeeded,
    Commit,
    Event,
    Lag,
    Purpose,
)
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.reader import MS
from protocols.consumer.requests import send, take_number
from protocols.facts import CommitKind, CoordinatorLost
from protocols.machine import Report, SetTimer, Step, Unheard
from protocols.messages import Message
from protocols.messages.groups import TopicIds
from protocols.values import replace

BY_TOPIC_ID = 10
"""The version of OffsetCommit and OffsetFetch that members use: topics are named by id."""

BY_NAME = 9
"""The version that they use while their metadata lack the id of a topic."""


def naming(state: ClientState, partitions: Iterable[TopicPartition]) -> tuple[int, TopicIds]:
    """Return the version of OffsetCommit or OffsetFetch for these partitions, and their topics' ids.

    Source: ``CommitRequestManager``, ``OffsetFetchRequestState.toUnsentRequest``.
    """
    topics = state.metadata.topics
    names = dict.fromkeys(partition.topic for partition in partitions)
    if not all(name in topics for name in names):
        return BY_NAME, ()
    return BY_TOPIC_ID, tuple([(name, topics[name].topic_id) for name in names])


def ask(
    state: ClientState,
    consumer: Consumer,
    api: Api,
    message: Message,
    now: int,
    *,
    commit: Commit | None = None,
) -> Step[ClientState]:
    """Send a request to the coordinator, which must be known, and record it as in flight."""
    known = state.coordinator
    assert isinstance(known, Known), "a group request needs a coordinator"
    deadline = now + consumer.settings.request_timeout_ms * MS
    return send(state, message, InFlight(api, known.broker, deadline, commit))


def mark_unknown(state: ClientState, reason: str, now: int) -> Step[ClientState]:
    """Mark the coordinator unknown, to look it up at once (``markCoordinatorUnknown``).

    Only a back-off after the response that named it may still run (``RequestState.canSendRequest``).
    Unlike in the classic client the connection stays open, so requests in flight get responses.
    """
    if isinstance(state.coordinator, Unknown):
        return Step(state)
    after = replace(state, coordinator=Unknown(retry_us=max(now, state.lookup_again_us)))
    return Step(after, (Report(CoordinatorLost(reason=reason)),))


def queue_automatic_commit(
    state: ClientState,
    consumer: Consumer,
    kind: CommitKind,
    deadline_us: int | None,
    only: frozenset[TopicPartition] | None = None,
) -> ClientState:
    """Queue a commit of what automatic commits cover, if that is anything.

    *kind*: ``auto`` or ``prepare``; *deadline_us*: until when it is retried, None: never; *only*:
    the partitions that it covers, None: all.
    """
    offsets = automatic_offsets(consumer, only)
    if not offsets:
        return state
    key, state = take_number(state)
    commit = Commit(key, kind, offsets, deadline_us)
    return replace(state, commits=(*state.commits, commit))


BACKGROUND = "background"
"""Timer: the background thread takes the events that are queued."""


def queue(state: ClientState, consumer: Consumer, event: Event, now: int) -> Step[ClientState]:
    """Queue an event and wake the background thread, unless its wake-up is already set."""
    events = (*state.events, event)
    if state.events_us is not None:
        return Step(replace(state, events=events))
    consumer.queue_times.begin(now)
    when = now + consumer.lags(Lag.EVENT, now)
    return Step(replace(state, events=events, events_us=when), (SetTimer(BACKGROUND, when),))


def advance_wakeup(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Move the wake-up to the end of this round: a response has woken the thread."""
    if state.events_us is None:
        return Step(state)
    when = now + consumer.lags(Lag.ROUND, now)
    if when >= state.events_us:
        return Step(state)
    return Step(replace(state, events_us=when), (SetTimer(BACKGROUND, when),))


def pass_over(
    state: ClientState, listener: str, partitions: tuple[TopicPartition, ...]
) -> Step[ClientState]:
    """Go on without the call, as the application has no listener (``hasRebalanceListener``)."""
    return Step(state, (Unheard(listener, tuple(sorted(partitions))),))


def request_call(
    state: ClientState,
    listener: str,
    partitions: tuple[TopicPartition, ...],
    purpose: Purpose,
    assignment: tuple[TopicPartition, ...] = (),
) -> ClientState:
    """Request that the application calls its listener; *assignment*: what it applies before."""
    needed = CallbackNeeded(listener, tuple(sorted(partitions)), purpose, assignment)
    return replace(state, needed=(*state.needed, needed))
