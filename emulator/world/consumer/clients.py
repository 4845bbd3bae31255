"""The client in a process: which of Kafka's two consumers, and what it is built with.

``group.protocol`` decides. All random values of a client are drawn by address, so the same seed
gives both kinds the same world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from emulator.scenario.resolution import subscription_of
from emulator.world import consumer
from emulator.world.consumer.blueprints import Blueprint, common_protocol, make_assignors
from emulator.world.draws import draw, stream_key
from protocols.consumer.classic.machine import Client as ClassicClient
from protocols.consumer.classic.state import Consumer as ClassicConsumer
from protocols.consumer.classic.state import punctual

if TYPE_CHECKING:
    from protocols.consumer.kip848.machine import Client as AsyncClient

    AnyClient = ClassicClient | AsyncClient

MemberIds = Callable[[str], str | None]
"""Gives out the member ids of a real history, by client id; None: make one up."""


def new_client(blueprint: Blueprint, process: str, member_ids: MemberIds) -> AnyClient:
    """Return the client of a new incarnation, by the protocol its settings name.

    *member_ids*: asked by a client that makes up its member id by itself.
    """
    if blueprint.settings.group_protocol == "consumer":
        return consumer.async_client.new_client(blueprint, process, member_ids)
    return ClassicClient(_classic_consumer(blueprint, process))


def topics_of(client: AnyClient, existing: Iterable[str]) -> Iterable[str]:
    """Return the topics that a client reads: of a pattern that brokers match, those there are."""
    if not isinstance(client, ClassicClient):
        matched = consumer.async_client.matched_by_brokers(client, existing)
        if matched is not None:
            return matched
    return client.state.subscribed or ()


def is_wake_up(client: AnyClient, timer: str) -> bool:
    """Return whether a timer holds how long a thread takes to run: it is not late besides."""
    return not isinstance(client, ClassicClient) and timer in consumer.async_client.WAKE_UPS


def _classic_consumer(blueprint: Blueprint, process: str) -> ClassicConsumer:
    assignors = make_assignors(blueprint.settings, blueprint.member)
    topics, pattern = subscription_of(blueprint.group, blueprint.member)
    return ClassicConsumer(
        name=process,
        group_id=blueprint.group.id,
        settings=blueprint.settings,
        assignors=assignors,
        protocol=common_protocol(assignors),
        topics=None if pattern else topics,
        matches=full_match(pattern) if pattern else None,
        jitter=jitter(blueprint),
        epoch_ms=blueprint.epoch_ms,
        brokers=blueprint.brokers,
        late=blueprint.lateness_us or punctual,
    )


def full_match(pattern: str) -> Callable[[str], bool]:
    """Return a predicate: whether a pattern matches a whole name, as a client evaluates it."""
    compiled = re.compile(pattern)
    return lambda topic: compiled.fullmatch(topic) is not None


def jitter(blueprint: Blueprint) -> Callable[[str, int], float]:
    """Return a consumer's draws for its waits, each by when it waits."""
    key = stream_key(blueprint.seed, "jitter", blueprint.name)
    return lambda _what, when: draw(key, when)
