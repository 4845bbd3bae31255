"""The assignor of a leader while it computes, if that takes time.

The Java client runs the assignor in the application thread, inside the lock that its heartbeat
thread needs (``AbstractCoordinator.JoinGroupResponseHandler.handle``); librdkafka runs it in the
thread that sends the heartbeats, aiokafka in its only one. So the client sends nothing and handles
nothing until the assignor is done; workers of a pool go on. The response to JoinGroup is passed to the client
then: until the SyncGroup is sent, only the time makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.events import AssignorRan
from emulator.world.kernel import Rank
from protocols.messages import Envelope, JoinGroupResponse

if TYPE_CHECKING:
    from emulator.world.cluster.topics import Topics
    from emulator.world.consumer.interfaces import ConsumerProcess


class AssignorRun:
    """One assignment that takes time, in one process."""

    __slots__ = ("later", "until_us")

    def __init__(self, until_us: int) -> None:
        self.until_us = until_us
        """When the assignor is done, unless its process is paused."""

        self.later: list[Callable[[], None]] = []
        """What the client does afterwards: responses that have arrived, and close()."""


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
    return AssignorRun(until_us)
