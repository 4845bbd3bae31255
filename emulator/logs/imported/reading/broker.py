"""A cluster's offsets topic: which partitions it has, and from where to where they are read.

Nobody joins a group and nothing is committed: partitions are assigned by hand. Waiting is bounded,
and whoever waited in vain is told the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from emulator.logs.imported.reading.client_settings import PATIENCE_S, for_consumer
from emulator.logs.imported.reading.errors import BrokerError
from emulator.logs.imported.reading.stretch import Stretch

TOPIC: Final = "__consumer_offsets"
Settings = Mapping[str, str]


def stretches_of(
    settings: Settings, topic: str = TOPIC, begin_ms: int | None = None
) -> list[Stretch]:
    """Return what there is to read of a topic, partition by partition; none that is empty.

    *begin_ms*: epoch ms of the first record wanted. Raise BrokerError if the cluster gives no
    answer, has no such topic, or lets us not read it.
    """
    with consumer(settings) as (client, reasons):
        try:
            partitions = _partitions(client, topic, settings)
            found = [_stretch(client, topic, number, begin_ms) for number in partitions]
        except KafkaException as error:
            client.poll(0)  # lets it tell why connections failed
            raise no_answer(settings, error.args[0], reasons) from None
    return [each for each in found if each.size > 0]


@contextmanager
def consumer(
    settings: Settings, *, committed_only: bool = False
) -> Iterator[tuple[Consumer, list[str]]]:
    """Make a consumer, and end it; it notes in a list why connections fail.

    Raise BrokerError for settings that librdkafka does not take.
    """
    reasons = list[str]()

    def note(error: KafkaError) -> None:
        reason = _AFTER.sub("", error.str())
        if error.code() not in _SUMMARIES and reason not in reasons:
            reasons.append(reason)

    wanted = for_consumer(settings, committed_only=committed_only)
    try:
        client = Consumer({**wanted, "error_cb": note})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        address = settings["bootstrap.servers"]
        raise BrokerError(
            f"{address}: a setting is not taken: {reason}. Settings are librdkafka's, such as "
            "security.protocol, sasl.mechanism, sasl.username, ssl.ca.location"
        ) from None
    try:
        yield client, reasons
    finally:
        client.close()


def no_answer(settings: Settings, error: KafkaError, reasons: list[str]) -> BrokerError:
    """Return what to say where a cluster cannot be read."""
    address = settings["bootstrap.servers"]
    if error.code() in _NO_RIGHT:
        return BrokerError(
            f"{address}: no right to read the topic ({error.str()}). The user needs Read on it, "
            f"as kafka-acls --add --operation Read --topic {TOPIC} gives it"
        )
    told = "; ".join(reasons[-2:]) or error.str()
    return BrokerError(f"{address}: no answer within {PATIENCE_S:.0f} s: {told}")


_AFTER: Final = re.compile(r" \(after \d+ms in state \w+[^)]*\)")
_SUMMARIES: Final = frozenset({KafkaError._ALL_BROKERS_DOWN})  # noqa: SLF001  librdkafka's name
_NO_RIGHT: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def _partitions(client: Consumer, topic: str, settings: Settings) -> list[int]:
    found = client.list_topics(topic, timeout=PATIENCE_S).topics[topic]
    if found.error is None:
        return sorted(found.partitions)
    if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        address = settings["bootstrap.servers"]
        raise BrokerError(
            f"{address}: the cluster has no topic {topic}, or the user has no right to see it. "
            "It is made when a group first commits"
        )
    raise KafkaException(found.error)


def _stretch(client: Consumer, topic: str, number: int, begin_ms: int | None) -> Stretch:
    place = TopicPartition(topic, number)
    low, high = client.get_watermark_offsets(place, timeout=PATIENCE_S)
    if begin_ms is not None:
        (at,) = client.offsets_for_times(
            [TopicPartition(topic, number, max(0, begin_ms))], timeout=PATIENCE_S
        )
        if at.error is not None:
            raise KafkaException(at.error)
        low = high if at.offset in {OFFSET_END, -1} else max(low, at.offset)
    return Stretch(topic, number, low, high)
