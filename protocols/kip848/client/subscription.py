"""What the client subscribes to, and which topics it watches for that."""

from __future__ import annotations

from dataclasses import replace

from protocols.client.reader import Metadata
from protocols.kip848.client.values import ClientState, Consumer


def first(consumer: Consumer) -> ClientState:
    """Return the state of a consumer that has subscribed and never polled."""
    settings = consumer.settings
    state = ClientState(
        member_id=consumer.member_id,
        poll_due_us=settings.max_poll_interval_ms * 1_000,
        autocommit_us=settings.auto_commit_interval_ms * 1_000,
    )
    watched = None if consumer.topics is None else tuple(sorted(set(consumer.topics)))
    known = replace(state.metadata, watched=watched)
    reads = replace(state.reads, metadata=known)
    return replace(state, reads=reads, subscribed=_topics(consumer, known))


def look(state: ClientState, consumer: Consumer) -> ClientState:
    """Take note of new metadata: a pattern of the client's own may match other topics now."""
    known = state.metadata
    if known.seen == known.version or state.subscribed is None:
        return state
    reads = replace(state.reads, metadata=replace(known, seen=known.version))
    return replace(state, reads=reads, subscribed=_topics(consumer, known))


def _topics(consumer: Consumer, known: Metadata) -> tuple[str, ...]:
    if consumer.topics is not None:
        return tuple(sorted(set(consumer.topics)))
    matches = consumer.matches
    return () if matches is None else tuple(sorted(filter(matches, known.topics)))
