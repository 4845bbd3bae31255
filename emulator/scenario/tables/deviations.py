"""What members do otherwise than their client: errors of single versions, and of other clients."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from emulator.scenario.part import Part
from emulator.scenario.tables.distributions import PositiveDuration
from emulator.scenario.units import US_PER_MS
from protocols.consumer.clients import Busy, ClientProfile
from protocols.values import replace


class Deviations(Part):
    """Where a member differs from its client of this version."""

    heartbeats_wait_for: tuple[Literal["work", "listener", "fetch"], ...] = ()
    """What stops its heartbeats: the application's ``work`` on a batch (kafkajs, and all clients before
    KIP-62), a call of the rebalance ``listener``, or poll() while it waits for a ``fetch``
    (dpkp/kafka-python#1418)."""

    refused_fetch: Literal["retry", "reset"] = "retry"
    """``reset``: an OffsetFetch that is answered ``STALE_MEMBER_EPOCH`` counts as one without committed
    offsets (platformatic/kafka#267)."""

    reset: Literal["without offset", "each assignment"] = "without offset"
    """``each assignment``: it applies ``auto.offset.reset`` whenever it gets a partition, whatever was
    committed (elixir-broadway/broadway_kafka#27)."""

    loading: Literal["retry", "fatal"] = "retry"
    """``fatal``: a coordinator that still loads the group ends the consumer (tulios/kafkajs#267)."""

    rebalance_timeout: PositiveDuration | None = None
    """The rebalance timeout that it sends instead of ``max.poll.interval.ms``
    (thomhurst/Dekaf#2769)."""

    session_in_join: Literal["rests", "runs"] = "rests"
    """``runs``: its own copy of the session goes on while JoinGroup waits; at its end it joins as a new
    member (librdkafka before 1.7, confluentinc/librdkafka#3435)."""

    ownership_check: PositiveDuration | None = None
    """It notices its removal only by a check at this interval, not by its heartbeats
    (Parsely/pykafka#215)."""

    listener: Literal["partitions of the call", "whole assignment"] = "partitions of the call"
    """``whole assignment``: its rebalance listener assumes that a call names all its partitions, and
    throws when a cooperative assignor, or the consumer protocol, leaves it others
    (confluentinc/confluent-kafka-dotnet#1742)."""

    @property
    def given(self) -> dict[str, object]:
        """What differs from the client, by key."""
        return {name: value for name, value in self if value != NONE[name]}


NONE: Final[Mapping[str, Any]] = {
    name: field.default for name, field in Deviations.model_fields.items()
}
"""The value of each key with which nothing deviates."""


def deviating(profile: ClientProfile, given: Deviations | None) -> ClientProfile:
    """Return the profile of a client with its deviations."""
    if given is None:
        return profile
    timeout_us = given.rebalance_timeout
    return replace(
        profile,
        heartbeats_wait_for=profile.heartbeats_wait_for.union(map(Busy, given.heartbeats_wait_for)),
        resets_each_assignment=given.reset == "each assignment",
        waits_for_loading=given.loading == "retry",
        retries_refused_fetch=given.refused_fetch == "retry",
        rebalance_timeout_ms=None if timeout_us is None else timeout_us // US_PER_MS,
        session_rests_in_join=given.session_in_join == "rests",
        checks_ownership_us=given.ownership_check,
        takes_calls_for_whole=given.listener == "whole assignment",
    )
