"""Settings of consumers, brokers and topics, under Kafka's names, with Kafka's defaults and bounds.

Values keep Kafka's units; fields of a time in milliseconds end in ``_ms``.
"""

from protocols.settings.broker import BrokerSettings
from protocols.settings.consumer import (
    BY_DURATION,
    DEFAULT_ASSIGNORS,
    ClientSettings,
    ConsumerSettings,
    OldConsumerSettings,
    by_duration_ms,
)
from protocols.settings.kinds import (
    INT_MAX,
    LEFT_OUT,
    LEFT_OUT_FAMILIES,
    LONG_MAX,
    SET_INSTEAD,
    Kind,
    Setting,
    defaults_of,
    fields_by_name,
    settings_of,
)
from protocols.settings.topic import TopicSettings

__all__ = [
    "BY_DURATION",
    "DEFAULT_ASSIGNORS",
    "INT_MAX",
    "LEFT_OUT",
    "LEFT_OUT_FAMILIES",
    "LONG_MAX",
    "SET_INSTEAD",
    "BrokerSettings",
    "ClientSettings",
    "ConsumerSettings",
    "Kind",
    "OldConsumerSettings",
    "Setting",
    "TopicSettings",
    "by_duration_ms",
    "defaults_of",
    "fields_by_name",
    "settings_of",
]
