"""Build the client of the consumer protocol in a process (Java's ``AsyncKafkaConsumer``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.scenario.estimates import periods
from emulator.scenario.patterns import client_matcher
from emulator.scenario.resolution import has_listener, subscription_of
from emulator.world.consumer.blueprints import Blueprint, MemberIds, jitter
from emulator.world.draws import base64_id, draw, stream_key
from protocols.consumer.kip848.background import WOKEN
from protocols.consumer.kip848.machine import Client
from protocols.consumer.kip848.requests import BACKGROUND
from protocols.consumer.kip848.state import Consumer
from protocols.consumer.kip848.threads import Lag, Lags, measured
from protocols.groups.kip848.patterns import matcher

__all__ = ["WAKE_UPS", "async_consumer", "matched_by_brokers", "new_client"]

WAKE_UPS = (BACKGROUND, WOKEN)
"""Timers that represent the time a thread takes to run; no lateness is added to them."""


def new_client(blueprint: Blueprint, process: str, member_ids: MemberIds) -> Client:
    """Return the client of a new incarnation.

    *member_ids*: returns the member id, which this client generates by itself.
    """
    return Client(async_consumer(blueprint, process, member_ids))


def async_consumer(blueprint: Blueprint, process: str, member_ids: MemberIds) -> Consumer:
    """Return the configuration of a client of the consumer protocol."""
    topics, pattern = subscription_of(blueprint.group, blueprint.member)
    by_broker = blueprint.group.pattern_by == "broker"
    return Consumer(
        name=process,
        group_id="" if blueprint.group.offsets == "none" else blueprint.group.id,
        member_id=_member_id(blueprint, process, member_ids),
        assigned=blueprint.assigned,
        settings=blueprint.settings,
        topics=None if pattern else topics,
        matches=client_matcher(pattern) if pattern and not by_broker else None,
        regex=pattern if by_broker else None,
        server_assignor=blueprint.settings.group_remote_assignor,
        listener=has_listener(blueprint.group, blueprint.member),
        jitter=jitter(blueprint),
        lags=_lags(blueprint, process),
        epoch_ms=blueprint.epoch_ms,
        brokers=blueprint.brokers,
        profile=blueprint.profile,
    )


def _member_id(blueprint: Blueprint, process: str, member_ids: MemberIds) -> str:
    """Return the id that a client generates for itself; with ``assign()`` it sends none."""
    if blueprint.assigned is not None:
        return ""
    given = member_ids(blueprint.settings.client_id or blueprint.name)
    return given or base64_id(stream_key(blueprint.seed, "member id", process), 0)


def matched_by_brokers(client: Client, existing: Iterable[str]) -> Iterator[str] | None:
    """Return the topics of a pattern that brokers match, or None if the client gave them none."""
    regex = client.consumer.regex
    return None if regex is None else filter(matcher(regex), existing)


def _lags(blueprint: Blueprint, process: str) -> Lags:
    """Return the delays of a consumer's two threads, drawn by kind and time for each process.

    The name of a member stands for its first process, so that runs without restarts keep their delays.
    They repeat (:data:`~emulator.scenario.estimates.periods.LAGS_REPEAT_US`), so that a group that is not
    disturbed does the same in every period.
    """
    drawn_for = blueprint.name if process == f"{blueprint.name}.1" else process
    keys = {
        lag: stream_key(blueprint.seed, f"delays of threads, {lag.name}", drawn_for) for lag in Lag
    }
    repeat_us = periods.LAGS_REPEAT_US
    return measured(lambda what, when: draw(keys[what], when % repeat_us), blueprint.group.wake_up)
