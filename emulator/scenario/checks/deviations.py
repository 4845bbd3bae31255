"""Check what members do otherwise than their client: deviations that this client cannot have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import client_of, consumer_settings, deviations_of
from protocols.consumer.clients import ClientProfile, Runs, SessionEnd, profile_of
from protocols.settings import ConsumerSettings

COOPERATIVE: Final = "cooperative-sticky"
REBALANCE_TIMEOUT: Final = "rebalance.timeout.ms"


def deviation_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield deviations that do not fit the client, the protocol or the store of a member."""
    for group in scenario.group:
        for member in group.members:
            given = deviations_of(group, member)
            if given is None:
                continue
            own = member.deviates is not None
            path = f"group[{group.id}]" + (f".member[{member.name}]" if own else "")
            for key, value in given.given.items():
                reason = _reason(key, group, member)
                if reason:
                    yield Problem(f"{path}.deviates.{key}", reason, value)


def _reason(key: str, group: Group, member: Member) -> str:
    if member.assign is not None:
        return "a consumer with assign() joins no group; leave it out"
    profile, settings = profile_of(client_of(group, member)), consumer_settings(group, member)
    return _REASONS[key](group, profile, settings)


def _heartbeats(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del group
    if settings.group_protocol == "consumer":
        return (
            "with group.protocol=consumer a thread of the client sends the heartbeats, and is never "
            "kept from it; set group.protocol=classic"
        )
    if profile.works is not Runs.IN_POLL:
        return f"{profile.name} sends heartbeats in the background; java and kafka-python can deviate so"
    return ""


def _refused_fetch(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del group, profile
    if settings.group_protocol == "consumer":
        return ""
    return "a coordinator of the classic protocol never answers STALE_MEMBER_EPOCH; set group.protocol=consumer"


def _reset(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del profile, settings
    return "" if group.offsets == "kafka" else "its offsets are not fetched from the coordinator"


def _loading(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del profile
    if settings.group_protocol == "consumer" or group.offsets == "zookeeper":
        return "only members of the classic protocol are played so; set group.protocol=classic"
    return ""


def _rebalance_timeout(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del group, settings
    if REBALANCE_TIMEOUT not in profile.own:
        return ""
    return f"{profile.name} has a setting for it: {REBALANCE_TIMEOUT}"


def _session_in_join(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del group
    if settings.group_protocol == "consumer":
        return "members of the consumer protocol send no JoinGroup; set group.protocol=classic"
    if profile.in_background and profile.session_end is SessionEnd.DROP_OUT:
        return ""
    return "only a client that joins again when its own session ends can do so: librdkafka"


def _ownership_check(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del profile, settings
    if group.offsets == "zookeeper":
        return ""
    return (
        'members of a group in Kafka learn of it by their heartbeats; needs offsets = "zookeeper"'
    )


def _listener(group: Group, profile: ClientProfile, settings: ConsumerSettings) -> str:
    del group, profile
    cooperative = COOPERATIVE in settings.partition_assignment_strategy
    if settings.group_protocol == "consumer" or cooperative:
        return ""
    return (
        "an eager assignor calls the listener with the whole assignment; needs cooperative-sticky or "
        "group.protocol=consumer"
    )


_REASONS: Final[Mapping[str, Callable[[Group, ClientProfile, ConsumerSettings], str]]] = {
    "heartbeats_wait_for": _heartbeats,
    "refused_fetch": _refused_fetch,
    "reset": _reset,
    "loading": _loading,
    "rebalance_timeout": _rebalance_timeout,
    "session_in_join": _session_in_join,
    "ownership_check": _ownership_check,
    "listener": _listener,
}
"""For each key why a member cannot deviate so; empty: it can."""
