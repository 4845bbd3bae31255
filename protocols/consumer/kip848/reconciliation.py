"""Beginning to own what the coordinator told (``maybeReconcile``, spec kip848 3.4).

Pause what goes, commit, onPartitionsRevoked, take what comes, onPartitionsAssigned, acknowledge.
A newer target waits until the reconciliation under way has ended.
"""

from __future__ import annotations

from dataclasses import replace

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.asking import on_reads
from protocols.consumer.backoff import MS
from protocols.consumer.kip848 import applying, commits
from protocols.consumer.kip848.membership import (
    NO_ASSIGNMENT,
    Ids,
    LocalAssignment,
    MemberState,
    Reconciling,
    Stage,
)
from protocols.consumer.kip848.subscription import unread
from protocols.consumer.kip848.telling import changed
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.consumer.offsets import all_consumed
from protocols.machine import Step


def advance(state: ClientState, consumer: Consumer, now: int, *, polled: bool) -> Step[ClientState]:
    """Begin a reconciliation if there is one to begin and nothing forbids it.

    *polled*: the application is in poll, so that its positions may be committed.
    """
    member = state.member
    if member.state is not MemberState.RECONCILING or member.reconciled:
        return Step(state)
    if member.reconciling is not None:
        return Step(state)
    names = {topic.topic_id: topic.name for topic in state.metadata.topics.values()}
    known = tuple(told for told in member.target.partitions if told.topic_id in names)
    step = Step(state)
    if known != member.target.partitions:
        step = on_reads(state, lambda reads: metadata.want(reads, consumer, now))
    resolved = LocalAssignment(member.target.epoch, known)
    if member.current != NO_ASSIGNMENT and known == member.current.partitions:
        return step.then(lambda s: _owned_already(s, resolved))
    found = _difference(state, resolved, names)
    if not polled and (consumer.settings.enable_auto_commit or found.revoked):
        return step
    return step.then(lambda s: _begin(s, consumer, found, now))


def _owned_already(state: ClientState, resolved: LocalAssignment) -> Step[ClientState]:
    """Acknowledge, once for each target, that all of it that can be resolved is owned."""
    member = state.member
    if member.current.epoch == resolved.epoch:
        return Step(state)
    owning = member._replace(current=resolved)
    return changed(state, owning.to(MemberState.ACKNOWLEDGING))


def _difference(
    state: ClientState, resolved: LocalAssignment, names: dict[str, str]
) -> Reconciling:
    assigned = _by_name(resolved.partitions, names)
    owned = frozenset(state.assignment)
    return Reconciling(
        stage=Stage.COMMITTING,
        resolved=resolved,
        assigned=assigned,
        revoked=tuple(sorted(owned.difference(assigned))),
        added=tuple(tp for tp in assigned if tp not in owned),
    )


def _by_name(told: Ids, names: dict[str, str]) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(names[topic_id], number)
            for topic_id, numbers in told
            for number in numbers
        )
    )


def _begin(
    state: ClientState, consumer: Consumer, found: Reconciling, now: int
) -> Step[ClientState]:
    """Pause what goes and commit all positions, of what stays too (steps 6 and 7)."""
    state = replace(
        state.becoming(state.member._replace(reconciling=found)),
        pending=unread(state, consumer).union(found.revoked),
    )
    settings = consumer.settings
    if not settings.enable_auto_commit or not all_consumed(consumer):
        return applying.committed(state, consumer, now)
    deadline = now + settings.max_poll_interval_ms * MS
    return commits.automatic(state, consumer, "prepare", deadline, now)
