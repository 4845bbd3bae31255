"""The client in a process: which of Kafka's two consumers, and what it is built with.

``group.protocol`` decides. Whatever is random in a client is drawn by address, so the same seed
gives both kinds the same world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from emulator.scenario.resolution import subscription_of
from emulator.world.consumer.blueprints import Blueprint, common_protocol, make_assignors
from emulator.world.draws import draw, stream_key, topic_id
from protocols.classic.client.machine import Client as ClassicClient
from protocols.classic.client.values import Consumer as ClassicConsumer
from protocols.classic.client.values import punctual
from protocols.kip848.client.background import WOKEN
from protocols.kip848.client.events import BACKGROUND
from protocols.kip848.client.machine import Client as AsyncClient
from protocols.kip848.client.threads import Lag, Lags, measured
from protocols.kip848.client.values import Consumer as AsyncConsumer
from protocols.kip848.patterns import matcher

AnyClient = ClassicClient | AsyncClient

MemberIds = Callable[[str], str | None]
"""Gives out the member ids of a real history, by client id; None: make one up."""


WAKE_UPS = (BACKGROUND, WOKEN)
"""Timers that hold how long a thread takes to run: they are not late besides."""


def new_client(blueprint: Blueprint, process: str, member_ids: MemberIds) -> AnyClient:
    """Return the client of a new incarnation, by the protocol its settings name.

    *member_ids*: asked by a client that makes up its member id by itself.
    """
    if blueprint.settings.group_protocol == "consumer":
        return AsyncClient(_async_consumer(blueprint, process, member_ids))
    return ClassicClient(_classic_consumer(blueprint, process))


def topics_of(client: AnyClient, existing: Iterable[str]) -> Iterable[str]:
    """Return the topics that a client reads: of a pattern that brokers match, those there are."""
    if isinstance(client, AsyncClient) and client.consumer.regex is not None:
        return filter(matcher(client.consumer.regex), existing)
    return client.state.subscribed or ()


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
        matches=_matcher(pattern) if pattern else None,
        jitter=_jitter(blueprint),
        epoch_ms=blueprint.epoch_ms,
        brokers=blueprint.brokers,
        late=blueprint.lateness_us or punctual,
    )


def _async_consumer(blueprint: Blueprint, process: str, member_ids: MemberIds) -> AsyncConsumer:
    topics, pattern = subscription_of(blueprint.group, blueprint.member)
    by_broker = blueprint.group.pattern_by == "broker"
    told = member_ids(blueprint.settings.client_id or blueprint.name)
    return AsyncConsumer(
        name=process,
        group_id=blueprint.group.id,
        member_id=told or topic_id(stream_key(blueprint.seed, "member id", process), 0),
        settings=blueprint.settings,
        topics=None if pattern else topics,
        matches=_matcher(pattern) if pattern and not by_broker else None,
        regex=pattern if by_broker else None,
        server_assignor=blueprint.settings.group_remote_assignor,
        jitter=_jitter(blueprint),
        lags=_lags(blueprint),
        epoch_ms=blueprint.epoch_ms,
        brokers=blueprint.brokers,
    )


def _matcher(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda topic: compiled.fullmatch(topic) is not None


def _jitter(blueprint: Blueprint) -> Callable[[str, int], float]:
    key = stream_key(blueprint.seed, "jitter", blueprint.name)
    return lambda _what, when: draw(key, when)


def _lags(blueprint: Blueprint) -> Lags:
    """Return how long the two threads of a consumer take to run, each draw by what and when."""
    keys = {
        lag.name: stream_key(blueprint.seed, f"threads, {lag.name}", blueprint.name) for lag in Lag
    }
    return measured(lambda what, when: draw(keys[what], when), blueprint.group.wake_up)
