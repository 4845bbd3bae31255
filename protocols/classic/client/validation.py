"""Does a position still lie on its leader's log? (KIP-320, spec 5.2).

A position whose epoch is known is validated before anything is read from it: when it comes from a
committed offset, and when metadata name another leader, or the same one in a later leader epoch.
The leader is asked where the records of the position's epoch end in its log. An end below the
position tells that the log was truncated: what was read beyond it is no part of the partition's
history any more.

Source: ``OffsetFetcher.validatePositionsAsync``, ``SubscriptionState.maybeCompleteValidation``,
``OffsetsForLeaderEpochUtils``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from assignors.types import TopicPartition
from protocols.classic.client import metadata
from protocols.classic.client.calls import Failed
from protocols.classic.client.requests import MS, take_number
from protocols.classic.client.values import ClientState, Consumer, Validation
from protocols.errors import ErrorCode
from protocols.facts import PositionSet
from protocols.messages import (
    NO_LEADER,
    UNKNOWN_EPOCH,
    UNKNOWN_OFFSET,
    EpochEndOffset,
    EpochToCheck,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from protocols.reading import FetchPosition, Phase
from protocols.step import Return, Send, Step, Tell

TRUNCATED = "truncated"
"""Why a position was set anew: the log it lay on has lost its end."""


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Throw what the last answers found, or ask the leaders of positions that await validation.

    Committed offsets that became positions in this very turn are asked about in the next one.
    """
    if state.validation_failure is not None:
        failed = Return(state.validation_failure)
        return Step(replace(state, validation_failure=None), (failed,))
    if consumer.positions.behind:
        consumer.positions.follow_leaders()
    if state.offsets_taken_us == now:
        return Step(state)
    return _ask(state, consumer, now)


def _ask(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask each leader about its partitions, once in request.timeout.ms."""
    gate = now + consumer.settings.request_timeout_ms * MS
    effects: tuple[Send, ...] = ()
    for leader, positions in _by_leader(consumer, now).items():
        consumer.positions.ask_again(Phase.VALIDATING, positions, gate)
        number, state = take_number(state)
        validating = {**state.validating, number: Validation(leader, positions)}
        state = replace(state, validating=validating)
        effects += (Send(leader, _request(positions), number),)
    return Step(state, effects)


def _by_leader(consumer: Consumer, now: int) -> dict[int, dict[TopicPartition, FetchPosition]]:
    """Return what to ask whom; where nobody is known to lead, poll has metadata read anyway."""
    found: dict[int, dict[TopicPartition, FetchPosition]] = {}
    for tp in consumer.positions.due(Phase.VALIDATING, now):
        position = consumer.positions.fetch_position(tp)
        if position.current.leader != NO_LEADER:
            found.setdefault(position.current.leader, {})[tp] = position
    return found


def _request(positions: dict[TopicPartition, FetchPosition]) -> OffsetsForLeaderEpochRequest:
    checks = (
        EpochToCheck(tp, position.epoch, position.current.epoch)
        for tp, position in positions.items()
    )
    return OffsetsForLeaderEpochRequest(partitions=tuple(checks))


def answered(
    state: ClientState,
    consumer: Consumer,
    number: int,
    response: OffsetsForLeaderEpochResponse,
    now: int,
) -> Step[ClientState]:
    """Take a leader's answer; what it could not tell is asked for again, after new metadata."""
    state, asked = _settled(state, number)
    told = {end.partition: end for end in response.end_offsets if end.error is ErrorCode.NONE}
    step = _retry(state, consumer, [tp for tp in asked if tp not in told], now)
    truncated: list[str] = []
    for tp, position in asked.items():
        if tp not in told or not _awaited(consumer, tp, position):
            continue
        found = _diverging(position, told[tp])
        if found is None:
            consumer.positions.validated(tp)
        elif consumer.settings.auto_offset_reset == "none":
            truncated.append(f"{tp} was read up to {position.offset}, {found}")
        else:
            step = step.also(*_go_back(consumer, tp, told[tp]))
    return step.then(lambda s: _keep_failure(s, truncated))


def _settled(
    state: ClientState, number: int
) -> tuple[ClientState, dict[TopicPartition, FetchPosition]]:
    left = {n: validation for n, validation in state.validating.items() if n != number}
    return replace(state, validating=left), state.validating[number].positions


def _awaited(consumer: Consumer, partition: TopicPartition, position: FetchPosition) -> bool:
    """Say whether the answer is about where the partition stands now."""
    positions = consumer.positions
    return (
        positions.holds(partition, Phase.VALIDATING)
        and positions.fetch_position(partition) == position
    )


def _diverging(position: FetchPosition, end: EpochEndOffset) -> str | None:
    """Return how the leader's log differs from what was read; None: not at all."""
    if _is_unknown(end):
        return f"leader epoch {position.epoch} is unknown to its leader"
    if end.end_offset < position.offset:
        return f"its leader's log of epoch {end.leader_epoch} ends at {end.end_offset}"
    return None


def _is_unknown(end: EpochEndOffset) -> bool:
    return end.end_offset == UNKNOWN_OFFSET or end.leader_epoch == UNKNOWN_EPOCH


def _go_back(
    consumer: Consumer, partition: TopicPartition, end: EpochEndOffset
) -> tuple[Tell, ...]:
    """Read on where the logs part, if the leader knows; else let the reset policy decide."""
    if _is_unknown(end):
        consumer.positions.reset(partition, TRUNCATED)
        return ()
    consumer.positions.move_back(partition, end.end_offset, end.leader_epoch)
    return (Tell(PositionSet(partition=partition, offset=end.end_offset, source=TRUNCATED)),)


def _keep_failure(state: ClientState, truncated: list[str]) -> Step[ClientState]:
    """Let the next poll throw what no policy resolves, unless it has something to throw already."""
    if not truncated or state.validation_failure is not None:
        return Step(state)
    failed = Failed("LogTruncationException", message="; ".join(truncated))
    return Step(replace(state, validation_failure=failed))


def _retry(
    state: ClientState, consumer: Consumer, partitions: Iterable[TopicPartition], now: int
) -> Step[ClientState]:
    """Let partitions be asked about again after rho, and have metadata read again."""
    again = list(partitions)
    if not again:
        return Step(state)
    retry = now + consumer.settings.retry_backoff_ms * MS
    consumer.positions.ask_again(Phase.VALIDATING, again, retry)
    return metadata.want(state, consumer, now)


def lost(state: ClientState, consumer: Consumer, node: int, now: int) -> Step[ClientState]:
    """A data connection broke: what was asked over it is asked again."""
    step = Step(state)
    for number, validation in state.validating.items():
        if validation.node == node:
            after, asked = _settled(step.state, number)
            again = partial(_retry, consumer=consumer, partitions=asked, now=now)
            step = Step(after, step.effects).then(again)
    return step
