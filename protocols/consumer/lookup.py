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

    asked_broker: int | None = None
    """The broker that it was sent to."""

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
    node = least_loaded(brokers or reader.brokers, reader, unknown.attempt, now)
    limit = now + reader.settings.request_timeout_ms * MS
    request = FindCoordinatorRequest(group_id=reader.group_id)
    sent = (Send(node, request, number), SetTimer(LOOKUP, limit))
    return Step(replace(unknown, lookup=number, asked_broker=node), sent)


def least_loaded(known: tuple[int, ...], reader: Reader, attempt: int, now: int) -> int:
    """Return the broker to ask: one that can be reached, is connected, and has the fewest fetches in flight.

    Clients other than Java's open a connection for it. Among equal brokers each attempt takes the next
    one, where Kafka draws (``leastLoadedNode``). The first one counts as connected until a lookup fails
    or is dropped: a new client asks it.
    """
    fetcher, first = reader.fetcher, attempt % len(known)

    def load(broker: int) -> tuple[bool, bool, bool]:
        is_first = broker == known[0] and not attempt
        contacted = is_first or fetcher.has_fetched(broker)
        connected = contacted and not fetcher.failures(broker)
        far = reader.profile.asks_connected and not connected
        return fetcher.backs_off(broker, now), far, broker in fetcher.in_flight

    return min(known[first:] + known[:first], key=load)


def back_off_lookup(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Retry the lookup after the back-off."""
    retry = now + backoff_us(reader, "lookup", unknown.attempt, now)
    return Step(Unknown(unknown.attempt + 1, retry_us=retry), (SetTimer(LOOKUP, retry),))
