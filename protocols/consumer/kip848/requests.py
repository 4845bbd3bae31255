"""Requests to the coordinator, and losing it."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import send
from protocols.consumer.backoff import MS
from protocols.consumer.kip848.values import Asked, ClientState, Commit, Consumer, InFlight
from protocols.consumer.lookup import Known, Unknown
from protocols.facts import CoordinatorLost
from protocols.machine import Step, Tell
from protocols.messages import Message

BY_TOPIC_ID = 10
"""The version of OffsetCommit and OffsetFetch in which members speak: topics go by their ids."""


def ask(
    state: ClientState,
    consumer: Consumer,
    asked: Asked,
    message: Message,
    now: int,
    *,
    commit: Commit | None = None,
) -> Step[ClientState]:
    """Send a request to the coordinator, which must be known; remember that it is in flight."""
    known = state.coordinator
    assert isinstance(known, Known), "a group request needs a coordinator"
    deadline = now + consumer.settings.request_timeout_ms * MS
    return send(state, message, InFlight(asked, known.broker, deadline, commit))


def mark_unknown(state: ClientState, reason: str, now: int) -> Step[ClientState]:
    """Forget the coordinator, to look it up at once (``markCoordinatorUnknown``).

    Unlike the classic client's, its connection is kept: what is in flight there is still answered.
    """
    if isinstance(state.coordinator, Unknown):
        return Step(state)
    after = replace(state, coordinator=Unknown(retry_us=now))
    return Step(after, (Tell(CoordinatorLost(reason=reason)),))
