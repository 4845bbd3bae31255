"""What the client does when one of its timers has run out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from protocols.consumer import metadata
from protocols.consumer.asking import REQUESTS, look_up, on_reads, overdue, rearm
from protocols.consumer.classic import closing, heartbeat, lookup, responses, sync_commit
from protocols.consumer.classic.values import ClientState, Consumer
from protocols.consumer.lookup import LOOKUP, Unknown
from protocols.machine import Step
from protocols.messages import coordinator_node


def _requests_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """A request timed out: its connection is closed (N8)."""
    step = Step(state)
    for broker in overdue(state, now):
        node = coordinator_node(broker)
        step = step.then(partial(responses.disconnected, consumer=consumer, node=node, now=now))
    return step.then(rearm)


def _lookup_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """The back-off of a lookup ended, or its request got no answer."""
    if not isinstance(state.coordinator, Unknown):
        return Step(state)
    if state.coordinator.lookup is not None:
        return lookup.failed(state, consumer, now)
    return look_up(state, consumer, now)


def _metadata_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Metadata reached its age limit, or a request for it got no answer."""
    return on_reads(state, lambda reads: metadata.late(reads, consumer, now))


def _heartbeat_turn(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """The heartbeat thread turns: it pumps, then looks at its clocks."""
    if state.beat is None:
        return Step(state)
    step = responses.pump(state, consumer, now)
    return step.then(lambda s: heartbeat.turn(s, consumer, now))


def _nothing(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Only whoever waits has to go on."""
    del consumer, now
    return Step(state)


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    heartbeat.HEARTBEAT: _heartbeat_turn,
    REQUESTS: _requests_late,
    LOOKUP: _lookup_late,
    metadata.METADATA: _metadata_late,
    sync_commit.COMMIT_SYNC: _nothing,
    closing.CLOSE: _nothing,
}
"""By name of the timer; those of a waiting poll are the machine's own."""
