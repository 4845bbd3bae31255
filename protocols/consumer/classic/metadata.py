"""What new metadata mean for a member of a classic group: pattern, snapshot, rejoin (J3, J4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assignors.types import TopicPartition
from protocols.consumer import metadata as shared
from protocols.consumer.asking import on_reads
from protocols.consumer.classic.membership import request_rejoin
from protocols.consumer.classic.values import ClientState, Consumer, Membership, Snapshot
from protocols.consumer.reader import Metadata
from protocols.machine import Step


def refresh(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for metadata if it is due and nothing is in flight."""
    return on_reads(state, lambda reads: shared.refresh(reads, consumer, now))


def want(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for an update before the age limit; it leaves after the back-off."""
    return on_reads(state, lambda reads: shared.want(reads, consumer, now))


def watch(state: ClientState, consumer: Consumer, group_topics: frozenset[str]) -> ClientState:
    """Watch these topics of the group besides the client's own, as its leader does."""
    topics = consumer.topics
    watched = None if topics is None else tuple(sorted(group_topics.union(topics)))
    reads = replace(state.reads, metadata=replace(state.metadata, watched=watched))
    return replace(state, group_topics=group_topics, reads=reads)


def look(state: ClientState, consumer: Consumer) -> ClientState:
    """Take note of a new version (step 2a): the pattern, the snapshot, and what they change."""
    metadata = state.metadata
    if metadata.seen == metadata.version:
        return state
    subscribed = subscription(consumer, metadata)
    state = replace(
        state,
        reads=replace(state.reads, metadata=replace(metadata, seen=metadata.version)),
        subscribed=subscribed,
        snapshot=snapshot(state.group_topics.union(subscribed), metadata, consumer),
    )
    return changed(state)


def subscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Go on with another subscription by names: the next poll joins with it (J3)."""
    state = watch(state, consumer, state.group_topics)
    state = replace(state, subscribed=subscription(consumer, state.metadata))
    if state.rejoin is None and state.membership is Membership.UNJOINED:
        state = request_rejoin(state, "")
    return want(changed(state), consumer, now)


def unread(state: ClientState) -> frozenset[TopicPartition]:
    """Return what is still assigned of topics that the subscription has not any more."""
    return frozenset(tp for tp in state.assignment if tp.topic not in state.subscribed)


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
    matches = consumer.matches
    return () if matches is None else tuple(sorted(filter(matches, metadata.topics)))


def snapshot(topics: Iterable[str], metadata: Metadata, consumer: Consumer) -> Snapshot:
    """Return what the leader compares: partition counts, and racks if the client has one.

    Racks are kept in the order of the replicas, so an offline one is no change (J4).
    """
    known = (metadata.topics[name] for name in sorted(topics) if name in metadata.topics)
    racked = bool(consumer.settings.client_rack)
    return tuple((topic.name, len(topic.leaders), topic.racks if racked else ()) for topic in known)
