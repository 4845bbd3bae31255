"""Frameworks that people run consumers with, as the keys of a group that they stand for.

A key that the scenario has replaces that of its framework. ``settings`` are merged, and so are ``commit``
and ``handler`` where the scenario has only some of their keys.

Sources, by key, are in docs/how-to/frameworks.md: Spring for Apache Kafka 4.2
(``KafkaMessageListenerContainer``, ``ConsumerProperties``, ``SeekUtils``), Faust (``settings.py`` and
``App._on_partitions_revoked`` of faust-streaming), the loops of the documentation of confluent-kafka
and of ``KafkaConsumer``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

Table = Mapping[str, Any]


def _spring(when: str) -> Table:
    """Return what a listener container sets, by when it commits."""
    return {
        "commit": {"call": "sync", "when": when, "on_revoke": True, "on_refusal": "keep"},
        "poll_timeout": "5s",
        "poison": {"error": "seek", "attempts": 10, "backoff": "0s", "then": "skip"},
    }


FRAMEWORKS: Mapping[str, Table] = {
    "spring-record": _spring("record"),
    "spring-batch": _spring("batch"),
    "spring-manual": _spring("batch"),
    "spring-manual-immediate": _spring("record"),
    "faust": {
        "client": "aiokafka",
        "handler": {
            "workers": 1,
            "order": "partition",
            "queue": 4096,
            "drain": "running",
            "revoked": "discard",
        },
        "commit": {
            "call": "sync",
            "when": "every",
            "every": "2.8s",
            "records": 10_000,
            "on_revoke": True,
        },
        "settings": {
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 60_000,
            "heartbeat.interval.ms": 3_000,
            "max.poll.interval.ms": 1_000_000,
            "fetch.max.wait.ms": 1_500,
        },
    },
    "confluent-kafka": {"client": "librdkafka", "commit": "auto", "poll_timeout": "1s"},
    "kafka-consumer": {"client": "java", "commit": "auto", "poll_timeout": "100ms"},
}
"""By name: the keys of a group. ``poison``: what happens to records whose rule does not say it."""


NAMES_KIND: Mapping[str, str] = {"commit": "call", "handler": "workers"}
"""By key of a group with a table: the key that says what kind of table it is. One without it has changes."""


def with_framework(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group, as a file has it, with the keys of its framework.

    An unknown one stays as it is: the key of the model refuses it. Raises ValueError for a client
    that the framework is not written with.
    """
    name = group["framework"]
    if name not in tuple(FRAMEWORKS):
        return group
    given = dict(FRAMEWORKS[name])
    client = given.get("client", "java")
    if group.get("client", client) != client:
        raise ValueError(f'{name} is written with client = "{client}": leave out "client"')
    reaction = given.pop("poison", None)
    settings = given.pop("settings", {})
    merged = {**given, **group}
    for key, kind in NAMES_KIND.items():
        own, theirs = group.get(key), given.get(key)
        if isinstance(own, dict) and isinstance(theirs, Mapping) and kind not in own:
            merged[key] = {**theirs, **own}
    if settings:
        merged["settings"] = {**settings, **group.get("settings", {})}
    if reaction is not None and isinstance(group.get("poison"), tuple | list):
        merged["poison"] = tuple(_with_reaction(rule, reaction) for rule in group["poison"])
    return merged


def _with_reaction(rule: Any, reaction: Table) -> Any:
    """Return a rule of failing records with what the framework does about them."""
    if not isinstance(rule, dict) or rule.get("error") or rule.get("work"):
        return rule
    return {**reaction, **rule}


def summary(name: str, replaced: Collection[str] = ()) -> str:
    """Return what a framework sets, without the keys that are *replaced*, for the head of a report.

    >>> summary("kafka-consumer")
    'framework kafka-consumer (client=java, commit=auto, poll_timeout=100ms)'
    """
    keys = (
        f"{key}={_text(value)}" for key, value in FRAMEWORKS[name].items() if key not in replaced
    )
    return f"framework {name} ({', '.join(keys)})"


def _text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    inside = (f"{key} = {json.dumps(each)}" for key, each in value.items())
    return f"{{ {', '.join(inside)} }}"
