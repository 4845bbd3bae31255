"""The lookup of the group's coordinator (FindCoordinator).

Source: ``CoordinatorRequestManager``, ``AbstractCoordinator.ensureCoordinatorReady``.
"""

from __future__ import annotations

from assignors.values import dataclass
from protocols.consumer.reader import MS, Reader, backoff_us
from protocols.machine import Send, SetTimer, Step
from protocols.messages import FindCoordinatorRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

LOOKUP = "lookup"
"""Timer: look the coordinator up again."""

LOSES_COORDINATOR = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors of a broker that is not, or no longer, the coordinator."""


@dataclass(frozen=True, slots=True)
class Known:
    """The group's coordinator was found."""

    broker: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """The coordinator is being looked up, or will be at ``retry_us``."""

    attempt: int = 0
    lookup: int | None = None
    """Correlation id of the FindCoordinator in flight."""

    retry_us: int = 0


NEVER_LOOKED_UP = Unknown()


def ask_for_coordinator(
    unknown: Unknown, reader: Reader, brokers: tuple[int, ...], number: int, now: int
) -> Step[Unknown]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs.

    *brokers*: those in the metadata, if any; *number*: the correlation id if a request is sent.
    """
    if unknown.lookup is not None:
        return Step(unknown)
    if now < unknown.retry_us:
        return Step(unknown, (SetTimer(LOOKUP, unknown.retry_us),))
    known = brokers or reader.brokers
    node = known[unknown.attempt % len(known)]
    limit = now + reader.settings.request_timeout_ms * MS
    request = FindCoordinatorRequest(group_id=reader.group_id)
    sent = (Send(node, request, number), SetTimer(LOOKUP, limit))
    return Step(replace(unknown, lookup=number), sent)


def back_off_lookup(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Retry the lookup after the back-off."""
    retry = now + backoff_us(reader, "lookup", unknown.attempt, now)
    return Step(Unknown(unknown.attempt + 1, None, retry), (SetTimer(LOOKUP, retry),))
