"""The description of one Kafka setting, and how a dataclass declares its settings."""

from __future__ import annotations

import enum
from dataclasses import MISSING, field, fields
from functools import cache
from types import MappingProxyType
from typing import Any

from assignors.values import dataclass

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Kind(enum.Enum):
    """The kind of a setting's value, which decides the spellings that a scenario may use."""

    TIME_MS = "a time (Kafka's milliseconds, or text with a unit)"
    MINUTES = "a time (Kafka's minutes, or text with a unit)"
    BYTES = "a size (Kafka's bytes, or text with a unit)"
    COUNT = "a whole number"
    RATIO = "a number from 0 to 1"
    SWITCH = "true or false"
    CHOICE = "one of a few words"
    NAMES = "a list of names"
    TEXT = "a text"


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Kafka's settings: its name, its kind and its bounds."""

    name: str
    kind: Kind
    meaning: str
    minimum: int = 0
    maximum: int = INT_MAX
    choices: tuple[str, ...] = ()


def declared(default: Any, setting: Setting) -> Any:
    """Declare a dataclass field that holds one of Kafka's settings."""
    return field(default=default, metadata={"setting": setting})


@cache
def settings_of(kind: Any) -> dict[str, Setting]:
    """Return field name to :class:`Setting` of a settings dataclass."""
    return {f.name: f.metadata["setting"] for f in fields(kind) if "setting" in f.metadata}


@cache
def fields_by_name(kind: Any) -> dict[str, str]:
    """Return Kafka's name to field name of a settings dataclass."""
    return {setting.name: name for name, setting in settings_of(kind).items()}


@cache
def defaults_of(kind: Any) -> dict[str, Any]:
    """Return Kafka's name to default of a settings dataclass."""
    return {
        f.metadata["setting"].name: f.default
        for f in fields(kind)
        if "setting" in f.metadata and f.default is not MISSING
    }


_NAMES = """
allow.auto.create.topics auto.include.jmx.reporter bootstrap.resolve.timeout.ms bootstrap.servers
check.crcs client.dns.lookup config.providers connections.max.idle.ms enable.metrics.push
exclude.internal.topics group.id interceptor.classes key.deserializer
metadata.cluster.check.enable metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
receive.buffer.bytes send.buffer.bytes socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms value.deserializer
auto.create.topics.enable broker.heartbeat.interval.ms controlled.shutdown.enable
controller.quorum.election.timeout.ms delete.topic.enable group.coordinator.append.linger.ms
group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
group.coordinator.rebalance.protocols group.coordinator.threads
group.consumer.assignor.offload.enable
log.cleaner.threads
log.retention.bytes log.retention.hours log.retention.minutes log.retention.ms log.roll.hours
log.segment.bytes message.max.bytes num.io.threads num.network.threads
num.partitions num.replica.fetchers offsets.load.buffer.size offsets.topic.compression.codec
replica.fetch.max.bytes replica.fetch.wait.max.ms
auto.leader.rebalance.enable leader.imbalance.check.interval.seconds
leader.imbalance.per.broker.percentage unclean.leader.election.interval.ms
"""
LEFT_OUT = frozenset(_NAMES.split())
"""Kafka's consumer and broker settings without effect in this model, except those of LEFT_OUT_FAMILIES.

They distinguish a setting that is not modelled from one that is misspelt.
"""

LEFT_OUT_FAMILIES = ("ssl.", "sasl.", "group.share.", "group.streams.")
"""The beginnings of the names of all other settings without effect."""

SET_INSTEAD = MappingProxyType(
    {"message.max.bytes": "max.message.bytes", "log.roll.hours": "log.roll.ms"}
)
"""Settings without effect, and the setting that has their effect on ``__consumer_offsets`` here."""
