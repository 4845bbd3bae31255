"""Heartbeats and commits without a response yet, where a period begins.

In a large group some member always waits for its coordinator. Such a request is on its way, or its
answer waits for the log, is on its way, or waits for a thread of the member to read it. It is a part
of the state of a run, and moves with it: its times, its offsets, and its correlation id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from assignors.types import TopicPartition
from emulator.world.cluster.offsets_log.leader_log import Replicated
from emulator.world.consumer.process import Process
from emulator.world.router import Carried
from emulator.world.world import World
from protocols.consumer.classic import periods
from protocols.consumer.requests import OpenRequest, Renumbered
from protocols.messages import Envelope, Header, OffsetCommitRequest
from protocols.values import replace

Offsets = Mapping[str, Mapping[TopicPartition, int]]
"""By group."""


def is_classic(process: Process) -> bool:
    """Return whether a client is one of the classic protocol: Java's, or one that works in the background."""
    return process.blueprint.settings.group_protocol == "classic"


def name_of(process: str, number: int) -> str:
    """Return the name of a request, which that of a commit is."""
    return f"{process}#{number}"


def open_requests(world: World) -> dict[str, OpenRequest]:
    """Return the requests of all members to coordinators without a response yet, by name."""
    return {
        name_of(process.name, number): request
        for process in world.consumers.everyone()
        for number, request in open_requests_of(process).items()
    }


def open_requests_of(process: Process) -> Mapping[int, OpenRequest]:
    """Return those of one member, by correlation id."""
    client: Any = process.client
    module = periods if is_classic(process) else _of_the_consumer_protocol()
    found: Mapping[int, OpenRequest] = module.open_requests(client.state, client.consumer)
    return found


def open_numbers_of(process: Process) -> dict[int, int]:
    """Return the numbers of a member that later ones replace, and when (us) each was taken."""
    client: Any = process.client
    found = {number: each.sent_us for number, each in open_requests_of(process).items()}
    if not is_classic(process):
        found |= _of_the_consumer_protocol().keys(client.state, client.consumer)
    return found


def _of_the_consumer_protocol() -> Any:
    from protocols.consumer.kip848 import periods as of_client  # noqa: PLC0415  only where it is used

    return of_client


def relative(
    world: World, open_names: set[str], numbers: Mapping[str, int], positions: Offsets, now: int
) -> tuple[object, ...] | None:
    """Return where the open requests are, relative to *now*, to the positions and to *numbers*.

    *numbers*: by process, its next correlation id. None: one of them is elsewhere, or a message of
    a process, or an append of a leader, that has ended is on its way.
    """
    if not _appends_are_current(world):
        return None
    hosts = [host for shard in world.offsets_topic for host in shard.hosts.values()]
    waiting = [header for host in hosts for header in host.coordinator.log.waiting()]
    back = {group: {tp: -at for tp, at in offsets.items()} for group, offsets in positions.items()}
    carried = _carried(world)
    unread = world.router.connections.waiting()
    headers = [*waiting, *(message.envelope.header for _, message in carried), *_unread(world)]
    headers += [envelope.header for envelope in unread]
    if {name_of(header.client, header.correlation_id) for header in headers} != open_names:
        return None
    as_next = partial(_as_next, numbers)
    return (
        tuple(map(as_next, waiting)),
        *(
            (when - now, message.is_request, moved_envelope(message.envelope, back, as_next))
            for when, message in carried
        ),
        tuple([moved_envelope(envelope, back, as_next) for envelope in unread]),
    )


def _unread(world: World) -> Iterator[Header]:
    """Yield the headers of the responses that members have not read."""
    for process in world.consumers.everyone():
        client: Any = process.client
        if is_classic(process):
            yield from (response.header for response in client.state.inbox)


def _appends_are_current(world: World) -> bool:
    """Return whether all appends that will be replicated are those of the present leaders."""
    logs = [log for shard in world.offsets_topic for log in shard.led.values()]
    return all(
        action.is_of(logs)
        for _, action in world.run.kernel.recurring()
        if isinstance(action, Replicated)
    )


def _as_next(numbers: Mapping[str, int], header: Header) -> Header:
    """Return a header with the distance of its number from the next one."""
    number = header.correlation_id - numbers[header.client]
    return header._replace(correlation_id=number)


def _carried(world: World) -> list[tuple[int, Carried]]:
    """Return all messages on their way that recur, and when each arrives."""
    return [
        (when, action)
        for when, action in world.run.kernel.recurring()
        if isinstance(action, Carried)
    ]


def moved_envelope(
    envelope: Envelope, records: Offsets, renumbered: Callable[[Header], Header]
) -> Envelope:
    """Return a message with another number; its offsets are further by so many records."""
    body: Any = envelope.body
    if isinstance(body, OffsetCommitRequest):
        more = records[body.group_id]
        offsets = [
            entry._replace(offset=entry.offset + more.get(entry.partition, 0))
            for entry in body.offsets
        ]
        body = replace(body, offsets=tuple(offsets))
    return Envelope(renumbered(envelope.header), body)


def move(world: World, later_us: int, records: Offsets, numbers: Mapping[str, Renumbered]) -> None:
    """Move all messages on their way and all answers that wait; the kernel has moved arrivals."""

    def renumbered(header: Header) -> Header:
        later = numbers[header.client].open[header.correlation_id]
        return header._replace(correlation_id=later)

    def later(client: str, number: int) -> int:
        found = numbers.get(client)
        return number if found is None else found.open.get(number, number)

    if not any(found.open for found in numbers.values()):
        return
    world.router.connections.move(lambda each: moved_envelope(each, records, renumbered), later)
    for _, message in _carried(world):
        message.envelope = moved_envelope(message.envelope, records, renumbered)
    for shard in world.offsets_topic:
        for host in shard.hosts.values():
            host.coordinator.log.move(later_us, renumbered)
