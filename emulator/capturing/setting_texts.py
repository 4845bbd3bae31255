"""Write Kafka's settings of a scenario as the texts that a program starts with."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.scenario.kafka_settings import JAVA_ASSIGNORS, STRATEGY

LIBRARIES = {"librdkafka": "confluent", "aiokafka": "aiokafka", "kafka-python": "kafkapython"}
"""The clients besides Java's, with the captures' words for them."""


def setting_texts(settings: Mapping[str, object], client: str) -> dict[str, str]:
    """Return the settings of a client as its own file has them: assignors of Java by their classes."""
    texts = {key: text_of_value(value) for key, value in sorted(settings.items())}
    if STRATEGY in texts and client not in LIBRARIES:
        classes = {short: name for name, short in JAVA_ASSIGNORS.items()}
        names = texts[STRATEGY].split(",")
        texts[STRATEGY] = ",".join(classes.get(name, name) for name in names)
    return texts


def text_of_value(value: object) -> str:
    """Return a setting's value as Kafka's properties files have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(each) for each in value)
    return str(value)
