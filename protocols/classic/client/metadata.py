"""The client's copy of topics and leaders: when to ask, what a change means (J3, J4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from assignors.types import TopicPartition
from protocols.classic.client.membership import request_rejoin
from protocols.classic.client.requests import MS, backoff_us, take_number
from protocols.classic.client.values import ClientState, Consumer, Metadata, Snapshot
from protocols.messages import (
    UNKNOWN_EPOCH,
    LeaderAndEpoch,
    MetadataRequest,
    MetadataResponse,
    TopicDescription,
)
from protocols.step import Send, SetTimer, Step

METADATA = "metadata"
"""Timer: metadata reached its age limit, or a back-off ended."""


def due_us(metadata: Metadata, consumer: Consumer) -> int:
    """Return when the next request may leave."""
    if metadata.wanted or metadata.fetched_us is None:
        return metadata.retry_us
    age_limit = metadata.fetched_us + consumer.settings.metadata_max_age_ms * MS
    return max(metadata.retry_us, age_limit)


def refresh(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for metadata if it is due and nothing is in flight (``NetworkClient`` does, each pump)."""
    metadata = state.metadata
    if metadata.in_flight is not None:
        return Step(state)
    due = due_us(metadata, consumer)
    if now < due:
        return Step(state, (SetTimer(METADATA, due),))
    brokers = metadata.brokers or consumer.brokers
    node = brokers[metadata.attempt % len(brokers)]
    number, state = take_number(state)
    limit = now + consumer.settings.request_timeout_ms * MS
    request = MetadataRequest(topics=_watched(state, consumer))
    asking = replace(metadata, in_flight=number, retry_us=limit, asked=request.topics)
    return Step(
        replace(state, metadata=asking), (Send(node, request, number), SetTimer(METADATA, limit))
    )


def _watched(state: ClientState, consumer: Consumer) -> tuple[str, ...] | None:
    if consumer.topics is None:
        return None
    return tuple(sorted(state.group_topics.union(consumer.topics)))


def covers_all(state: ClientState, consumer: Consumer) -> bool:
    """Say whether the last request asked for all that is watched now."""
    return state.metadata.asked == _watched(state, consumer)


def want(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for an update before the age limit; it leaves after the back-off."""
    metadata = state.metadata
    if metadata.wanted or metadata.in_flight is not None:
        return refresh(state, consumer, now)
    wait = backoff_us(consumer, "metadata", metadata.attempt, now)
    last = metadata.fetched_us if metadata.fetched_us is not None else now - wait
    wanted = replace(metadata, wanted=True, retry_us=max(now, last + wait))
    return refresh(replace(state, metadata=wanted), consumer, now)


def failed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Try again at another broker after the back-off."""
    metadata = state.metadata
    retry = now + backoff_us(consumer, "metadata", metadata.attempt, now)
    after = replace(
        metadata, in_flight=None, wanted=True, attempt=metadata.attempt + 1, retry_us=retry
    )
    return Step(replace(state, metadata=after), (SetTimer(METADATA, retry),))


def received(
    state: ClientState, consumer: Consumer, response: MetadataResponse, now: int
) -> Step[ClientState]:
    """Take the new copy; poll looks at its topics (2a), and then follows its leaders (5.2)."""
    topics = {topic.name: topic for topic in response.topics}
    incomplete = _incomplete(topics.values()) or any(
        name not in topics for name in consumer.topics or ()
    )
    before = state.metadata
    attempt = before.attempt + 1 if incomplete else 0
    outdated = not covers_all(state, consumer)
    wait = 0 if outdated else backoff_us(consumer, "metadata", attempt, now)
    after = Metadata(
        topics=topics,
        version=before.version + 1,
        seen=before.seen,
        fetched_us=now,
        wanted=incomplete or outdated,
        asked=before.asked,
        attempt=attempt,
        retry_us=now + wait,
        brokers=response.brokers,
    )
    recreated = _recreated(before.topics, topics)
    consumer.positions.leaders_changed(leaders_of(topics.values()), recreated)
    state = replace(state, metadata=after)
    return Step(state, (SetTimer(METADATA, due_us(after, consumer)),))


def _incomplete(topics: Iterable[TopicDescription]) -> bool:
    return any(leader < 0 for topic in topics for leader in topic.leaders)


def _recreated(
    before: dict[str, TopicDescription], after: dict[str, TopicDescription]
) -> frozenset[str]:
    """Return the topics that are not what they were: their leader epochs begin anew."""
    return frozenset(
        name
        for name, topic in after.items()
        if name not in before or before[name].topic_id != topic.topic_id
    )


def leaders_of(topics: Iterable[TopicDescription]) -> dict[TopicPartition, LeaderAndEpoch]:
    """Return who leads each partition, in which leader epoch."""
    found: dict[TopicPartition, LeaderAndEpoch] = {}
    for topic in topics:
        found |= _leaders_of(topic)
    return found


@lru_cache(maxsize=256)  # all members of a group are told the same
def _leaders_of(topic: TopicDescription) -> dict[TopicPartition, LeaderAndEpoch]:
    epochs = topic.leader_epochs or (UNKNOWN_EPOCH,) * len(topic.leaders)
    return {
        TopicPartition(topic.name, number): LeaderAndEpoch(*leader)
        for number, leader in enumerate(zip(topic.leaders, epochs, strict=True))
    }


def heard_epochs(
    state: ClientState, consumer: Consumer, epochs: Iterable[tuple[TopicPartition, int]], now: int
) -> Step[ClientState]:
    """Ask for an update if a leader epoch came by that is newer than what metadata told.

    Source: ``Metadata.updateLastSeenEpochIfNewer``.
    """
    newer = [tp for tp, epoch in epochs if consumer.positions.heard_epoch(tp, epoch)]
    return want(state, consumer, now) if newer else Step(state)


def look(state: ClientState, consumer: Consumer) -> ClientState:
    """Take note of a new version (step 2a): the pattern, the snapshot, and what they change."""
    metadata = state.metadata
    if metadata.seen == metadata.version:
        return state
    subscribed = subscription(consumer, metadata)
    state = replace(
        state,
        metadata=replace(metadata, seen=metadata.version),
        subscribed=subscribed,
        snapshot=snapshot(state.group_topics.union(subscribed), metadata, consumer),
    )
    return changed(state)


def changed(state: ClientState) -> ClientState:
    """Ask for a rejoin if the metadata or the subscription demand one (J3, J4).

    One that is asked for already keeps its reason.
    """
    if state.rejoin is not None:
        return state
    if state.leader_snapshot is not None and state.leader_snapshot != state.snapshot:
        return request_rejoin(state, "cached metadata has changed")
    if state.joined_with is not None and state.joined_with != state.subscribed:
        return request_rejoin(state, "subscription has changed")
    return state


def subscription(consumer: Consumer, metadata: Metadata) -> tuple[str, ...]:
    """Return the topics subscribed to: those listed, or those the pattern matches."""
    if consumer.topics is not None:
        return tuple(sorted(set(consumer.topics)))
    assert consumer.matches is not None, "a consumer has topics or a pattern"
    return tuple(sorted(name for name in metadata.topics if consumer.matches(name)))


def snapshot(topics: Iterable[str], metadata: Metadata, consumer: Consumer) -> Snapshot:
    """Return what the leader compares: partition counts, and racks if the client has one.

    Racks are kept in the order of the replicas, so an offline one is no change (J4).
    """
    known = (metadata.topics[name] for name in sorted(topics) if name in metadata.topics)
    racked = bool(consumer.settings.client_rack)
    return tuple((topic.name, len(topic.leaders), topic.racks if racked else ()) for topic in known)
