"""What a pass of poll does about records: take them, leave them for now, or wait for them."""

from __future__ import annotations

import enum

from protocols.consumer.backoff import MS
from protocols.consumer.kip848.calls import Polling
from protocols.consumer.kip848.membership import MemberState
from protocols.consumer.kip848.values import ClientState, Consumer, Progress

POLL = "poll"
"""Timer: the wait of poll is over."""


class Wait(enum.Enum):
    """What a poll that found nothing does."""

    NONE = "it turns"
    RECORDS = "it waits for records"
    WOKEN = "it was woken and has not looked yet"


def held_back(state: ClientState, consumer: Consumer) -> bool:
    """Say whether records wait for the background thread to take the event of this poll.

    They do while there is a target to come to, and while some position is in doubt.
    """
    positions = consumer.positions
    if state.slot is None or state.slot.progress is not Progress.QUEUED:
        return False
    if state.member.state is MemberState.RECONCILING:
        return True
    in_doubt = positions.behind or not positions.all_reading()
    return in_doubt and not consumer.fetcher.idle


def raced(state: ClientState, consumer: Consumer, now: int) -> bool:
    """Say whether the background thread may read positions while records are taken.

    That is so with an automatic commit in the event, or an answer to a heartbeat on its way.
    """
    if state.slot is None or state.slot.progress is not Progress.QUEUED:
        return False
    if not consumer.settings.enable_auto_commit:
        return False
    return now >= state.autocommit_us or state.beat.number is not None


def wait_until(state: ClientState, consumer: Consumer, polling: Polling, now: int) -> int:
    """Return when a wait without records ends: something is due, or rho has passed."""
    settings = consumer.settings
    moments = [polling.until_us, now + max(settings.retry_backoff_ms, 1) * MS]
    duties = [state.beat.due_us, now + (state.poll_due_us - now) // 2]
    if settings.enable_auto_commit:
        duties.append(state.autocommit_us)
    return min(moments + [when for when in duties if when > now])
