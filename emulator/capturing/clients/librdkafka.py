"""A member whose client is librdkafka, through confluent-kafka."""

from __future__ import annotations

import struct
import time
from typing import Any

from emulator.capturing.clients.application import Application


def run(application: Application) -> None:
    """Subscribe, work until SIGTERM, and close."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer(_settings(application))
    trace = application.trace

    def listener(call: str) -> Any:
        def called(client: Any, partitions: Any) -> None:
            began = trace.now()
            if call == "assigned":
                _trace_group(application, client)
            time.sleep(application.listener_s())
            trace.listened(call, began, partitions)

        return called

    consumer.subscribe(
        application.topics,
        on_assign=listener("assigned"),
        on_revoke=listener("revoked"),
        on_lost=listener("lost"),
    )
    trace.mark("subscribed")
    while not application.stopping:
        message = consumer.poll(application.poll_ms / 1e3)
        _trace_group(application, consumer)
        if message is not None:
            _handle(application, consumer, message)
    trace.mark("closing")
    consumer.close()
    trace.mark("closed")


def _settings(application: Application) -> dict[str, Any]:
    trace = application.trace

    def on_commit(error: object, partitions: Any) -> None:
        if error is None:
            offsets = {trace.name(tp): tp.offset for tp in partitions or () if tp.offset >= 0}
            trace.committed("app", offsets)

    own: dict[str, Any] = {"on_commit": on_commit, "log_level": 0}
    if application.mode == "store":
        own["enable.auto.offset.store"] = False
    return {
        **application.kafka(),
        **own,
        "bootstrap.servers": application.bootstrap,
        "enable.auto.commit": application.commits_itself,
    }


class Partition:
    """The partition of a message."""

    def __init__(self, message: Any) -> None:
        self.topic: str = message.topic()
        self.partition: int = message.partition()


def _handle(application: Application, consumer: Any, message: Any) -> None:
    trace = application.trace
    if message.error() is not None:
        trace.write("exc", t=trace.now(), cls="KafkaError", msg=str(message.error()))
        return
    partition = Partition(message)
    trace.handed_out(partition, message.offset())
    application.work(partition, message.offset())
    if application.mode == "store":
        consumer.store_offsets(message)
    elif application.commits_after("record") or application.commits_after("poll"):
        why = "record" if application.commits_after("record") else "poll"
        application.commit(why, lambda: consumer.commit(message=message, asynchronous=False))
    elif application.mode == "async-per-poll":
        trace.mark("casync")
        consumer.commit(message=message, asynchronous=True)


def _trace_group(application: Application, consumer: Any) -> None:
    member_id = consumer.memberid()
    if member_id:
        application.trace.group(generation_of(consumer.consumer_group_metadata()), member_id)


def generation_of(metadata: bytes) -> int:
    """Return the generation in librdkafka's binary group metadata; -1 if it has none."""
    head, _, rest = bytes(metadata).partition(b":")
    if head != b"CGMDv2" or len(rest) < 4:
        return -1
    return int(struct.unpack_from("=i", rest)[0])
