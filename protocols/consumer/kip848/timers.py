"""What the client does when one of its timers has run out."""

from __future__ import annotations

from collections.abc import Callable

from protocols.consumer.asking import REQUESTS
from protocols.consumer.kip848 import closing, commits, heartbeat, offsets, responses, sync_commit
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.consumer.lookup import LOOKUP
from protocols.consumer.metadata import METADATA
from protocols.machine import Step


def _a_round(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Nothing but a round of the background thread."""
    del consumer, now
    return Step(state)


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    heartbeat.HEARTBEAT: _a_round,
    commits.COMMITS: _a_round,
    offsets.OFFSETS: _a_round,
    REQUESTS: responses.requests_late,
    LOOKUP: responses.lookup_late,
    METADATA: responses.metadata_late,
}
"""Timers of the background thread, by name: each is followed by a round."""

WAITS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    sync_commit.COMMIT_SYNC: sync_commit.late,
    closing.CLOSE: closing.advance,
}
"""Timers of the application thread in a call that waits; those of poll are the machine's own."""
