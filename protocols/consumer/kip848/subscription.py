"""What the client subscribes to, and which topics it watches for that."""

from __future__ import annotations

from dataclasses import replace

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.asking import on_reads
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.consumer.reader import Metadata
from protocols.machine import Step


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


def change(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on with another subscription: the next heartbeat names it, the next poll joins if need be.

    What is owned of topics that it has not is not read any more, but stays owned until the
    coordinator takes it back; so long their names have to be known (``assignedTopicNamesCache``).
    """
    assert consumer.topics is not None, "only names take the place of another subscription"
    watched = tuple(sorted({*consumer.topics, *(tp.topic for tp in state.assignment)}))
    known = replace(state.metadata, watched=watched)
    reads = replace(state.reads, metadata=known)
    state = replace(state, reads=reads, subscribed=_topics(consumer, known))
    state = replace(state, pending=state.pending | unread(state, consumer))
    return on_reads(state, lambda reads: metadata.want(reads, consumer, now))


def unread(state: ClientState, consumer: Consumer) -> frozenset[TopicPartition]:
    """Return what is owned of topics that the subscription, if it is by names, has not."""
    if consumer.topics is None or state.subscribed is None:
        return frozenset()
    return frozenset(tp for tp in state.assignment if tp.topic not in state.subscribed)


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
