"""What the file of a real client says about a group of a scenario."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from assignors.values import dataclass
from emulator.scenario.part import Document

OF_LIBRDKAFKA: Final = frozenset(
    {
        "api.version.request",
        "broker.address.family",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "fetch.message.max.bytes",
        "fetch.wait.max.ms",
        "metadata.broker.list",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "sasl.password",
        "sasl.username",
        "socket.keepalive.enable",
        "ssl.ca.location",
        "statistics.interval.ms",
        "topic.metadata.refresh.interval.ms",
    }
)
"""Settings that librdkafka has and the Java client has not."""


@dataclass(slots=True)
class ClientFile:
    """What a client's file says about a group."""

    settings: dict[str, object] = field(default_factory=dict)
    """Kafka's settings by name, valid."""

    group: Document = field(default_factory=dict)
    """Other keys of the group: ``framework``, ``commit``, ``poll_timeout``."""

    stop: Document = field(default_factory=dict)
    """Keys of acts that stop members: ``grace``, ``mid_batch``."""

    group_id: str = ""
    """The group of the client; a scenario names its groups itself."""

    ignored: list[str] = field(default_factory=list)
    """Names without a part in a simulation."""

    notes: list[str] = field(default_factory=list)
    """How something was translated, in sentences."""

    @property
    def of_librdkafka(self) -> list[str]:
        """The settings that librdkafka has and the Java client has not."""
        return sorted(OF_LIBRDKAFKA.intersection(self.ignored))
