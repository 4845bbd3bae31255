"""OffsetFetch: from which offsets to go on.

Source: ``OffsetMetadataManager.fetchOffsets``, ``fetchAllOffsets``; KIP-447 for the stable
flavour (spec classic-coordinator 3.6).
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.groups.shard import Durable
from protocols.groups.turn import Broker
from protocols.messages import FetchedOffset, OffsetFetchRequest, OffsetFetchResponse
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import ZERO_TOPIC_ID, OffsetCommitValue

_BY_ID_VERSION = 10
"""From this version on topics travel as ids."""


def offset_fetch(view: Durable, request: OffsetFetchRequest, broker: Broker) -> OffsetFetchResponse:
    """Answer from one view of the log; membership was looked at before.

    *view*: the newest for a stable fetch, whose answer then waits until all of it is durable;
    else what is durable by now, which right after a failover may be older than before [Q19].
    """
    group_id = request.group_id
    if request.partitions is None:
        return OffsetFetchResponse(offsets=_all(view, group_id, broker, request.version))
    return OffsetFetchResponse(
        offsets=tuple(
            _one(view, group_id, partition, broker, request.version)
            for partition in request.partitions
        )
    )


def _one(
    view: Durable, group_id: str, partition: TopicPartition, broker: Broker, version: int
) -> FetchedOffset:
    by_id = version >= _BY_ID_VERSION and broker.topics is not None
    if by_id and _id_of(partition.topic, broker) is None:
        return FetchedOffset(partition, error=ErrorCode.UNKNOWN_TOPIC_ID)
    value = view.offset(group_id, partition.topic, partition.partition)
    if value is None or (by_id and _of_another(value, partition.topic, broker)):
        return FetchedOffset(partition)
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


def _id_of(topic: str, broker: Broker) -> str | None:
    known = None if broker.topics is None else broker.topics.get(topic)
    return None if known is None else known.topic_id


def _of_another(value: OffsetCommitValue, topic: str, broker: Broker) -> bool:
    """Say whether an offset was committed to an earlier topic of the same name."""
    ids = {value.topic_id, _id_of(topic, broker)} - {ZERO_TOPIC_ID}
    return len(ids) > 1


def _all(view: Durable, group_id: str, broker: Broker, version: int) -> tuple[FetchedOffset, ...]:
    """All offsets of a group, in the order of the coordinator's tables (spec 10.3b)."""
    by_id = version >= _BY_ID_VERSION and broker.topics is not None
    return tuple(
        FetchedOffset(
            TopicPartition(topic, number), value.offset, value.leader_epoch, value.metadata
        )
        for topic, partitions in view.topics_of(group_id).items()
        if not by_id or _id_of(topic, broker) is not None
        for number, value in partitions.items()
    )
