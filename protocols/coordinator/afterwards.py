"""What follows when a turn's records turn out durable, or fail, in a group of any type.

Source: ``CoordinatorRuntime`` (the deferred events, and the timers, of a shard).
"""

from __future__ import annotations

from typing import Final

from protocols.facts import OffsetsDropped
from protocols.groups.answers import failed as failed_reply
from protocols.groups.classic import afterwards as classic
from protocols.groups.kinds import AnyShard
from protocols.groups.offsets import still_gone
from protocols.groups.turn import Moment, Retry, Turn, Waiting
from protocols.machine import Send, SetTimer, Tell
from protocols.messages.errors import ErrorCode

RETRY_MS: Final = 500
"""How long a timer waits whose records could not be written."""


def succeeded(shard: AnyShard, what: Waiting, at: Moment) -> Turn[AnyShard]:
    """Go on with what waited: everything it depends on is durable."""
    if isinstance(what, Send):
        return Turn(shard, (what,))
    if isinstance(what, Tell):
        return Turn(shard, _still_true(shard, what))
    return Turn(shard) if isinstance(what, Retry) else classic.succeeded(shard, what, at)


def failed(shard: AnyShard, what: Waiting, error: ErrorCode, at: Moment) -> Turn[AnyShard]:
    """Give up what waited: its append failed with *error*, or took too long."""
    if isinstance(what, Send):
        return Turn(shard, (Send(what.to, failed_reply(what.message, error)),))
    if isinstance(what, Tell):
        return Turn(shard, waits=_still_true(shard, what))
    if isinstance(what, Retry):
        moved = error is ErrorCode.NOT_COORDINATOR
        return Turn(shard, () if moved else (SetTimer(what.timer, at.after(RETRY_MS)),))
    return classic.failed(shard, what, error, at)


def _still_true(shard: AnyShard, told: Tell) -> tuple[Tell, ...]:
    """Return what holds of a fact as things are; where some of its batches failed, the rest."""
    fact = told.fact
    assert isinstance(fact, OffsetsDropped), "no other fact waits for the log"
    return still_gone(shard.durable, fact)
