"""A member whose client is kafka-python."""

from __future__ import annotations

import time
from typing import Any

from emulator.capturing.clients.application import Application


def run(application: Application) -> None:
    """Subscribe, work until SIGTERM, and close."""
    import kafka

    trace = application.trace
    consumer = kafka.KafkaConsumer(
        **_arguments(application),
        bootstrap_servers=application.bootstrap.split(","),
        enable_auto_commit=application.commits_itself,
        default_offset_commit_callback=_on_commit(application),
        consumer_timeout_ms=application.poll_ms,
    )
    consumer.subscribe(application.topics, listener=_listener(application, consumer))
    trace.mark("subscribed")
    while not application.stopping:
        if application.conf["style"] == "iter":
            _iterate(application, consumer)
        else:
            _batch(application, consumer)
        _trace_group(application, consumer)
    trace.mark("closing")
    consumer.close()
    trace.mark("closed")


def _arguments(application: Application) -> dict[str, Any]:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
    return application.arguments(assignors)


def _on_commit(application: Application) -> Any:
    trace = application.trace

    def called(offsets: Any, answer: Any) -> None:
        if not isinstance(answer, Exception):
            shown = {trace.name(tp): value.offset for tp, value in offsets.items()}
            trace.committed("bg", shown)

    return called


def _listener(application: Application, consumer: Any) -> Any:
    from kafka import ConsumerRebalanceListener

    trace = application.trace

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
        def on_partitions_assigned(self, assigned: Any) -> None:
            began = trace.now()
            _trace_group(application, consumer)
            time.sleep(application.listener_s())
            trace.listened("assigned", began, assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            began = trace.now()
            time.sleep(application.listener_s())
            trace.listened("revoked", began, revoked)

    return Listener()


def _trace_group(application: Application, consumer: Any) -> None:
    coordinator = consumer._coordinator  # noqa: SLF001  the library shows it nowhere else
    generation = coordinator._generation  # noqa: SLF001
    if generation.member_id:
        application.trace.group(generation.generation_id, generation.member_id)


def _iterate(application: Application, consumer: Any) -> None:
    """Take records one by one until there is none for the time of a poll."""
    for record in consumer:
        application.trace.handed_out(record, record.offset)
        application.work(record, record.offset)
        _commit_after(application, consumer, "record", record)
        if application.stopping:
            return


def _batch(application: Application, consumer: Any) -> None:
    batch = consumer.poll(timeout_ms=application.poll_ms)
    if not batch:
        return
    trace = application.trace
    trace.polled({trace.name(tp): [each.offset for each in got] for tp, got in batch.items()})
    for records in batch.values():
        for record in records:
            if application.stops_in_batch:
                return
            application.work(record, record.offset)
            _commit_after(application, consumer, "record", record)
    if application.commits_after("poll"):
        application.commit("poll", consumer.commit)


def _commit_after(application: Application, consumer: Any, what: str, record: Any) -> None:
    if not application.commits_after(what):
        return
    if application.mode == "noargs-per-record":
        application.commit(what, consumer.commit)
        return
    from kafka import OffsetAndMetadata, TopicPartition

    offset = OffsetAndMetadata(record.offset + 1, "", -1)
    position = {TopicPartition(record.topic, record.partition): offset}
    application.commit(what, lambda: consumer.commit(position))
