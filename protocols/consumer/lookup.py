"""Finding the coordinator, as far as both protocols do it alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from protocols.consumer.backoff import MS, backoff_us
from protocols.consumer.reader import Reader
from protocols.machine import Send, SetTimer, Step
from protocols.messages import FindCoordinatorRequest
from protocols.messages.errors import ErrorCode

LOOKUP = "lookup"
"""Timer: look the coordinator up again."""

LOSES_COORDINATOR = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors by which a broker says that it is not the coordinator, or not any more."""


@dataclass(frozen=True, slots=True)
class Known:
    """The group's coordinator was found."""

    broker: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """It is being looked up, or will be at ``retry_us``."""

    attempt: int = 0
    lookup: int | None = None
    """Correlation id of the FindCoordinator in flight."""

    retry_us: int = 0


NEVER_ASKED = Unknown()


def ask(
    unknown: Unknown, reader: Reader, brokers: tuple[int, ...], number: int, now: int
) -> Step[Unknown]:
    """Ask some broker for the coordinator, unless an answer is due or the back-off runs.

    *brokers*: those that metadata name, if any; *number*: taken if a request leaves.
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


def failed(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Try again after the back-off."""
    retry = now + backoff_us(reader, "lookup", unknown.attempt, now)
    return Step(Unknown(unknown.attempt + 1, None, retry), (SetTimer(LOOKUP, retry),))
