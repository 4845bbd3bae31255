"""The setting by which a coordinator removes a member, or a member leaves by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from emulator import events as ev
from emulator.verdicts.facts import POLL_TOO_LATE, GroupEnd

LIMITS: Mapping[str, str] = {
    ev.Departure.EXPIRED: "session.timeout.ms",
    **dict.fromkeys(
        (
            POLL_TOO_LATE,
            ev.Departure.DID_NOT_REJOIN,
            ev.Departure.DID_NOT_SYNC,
            ev.Departure.DID_NOT_REVOKE,
        ),
        "max.poll.interval.ms",
    ),
}
"""The setting for each reason; the Java client sends the poll interval as the rebalance timeout."""

OF_BROKERS: Mapping[str, str] = {ev.Departure.EXPIRED: "group.consumer.session.timeout.ms"}
"""The same for members of the consumer protocol, where it is another one (KIP-848)."""


class Removed(Protocol):
    """A consumer that left its group or was removed, and why."""

    @property
    def consumer(self) -> str:
        """Its name."""

    @property
    def reason(self) -> str:
        """A ``Departure``, or why its client left."""


def with_limits(group: GroupEnd, removed: Iterable[Removed]) -> list[str]:
    """Return the different reasons of removals, each with the setting that decides, in order.

    For example ``session expired (session.timeout.ms)``.
    """
    return list(dict.fromkeys(_with_limit(group, each) for each in removed))


def session_settings(group: GroupEnd, consumers: Iterable[str]) -> list[str]:
    """Return the settings that end the sessions of some consumers."""
    return list(dict.fromkeys(_limit(group, each, ev.Departure.EXPIRED) for each in consumers))


def _with_limit(group: GroupEnd, removed: Removed) -> str:
    limit = _limit(group, removed.consumer, removed.reason)
    return f"{removed.reason} ({limit})" if limit else removed.reason


def _limit(group: GroupEnd, consumer: str, reason: str) -> str:
    """Return the setting that decides; empty: none does."""
    known = {**LIMITS, **OF_BROKERS} if consumer in group.by_heartbeat else LIMITS
    return known.get(reason, "")
