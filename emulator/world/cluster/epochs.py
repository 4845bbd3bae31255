"""What brokers answer consumers that ask whether their positions still hold (KIP-320)."""

from __future__ import annotations

from emulator.world.cluster.topics import Topics
from protocols.leader_epochs import end_of_epoch
from protocols.messages import (
    EpochEndOffset,
    EpochToCheck,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from protocols.messages.errors import ErrorCode


def end_offsets(
    request: OffsetsForLeaderEpochRequest, broker: int, topics: Topics, now: int
) -> OffsetsForLeaderEpochResponse:
    """Return where the leader epochs asked for end in the logs that *broker* leads."""
    found = tuple(_end_offset(check, broker, topics, now) for check in request.partitions)
    return OffsetsForLeaderEpochResponse(end_offsets=found)


def _end_offset(check: EpochToCheck, broker: int, topics: Topics, now: int) -> EpochEndOffset:
    log = topics.shown_by(broker, check.partition)
    if log is None:
        return EpochEndOffset(check.partition, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = log.replicas.refusal(broker, check.current_leader_epoch)
    if error:
        return EpochEndOffset(check.partition, error=error)
    epoch, end = end_of_epoch(log.epochs, check.leader_epoch, log.end(now))
    return EpochEndOffset(check.partition, epoch, end)
