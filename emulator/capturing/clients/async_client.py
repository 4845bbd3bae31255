"""A member whose client is aiokafka."""

from __future__ import annotations

import asyncio
from typing import Any

from emulator.capturing.clients.application import Application


def run(application: Application) -> None:
    """Subscribe, work until SIGTERM, and close."""
    asyncio.run(_run(application))


async def _run(application: Application) -> None:
    import aiokafka

    trace = application.trace
    consumer = aiokafka.AIOKafkaConsumer(
        **_arguments(application),
        bootstrap_servers=application.bootstrap,
        enable_auto_commit=application.commits_itself,
    )
    consumer.subscribe(application.topics, listener=_listener(application, consumer))
    trace.mark("subscribed")
    await consumer.start()
    _trace_commits(application, consumer)
    while not application.stopping:
        if application.conf["style"] == "getmany":
            await _batch(application, consumer)
        else:
            await _one(application, consumer)
    trace.mark("closing")
    await consumer.stop()
    trace.mark("closed")


def _arguments(application: Application) -> dict[str, Any]:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
    }
    return application.arguments(assignors)


def _listener(application: Application, consumer: Any) -> Any:
    from aiokafka import ConsumerRebalanceListener

    trace = application.trace

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
        async def on_partitions_assigned(self, assigned: Any) -> None:
            began = trace.now()
            _trace_group(application, consumer)
            await asyncio.sleep(application.listener_s())
            trace.listened("assigned", began, assigned)

        async def on_partitions_revoked(self, revoked: Any) -> None:
            began = trace.now()
            await asyncio.sleep(application.listener_s())
            trace.listened("revoked", began, revoked)

    return Listener()


def _trace_group(application: Application, consumer: Any) -> None:
    coordinator = consumer._coordinator  # noqa: SLF001  the library shows it nowhere else
    application.trace.group(coordinator.generation, coordinator.member_id)


def _trace_commits(application: Application, consumer: Any) -> None:
    """Trace every successful commit, automatic ones too."""
    coordinator = consumer._coordinator  # noqa: SLF001
    commit = coordinator._do_commit_offsets  # noqa: SLF001
    trace = application.trace

    async def traced(assignment: Any, offsets: Any) -> Any:
        answer = await commit(assignment, offsets)
        trace.committed("bg", {trace.name(tp): value.offset for tp, value in offsets.items()})
        return answer

    coordinator._do_commit_offsets = traced  # noqa: SLF001


async def _one(application: Application, consumer: Any) -> None:
    try:
        timeout_s = application.poll_ms / 1e3
        record = await asyncio.wait_for(consumer.getone(), timeout_s)
    except TimeoutError:
        return
    application.trace.handed_out(record, record.offset)
    await _work(application, consumer, record)
    if application.commits_after("poll"):
        await _commit(application, consumer, "poll")


async def _batch(application: Application, consumer: Any) -> None:
    batch = await consumer.getmany(timeout_ms=application.poll_ms)
    if not batch:
        return
    trace = application.trace
    trace.polled({trace.name(tp): [each.offset for each in got] for tp, got in batch.items()})
    for records in batch.values():
        for record in records:
            if application.stops_in_batch:
                return
            await _work(application, consumer, record)
    if application.commits_after("poll"):
        await _commit(application, consumer, "poll")


async def _work(application: Application, consumer: Any, record: Any) -> None:
    began = application.trace.now()
    hang_s = application.hang_s(record, record.offset)
    if hang_s:
        await asyncio.sleep(hang_s)
        application.trace.mark("hangend")
    await asyncio.sleep(int(application.conf["work"]) / 1e3)
    application.trace.processed(record, record.offset, began)
    if application.commits_after("record"):
        await _commit(application, consumer, "record")


async def _commit(application: Application, consumer: Any, why: str) -> None:
    trace, began, error = application.trace, application.trace.now(), None
    try:
        await consumer.commit()
    except Exception as refused:  # noqa: BLE001  traced, and the application goes on
        error = f"{type(refused).__name__}: {refused}"
    trace.write("csync", why=why, a=began, b=trace.now(), ok=error is None, error=error)
