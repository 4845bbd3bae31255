"""The client's copy of topics and leaders: when it is requested, how it is updated.

Source: ``Metadata``, ``ConsumerMetadata``, ``NetworkClient.DefaultMetadataUpdater``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import gt

from assignors.types import TopicPartition
from protocols.consumer.lookup import least_loaded
from protocols.consumer.reader import MS, NEVER, Metadata, Reader, Reads, backoff_us, next_tick
from protocols.machine import Send, SetTimer, Step
from protocols.messages import (
    UNKNOWN_EPOCH,
    LeaderAndEpoch,
    MetadataRequest,
    MetadataResponse,
    TopicDescription,
)
from protocols.values import replace

METADATA = "metadata"
"""Timer: metadata reached its age limit, or a back-off ended."""


def due_us(metadata: Metadata, reader: Reader) -> int:
    """Return when (us) the next request may be sent."""
    if metadata.wanted or metadata.fetched_us is None:
        return metadata.retry_us
    return max(metadata.retry_us, _next_refresh_us(metadata, metadata.fetched_us, reader))


def _next_refresh_us(metadata: Metadata, fetched_us: int, reader: Reader) -> int:
    """Return when (us) the next periodic request is due."""
    if not reader.profile.refreshes_in_steps:
        return fetched_us + reader.settings.metadata_max_age_ms * MS
    return NEVER if metadata.step_us is None else metadata.step_us


def refresh(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Request metadata if they are due and no request is in flight.

    The timer runs already: whatever changes when they are due sets it.
    """
    metadata = reads.metadata
    if metadata.in_flight is not None or now < due_us(metadata, reader):
        return Step(reads)
    node = least_loaded(reader, reads, now, attempt=metadata.attempt)
    if node is None:
        ready = reader.fetcher.earliest_ready_us(metadata.brokers or reader.brokers)
        waiting = replace(metadata, wanted=True, retry_us=ready)
        return Step(replace(reads, metadata=waiting), (SetTimer(METADATA, ready),))
    if metadata.brokers:  # the connections to bootstrap servers are others
        reader.fetcher.connect(node, now)
    number, reads = reads.numbered()
    limit = now + reader.settings.request_timeout_ms * MS
    request = request_of(metadata)
    asking = replace(
        _stepped(metadata, reader, now),
        in_flight=number,
        asked_broker=node,
        retry_us=limit,
        asked=metadata.watched,
    )
    return Step(
        replace(reads, metadata=asking), (Send(node, request, number), SetTimer(METADATA, limit))
    )


def _stepped(metadata: Metadata, reader: Reader, now: int) -> Metadata:
    """Return the metadata of which an update is sent now, with its next step."""
    interval_us = reader.settings.metadata_max_age_ms * MS
    if not (reader.profile.refreshes_in_steps and interval_us):
        return metadata
    if metadata.step_us is None:
        return replace(metadata, step_us=now + interval_us)
    if now < metadata.step_us:
        return metadata
    return replace(metadata, step_us=next_tick(metadata.step_us, interval_us, now), is_step=True)


def request_of(metadata: Metadata) -> MetadataRequest:
    """Return the request for the topics watched (``ConsumerMetadata.newMetadataRequestBuilder``)."""
    if metadata.by_id:
        return MetadataRequest(topics=(), topic_ids=metadata.watched)
    return MetadataRequest(topics=metadata.watched)


def covers_all(metadata: Metadata) -> bool:
    """Return whether the last request covered all topics that are watched now."""
    return metadata.asked == metadata.watched


def request_now(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Request an update without a back-off."""
    if reads.metadata.in_flight is not None:
        return Step(reads)
    wanted = replace(reads.metadata, wanted=True, retry_us=now)
    return refresh(replace(reads, metadata=wanted), reader, now)


def request_update(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Request an update before the age limit; the request is sent after the back-off."""
    metadata = reads.metadata
    if metadata.wanted or metadata.in_flight is not None:
        return refresh(reads, reader, now)
    wait = _pause_us(reader, metadata.equivalent, now)
    last = metadata.fetched_us if metadata.fetched_us is not None else now - wait
    due = max(now, last + wait)
    asking = replace(reads, metadata=replace(metadata, wanted=True, retry_us=due))
    if now < due:
        return Step(asking, (SetTimer(METADATA, due),))
    return refresh(asking, reader, now)


def with_seen_topics(metadata: Metadata, reader: Reader, *, others: bool) -> Metadata:
    """Return the metadata with this version applied by poll; *others*: it changed the subscription.

    If other topics match the client's pattern, metadata are requested again without a back-off; the
    response to a request in flight does not count (``Metadata.requestUpdateForNewTopics``).
    """
    seen = replace(metadata, seen=metadata.version, step_seen=True)
    if not others or reader.matches is None or reader.profile.in_background:
        return seen
    if metadata.in_flight is not None:
        return replace(seen, asked=())
    return replace(seen, wanted=True, retry_us=0)


def on_failure(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Retry at another broker after the back-off."""
    metadata = reads.metadata
    retry = now + backoff_us(reader, "metadata", metadata.attempt, now)
    after = replace(
        metadata,
        in_flight=None,
        asked_broker=None,
        wanted=True,
        attempt=metadata.attempt + 1,
        retry_us=retry,
    )
    return Step(replace(reads, metadata=after), (SetTimer(METADATA, retry),))


def on_timer(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Request metadata, because of the age limit or because the last request timed out."""
    if reads.metadata.in_flight is not None:
        reader.fetcher.drop_silent(reads.metadata.asked_broker)
        return on_failure(reads, reader, now)
    return refresh(reads, reader, now)


def on_response(reads: Reads, reader: Reader, response: MetadataResponse, now: int) -> Step[Reads]:
    """Apply a response; the next poll applies its topics, then its leaders."""
    topics = {topic.name: topic for topic in response.topics}
    incomplete = any(map(_lacks_a_leader, response.topics)) or any(
        name not in topics for name in reader.topics or ()
    )
    before = reads.metadata
    reader.fetcher.answered(before.asked_broker)
    attempt = before.attempt + 1 if incomplete else 0
    outdated = not covers_all(before)
    equivalent = _equivalent(before, topics, reader, now)
    wait = 0 if outdated else _pause_us(reader, equivalent, now)
    after = replace(
        before,
        topics=topics,
        version=before.version + 1,
        fetched_us=now,
        wanted=incomplete or outdated,
        in_flight=None,
        asked_broker=None,
        is_step=False,
        step_seen=before.step_seen and not before.is_step,
        attempt=attempt,
        equivalent=equivalent,
        retry_us=now + wait,
        brokers=response.brokers,
    )
    recreated = _recreated(before.topics, topics)
    known = leaders_of(topics.values(), epochs=reader.profile.knows_epochs)
    reader.positions.update_leaders(known, recreated)
    return Step(replace(reads, metadata=after), (SetTimer(METADATA, due_us(after, reader)),))


def _pause_us(reader: Reader, equivalent: int, now: int) -> int:
    """Return the least time between a response and the next request (``Metadata.timeToAllowUpdate``)."""
    return backoff_us(reader, "metadata", max(equivalent - 1, 0), now)


def _equivalent(
    before: Metadata, topics: Mapping[str, TopicDescription], reader: Reader, now: int
) -> int:
    """Return the number of equivalent responses with this one; the age limit ends a series."""
    if _brings_news(before.topics, topics):
        return 0
    fetched_us = before.fetched_us
    has_aged = fetched_us is not None and now >= _next_refresh_us(before, fetched_us, reader)
    return 1 if has_aged else before.equivalent + 1


def _brings_news(
    before: Mapping[str, TopicDescription], after: Mapping[str, TopicDescription]
) -> bool:
    """Return whether a partition is new, or has a newer leader epoch."""
    if before == after:
        return False
    for name, topic in after.items():
        old = before.get(name)
        if old is None or old.topic_id != topic.topic_id or len(old.leaders) < len(topic.leaders):
            return True
        if any(map(gt, topic.leader_epochs, old.leader_epochs)):
            return True
    return False


@lru_cache(maxsize=256)  # all members of a group get the same descriptions
def _lacks_a_leader(topic: TopicDescription) -> bool:
    return min(topic.leaders, default=0) < 0


def _recreated(
    before: dict[str, TopicDescription], after: dict[str, TopicDescription]
) -> frozenset[str]:
    """Return the topics that are new or were recreated: their leader epochs restart."""
    return frozenset(
        name
        for name, topic in after.items()
        if name not in before or before[name].topic_id != topic.topic_id
    )


def leaders_of(
    topics: Iterable[TopicDescription], *, epochs: bool = True
) -> Mapping[TopicPartition, LeaderAndEpoch]:
    """Return leader and leader epoch of each partition; *epochs*: whether the client knows these."""
    by_topic = [_leaders_of(topic, epochs) for topic in topics]
    if len(by_topic) == 1:
        return by_topic[0]
    found: dict[TopicPartition, LeaderAndEpoch] = {}
    for leaders in by_topic:
        found |= leaders
    return found


@lru_cache(maxsize=256)
def _leaders_of(topic: TopicDescription, known: bool) -> dict[TopicPartition, LeaderAndEpoch]:
    epochs = topic.leader_epochs if known else ()
    pairs = list(zip(topic.leaders, epochs or (UNKNOWN_EPOCH,) * len(topic.leaders), strict=True))
    shared = {pair: LeaderAndEpoch(*pair) for pair in dict.fromkeys(pairs)}
    return {TopicPartition(topic.name, number): shared[pair] for number, pair in enumerate(pairs)}


def note_epochs(
    reads: Reads, reader: Reader, epochs: Iterable[tuple[TopicPartition, int]], now: int
) -> Step[Reads]:
    """Request an update if a leader epoch is newer than the known one.

    Source: ``Metadata.updateLastSeenEpochIfNewer``.
    """
    newer = [tp for tp, epoch in epochs if reader.positions.update_epoch(tp, epoch)]
    return request_update(reads, reader, now) if newer else Step(reads)


def subscribed_topics(reader: Reader, metadata: Metadata) -> tuple[str, ...]:
    """Return the topics subscribed to, sorted: those listed, or those the pattern matches."""
    if reader.topics is not None:
        return tuple(sorted(set(reader.topics)))
    matches = reader.matches
    return () if matches is None else tuple(sorted(filter(matches, metadata.topics)))
