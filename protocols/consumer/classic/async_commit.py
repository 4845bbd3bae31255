"""commitAsync: send and go on, or wait for a coordinator (``commitOffsetsAsync``, spec 4.4)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import look_up
from protocols.consumer.classic.commits import send_async
from protocols.consumer.classic.values import ClientState, Consumer
from protocols.consumer.lookup import Known
from protocols.machine import Return, Step
from protocols.messages import OffsetToCommit


def begin(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Send a commit and go on; its callback runs at a later poll or commit.

    Without a coordinator it is chained to the lookup, and shares its fate.
    """
    if state.poisoned is not None:
        return Step(state, (Return(state.poisoned),))
    if not offsets:
        return Step(state)
    if isinstance(state.coordinator, Known):
        return send_async(state, consumer, offsets, now)
    pending = (*state.pending_commits, offsets)
    return look_up(replace(state, pending_commits=pending), consumer, now)
