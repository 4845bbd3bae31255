"""The assignor of a leader while it computes, if that takes time.

The Java client runs the assignor in the application thread, inside the lock that its heartbeat
thread needs (``AbstractCoordinator.JoinGroupResponseHandler.handle``); librdkafka runs it in the
thread that sends the heartbeats. So the client sends nothing and handles nothing until the assignor
is done; workers of a pool go on. aiokafka calls it in the event loop, which runs nothing else
meanwhile (``GroupCoordinator._perform_assignment``): a handler that waits goes on behind it, with what
it waited for. The response to JoinGroup is passed to the client when the assignor is done: until the
SyncGroup is sent, only the time makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.events import AssignorRan
from emulator.world.kernel import Rank
from protocols.consumer.clients import Runs
from protocols.messages import Envelope, JoinGroupResponse

if TYPE_CHECKING:
    from emulator.world.cluster.topics import Topics
    from emulator.world.consumer.interfaces import ConsumerProcess


class AssignorRun:
    """One assignment that takes time, in one process."""

    __slots__ = ("in_loop", "later", "until_us")

    def __init__(self, until_us: int, *, in_loop: bool) -> None:
        self.until_us = until_us
        """When the assignor is done, unless its process is paused."""

        self.in_loop = in_loop
        """Whether the application waits for it, too."""

        self.later: list[Callable[[], None]] = []
        """What is done afterwards: responses that have arrived, close(), and what the application does."""


def begun(process: ConsumerProcess, envelope: Envelope, topics: Topics) -> AssignorRun | None:
    """Return the assignment that a response makes its client compute; None: none that takes time."""
    response, group = envelope.body, process.blueprint.group
    if not isinstance(response, JoinGroupResponse) or response.error or response.skip_assignment:
        return None
    if response.leader != response.member_id or group.assignor_time is None:
        return None
    names = {topic for member in response.members for topic in member.metadata.topics}
    partitions = sum(len(topics.logs[name].partitions) for name in names if name in topics.logs)
    us = group.assignor_time.us(len(response.members), partitions)
    if not us:
        return None
    run, consumer = process.run, process.blueprint.name
    ran = AssignorRan(
        consumer=consumer,
        group=group.id,
        generation=response.generation_id,
        assignor=response.protocol_name or "",
        members=len(response.members),
        partitions=partitions,
        takes_us=us,
    )
    run.causes.disturbed[consumer] = run.recorder.write(ran, run.causes.joined.get(group.id))
    until_us = run.kernel.now + us
    run.kernel.at(until_us, Rank.AT_CLIENT, process.index, lambda _: process.assigned(envelope))
    assigning = AssignorRun(until_us, in_loop=process.blueprint.profile.works is Runs.IN_LOOP)
    if assigning.in_loop:
        process.application.pause()
        assigning.later.append(process.application.resume)
    return assigning
