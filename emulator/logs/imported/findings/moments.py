"""Times of a log as people read them, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def clock(at_ms: int) -> str:
    """Return a time to the second; one that no calendar has, as it is.

    >>> clock(1795258473245), clock(-10**17)
    ('2026-11-21 10:54:33', '-100000000000000000 ms')
    """
    try:
        moment = EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return f"{at_ms} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def iso(at_ms: int) -> str:
    """Return a time as pictures take it, in UTC; one that no calendar has, as the epoch.

    >>> iso(1795258473245)
    '2026-11-21T10:54:33.245'
    """
    try:
        moment = EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        moment = EPOCH
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}"
