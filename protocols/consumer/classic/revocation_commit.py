"""The commit of partitions that a rebalance takes away, as clients in the background make it.

The Java client commits in onJoinPrepare alone (``rejoin.py``). librdkafka commits after the revoke listener,
franz-go before it and before joining. Source: librdkafka ``rd_kafka_assignment_serve_removals``,
``rd_kafka_cgrp_defer_offset_commit``; franz-go ``defaultRevoke``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer.classic.async_commits import commit_automatically
from protocols.consumer.classic.membership import RETRY
from protocols.consumer.classic.phases import PrepareCommitted, PrepareCommitting
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS
from protocols.facts import CommitKind
from protocols.machine import SetTimer, Step
from protocols.values import replace


def commit_at_revocation(
    state: ClientState, consumer: Consumer, gone: frozenset[TopicPartition], now: int
) -> Step[ClientState]:
    """Commit before partitions are given away, and wait for the response; return no records.

    Source: librdkafka ``rd_kafka_assignment_serve_removals``, after the listener call, whose
    ``unassign()`` begins it; franz-go ``defaultRevoke``, before the call.
    """
    match state.prepare:
        case PrepareCommitted():
            return Step(state)
        case PrepareCommitting() as waiting:
            return _await_commit(state, consumer, waiting, now)
        case _:
            deadline = now + consumer.settings.session_timeout_ms * MS
            return _send_commit(state, consumer, PrepareCommitting(deadline, None, gone), now)


def _send_commit(
    state: ClientState, consumer: Consumer, waiting: PrepareCommitting, now: int
) -> Step[ClientState]:
    """Send the commit of a revocation, or wait for the coordinator; a lost member has none."""
    only = waiting.gone if consumer.profile.listener_first else None
    committing = consumer.commits_revoked and state.membership is Membership.STABLE
    if not committing or not automatic_offsets(consumer, only):
        ended = isinstance(state.prepare, PrepareCommitting)
        return Step(replace(state, prepare=PrepareCommitted(waiting.gone)) if ended else state)
    number = state.reads.next_correlation_id if isinstance(state.coordinator, Known) else None
    state = replace(state, prepare=replace(waiting, commit=number), revoking=True)
    return commit_automatically(state, consumer, CommitKind.PREPARE, now, only)


def _await_commit(
    state: ClientState, consumer: Consumer, waiting: PrepareCommitting, now: int
) -> Step[ClientState]:
    """Wait for the response; librdkafka repeats it (``rd_kafka_cgrp_defer_offset_commit``)."""
    if now < waiting.deadline_us and waiting.commit is not None:
        return Step(state)
    if now >= waiting.deadline_us or not consumer.profile.listener_first:
        return Step(replace(state, prepare=PrepareCommitted(waiting.gone)))
    retry = waiting.retry_us
    if retry is None:
        retry = now + consumer.settings.retry_backoff_ms * MS
        state = replace(state, prepare=replace(waiting, retry_us=retry))
    if now >= retry:
        return _send_commit(state, consumer, replace(waiting, retry_us=None), now)
    return Step(state, (SetTimer(RETRY, retry),))
