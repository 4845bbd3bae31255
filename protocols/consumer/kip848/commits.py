"""Commits of the consumer protocol: automatic ones, commitSync, commitAsync (spec kip848 4).

Source: ``CommitRequestManager``. Each is sent once a coordinator is known, with the epoch known
then; what was asked for waits in ``commits`` till that, and between two tries.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from protocols.consumer import metadata
from protocols.consumer.asking import on_reads, take_number
from protocols.consumer.backoff import MS, backoff_us
from protocols.consumer.kip848 import applying, sync_commit
from protocols.consumer.kip848.calls import CommitWanted, makes_last_calls
from protocols.consumer.kip848.requests import BY_TOPIC_ID, ask, mark_unknown
from protocols.consumer.kip848.values import Asked, ClientState, Commit, Consumer
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.offsets import RETRIED, all_consumed, automatic_order
from protocols.facts import CommitEnded, CommitSent
from protocols.machine import SetTimer, Step, Tell
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode

COMMITS = "commits"
"""Timer: a commit is tried again, or given up."""

# -- what is to be committed -------------------------------------------------------------------------


def interval_due(
    state: ClientState, consumer: Consumer, polled_us: int, now: int
) -> Step[ClientState]:
    """Commit all positions if the interval was over when the application polled (4.3).

    One is under way at a time, and none beside the first try of the commit before a
    reconciliation; with nothing owned only the interval begins anew.
    """
    settings = consumer.settings
    if not settings.enable_auto_commit or polled_us < state.autocommit_us or _auto(state):
        return Step(state)
    following = polled_us + settings.auto_commit_interval_ms * MS
    return automatic(replace(state, autocommit_us=following), consumer, "auto", None, now)


def _auto(state: ClientState) -> bool:
    """Say whether an automatic commit is under way (``AutoCommitState.hasInflightCommit``).

    The commit before a reconciliation is one, until its first try has failed: to Kafka's client
    the next tries do not count.
    """
    return any(
        commit.kind == "auto" or (commit.kind == "prepare" and commit.attempt == 0)
        for commit in sync_commit.unanswered(state)
    )


def automatic(
    state: ClientState, consumer: Consumer, kind: str, deadline_us: int | None, now: int
) -> Step[ClientState]:
    """Have all positions committed; nothing to commit is not asked for."""
    offsets = automatic_order(all_consumed(consumer))
    if not offsets:
        return Step(state)
    key, state = take_number(state)
    commit = Commit(key, kind, offsets, deadline_us)
    return send_due(replace(state, commits=(*state.commits, commit)), consumer, now)


def wanted(
    state: ClientState, consumer: Consumer, event: CommitWanted, now: int
) -> Step[ClientState]:
    """Commit what the application asked for."""
    heard = ((entry.partition, entry.leader_epoch) for entry in event.offsets)
    step = on_reads(state, lambda reads: metadata.heard_epochs(reads, consumer, heard, now))
    commit = Commit(event.key, event.kind, event.offsets, event.deadline_us)
    state = replace(step.state, commits=(*step.state.commits, commit))
    return Step(state, step.effects)


# -- sending -----------------------------------------------------------------------------------------


def send_due(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send what may be sent now; give up what has waited too long."""
    if not state.commits:
        return Step(state)
    step = Step(replace(state, commits=()))
    for commit in state.commits:
        step = step.then(partial(_send_or_wait, consumer=consumer, commit=commit, now=now))
    moments = [when for commit in step.state.commits for when in _moments(commit, now)]
    return step.also(SetTimer(COMMITS, min(moments))) if moments else step


def _moments(commit: Commit, now: int) -> list[int]:
    """Return when a waiting commit has to be looked at again."""
    moments = [] if commit.deadline_us is None else [commit.deadline_us]
    return [when for when in (*moments, commit.retry_us) if when > now]


def _send_or_wait(
    state: ClientState, consumer: Consumer, commit: Commit, now: int
) -> Step[ClientState]:
    if commit.deadline_us is not None and now >= commit.deadline_us:
        return _ended(state, consumer, commit, ErrorCode.REQUEST_TIMED_OUT, now)
    last = makes_last_calls(state.app)
    if not isinstance(state.coordinator, Known):
        if last:
            return sync_commit.abandoned(state, commit)
    elif last or now >= commit.retry_us:
        return _send(state, consumer, commit, now)
    return Step(replace(state, commits=(*state.commits, commit)))


def _send(state: ClientState, consumer: Consumer, commit: Commit, now: int) -> Step[ClientState]:
    generation = state.generation
    request = OffsetCommitRequest(
        group_id=consumer.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=consumer.settings.group_instance_id,
        offsets=commit.offsets,
        version=BY_TOPIC_ID,
    )
    sent = CommitSent(
        correlation_id=state.reads.next_correlation_id,
        kind=commit.kind,
        generation=generation.id,
        offsets=commit.offsets,
    )
    step = ask(state, consumer, Asked.COMMIT, request, now, commit=commit)
    return Step(step.state, (Tell(sent), *step.effects))


# -- answers -----------------------------------------------------------------------------------------


def answered(
    state: ClientState, consumer: Consumer, number: int, commit: Commit, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Take the fate of a commit that was sent; NETWORK_EXCEPTION stands for a lost connection."""
    fact = CommitEnded(correlation_id=number, kind=commit.kind, error=error, offsets=commit.offsets)
    if error in LOSES_COORDINATOR or error is ErrorCode.REQUEST_TIMED_OUT:
        step = mark_unknown(state, f"commit answered {error.name}", now)
    else:
        step = Step(state)
    step = step.also(Tell(fact))
    if _tries_again(state, commit, error, now):
        return step.then(lambda s: _again(s, consumer, commit, now))
    return step.then(lambda s: _ended(s, consumer, commit, error, now))


def _tries_again(state: ClientState, commit: Commit, error: ErrorCode, now: int) -> bool:
    """Say whether a commit is sent again by itself (the table of spec kip848 4.2)."""
    if commit.deadline_us is None or now >= commit.deadline_us:
        return False
    if error is ErrorCode.STALE_MEMBER_EPOCH:
        return commit.kind in ("prepare", "close") and state.member.epoch > 0
    if commit.kind == "prepare" and error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return False
    return error in RETRIED or error.retriable


def _again(state: ClientState, consumer: Consumer, commit: Commit, now: int) -> Step[ClientState]:
    """Try again after the back-off: what was asked for, but before a reconciliation all positions."""
    retry = now + backoff_us(consumer, "commit", commit.attempt, now)
    offsets = commit.offsets
    if commit.kind == "prepare":
        offsets = automatic_order(all_consumed(consumer)) or offsets
    again = commit._replace(offsets=offsets, attempt=commit.attempt + 1, retry_us=retry)
    return send_due(replace(state, commits=(*state.commits, again)), consumer, now)


def _ended(
    state: ClientState, consumer: Consumer, commit: Commit, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Let whoever waits for a commit go on."""
    match commit.kind:
        case "auto" if error in RETRIED or error.retriable:
            retry = now + consumer.settings.retry_backoff_ms * MS
            return Step(replace(state, autocommit_us=retry))
        case "prepare":
            return applying.committed(state, consumer, now)
        case "async":
            return sync_commit.earlier_ended(state)
        case "sync" | "close":
            return sync_commit.ended(state, commit, error)
        case _:
            return Step(state)
