"""Committed offsets of groups of any type: OffsetCommit, OffsetFetch, and their replay.

Source: ``KafkaApis.handleOffsetCommitRequest``, ``OffsetMetadataManager.commitOffset``,
``fetchOffsets``, ``fetchAllOffsets``; KIP-447 for ``require_stable``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.types import TopicPartition
from protocols.facts import CommitAccepted, CommitRefused, OffsetsDropped
from protocols.groups.shard import (
    AnyShard,
    Broker,
    Durable,
    GroupKind,
    Moment,
    PartitionOffsets,
    TopicsByName,
    Turn,
)
from protocols.java_maps import TimelineMap
from protocols.machine import Effect, Report, Send
from protocols.messages import (
    FetchedOffset,
    Header,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    TopicDescription,
    pairs_of,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import (
    NO_EXPIRY,
    ZERO_TOPIC_ID,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    expiring,
)
from protocols.values import replace

Stored = dict[tuple[str, str], list[tuple[int, OffsetCommitValue]]]
"""Partitions and their offsets, by group and topic, in the order of arrival."""

_NO_PARTITIONS: PartitionOffsets = TimelineMap()
_NO_GROUPS = Durable()


def with_offsets(durable: Durable, stored: Stored) -> Durable:
    """Return the durable state with more offsets; a group that is absent becomes a simple group."""
    for (group_id, topic), offsets in stored.items():
        topics = durable.topics_of(group_id)
        partitions = (topics.get(topic) or _NO_PARTITIONS).put_all(offsets)
        groups = durable.groups
        if group_id not in groups:
            groups = groups.put(group_id, None)
        held = durable.offsets.set(group_id, topics.hold(topic, partitions))
        durable = Durable(groups, held)
    return durable


def without_offset(durable: Durable, key: OffsetCommitKey) -> Durable:
    """Return the durable state without one offset.

    A map that becomes empty is dropped, which resets its order.
    """
    topics = durable.topics_of(key.group)
    partitions = topics.get(key.topic)
    if partitions is None or key.partition not in partitions:
        return durable
    partitions = partitions.without(key.partition)
    topics = topics.hold(key.topic, partitions) if partitions else topics.without(key.topic)
    if topics:
        return replace(durable, offsets=durable.offsets.set(key.group, topics))
    return replace(durable, offsets=durable.offsets.delete(key.group))


def committed(durable: Durable, group_id: str) -> tuple[TopicPartition, ...]:
    """Return the partitions with committed offsets, in the order of Kafka's hash tables."""
    return tuple(
        TopicPartition(topic, number)
        for topic, partitions in durable.topics_of(group_id).items()
        for number in partitions
    )


def tombstones(group_id: str, partitions: Iterable[TopicPartition]) -> tuple[Record, ...]:
    """Return the records that delete committed offsets."""
    return tuple(
        Record(OffsetCommitKey(group_id, partition.topic, partition.partition), None)
        for partition in partitions
    )


def dropped(group_id: str, partitions: tuple[TopicPartition, ...], why: str) -> tuple[Report, ...]:
    """Report deleted offsets, if any; the fact waits until their tombstones are durable."""
    if not partitions:
        return ()
    return (Report(OffsetsDropped(group=group_id, partitions=partitions, why=why)),)


def still_gone(durable: Durable, fact: OffsetsDropped) -> tuple[Report, ...]:
    """Return *fact* without the offsets that have been committed again since.

    Commits proposed after the tombstones, while these were replicated, are already replayed.
    """
    gone = tuple(
        partition for partition in fact.partitions if durable.offset(fact.group, *partition) is None
    )
    return dropped(fact.group, gone, fact.why)


Refused = dict[TopicPartition, ErrorCode]

_NONE = ErrorCode.NONE
_NO_RETENTION = -1
_RETENTION_VERSION_MAX = 4


def offset_commit(
    shard: AnyShard, header: Header, request: OffsetCommitRequest, kind: GroupKind, at: Moment
) -> Turn[AnyShard]:
    """Validate a commit and propose its records; the response waits until they are durable.

    Partitions that the broker does not know are rejected before the group is checked.
    """
    refused = _unknown(request, at.broker.topics)
    offsets = request.offsets
    if refused:
        offsets = tuple(entry for entry in offsets if entry.partition not in refused)
    if not offsets:
        facts = _refusals(header, request, refused)
        return Turn(shard, (*facts, Send(header, _response(request, refused))))
    asked = replace(request, offsets=offsets) if refused else request
    verdict = kind.validate_commit(shard, asked, at)
    if not isinstance(verdict, ErrorCode):
        if request.group_id not in shard.durable.groups and not _all_too_long(offsets, at):
            shard = kind.create_for_commit(shard, request.group_id, at)
        return _stored(shard, header, request, refused, at, verdict)
    refused.update((entry.partition, verdict) for entry in offsets)
    facts = _refusals(header, request, refused)
    return Turn(shard, (*facts, Send(header, _response(request, refused))))


def reject_commit(
    header: Header, request: OffsetCommitRequest, error: ErrorCode, topics: TopicsByName
) -> tuple[Effect, ...]:
    """Reject a commit at a coordinator that is loading or no longer active."""
    refused = {entry.partition: error for entry in request.offsets} | _unknown(request, topics)
    return (*_refusals(header, request, refused), Send(header, _response(request, refused)))


_BY_ID_VERSION = 10
"""The first version of OffsetCommit and OffsetFetch with topic ids."""


def _is_another(topic: TopicDescription | None, topic_id: str | None) -> bool:
    """Return whether a topic does not exist, or has another id than that in a request, if any."""
    return topic is None or (topic_id is not None and topic_id != topic.topic_id)


def _unknown(request: OffsetCommitRequest, topics: TopicsByName) -> Refused:
    if topics is None:
        return {}
    refused: Refused = {}
    by_id, ids = request.version >= _BY_ID_VERSION, dict(request.topic_ids)
    for partition, *_ in request.offsets:
        topic = topics.get(partition.topic)
        if by_id and _is_another(topic, ids.get(partition.topic)):
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_ID
        elif topic is None or not 0 <= partition.partition < len(topic.leaders):
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def _all_too_long(offsets: tuple[OffsetToCommit, ...], at: Moment) -> bool:
    return all(is_too_long(entry, at) for entry in offsets)


def is_too_long(entry: OffsetToCommit, at: Moment) -> bool:
    """Return whether a partition is rejected because its metadata is too long."""
    return _utf16_units(entry.metadata) > at.settings.offset_metadata_max_bytes


def _stored(
    shard: AnyShard,
    header: Header,
    request: OffsetCommitRequest,
    refused: Refused,
    at: Moment,
    effects: tuple[Effect, ...],
) -> Turn[AnyShard]:
    """Propose one record for each partition; the offset may be lower than the last one."""
    group_id = request.group_id
    longest = at.settings.offset_metadata_max_bytes
    accepted, records = list[OffsetToCommit](), list[Record]()
    now_ms, expires_ms = at.now_ms, _expires_ms(request, at)
    for entry in request.offsets:
        partition, offset, leader_epoch, metadata = entry
        if refused and partition in refused:
            continue
        if metadata and _utf16_units(metadata) > longest:
            refused[partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        value = OffsetCommitValue(
            offset=offset,
            leader_epoch=leader_epoch,
            metadata=metadata,
            commit_timestamp=now_ms,
            topic_id=_topic_id(partition.topic, at.broker),
        )
        if expires_ms != NO_EXPIRY:
            value = expiring(value, expires_ms)
        key = OffsetCommitKey(group_id, partition.topic, partition.partition)
        accepted.append(entry)
        records.append(Record(key, value))
    if accepted:
        effects += (_accepted(header, request, tuple(accepted)),)
    if refused:
        effects += _refusals(header, request, refused)
    reply = Send(header, _response(request, refused))
    return Turn(shard, effects, tuple(records), (reply,))


def _expires_ms(request: OffsetCommitRequest, at: Moment) -> int:
    lasts_ms = request.retention_time_ms
    if lasts_ms == _NO_RETENTION or request.version > _RETENTION_VERSION_MAX:
        return NO_EXPIRY
    return at.now_ms + lasts_ms


def _utf16_units(text: str) -> int:
    """Return the length of a Java string, which Kafka compares with a number of bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _topic_id(topic: str, broker: Broker) -> str:
    return ZERO_TOPIC_ID if broker.topics is None else broker.topics[topic].topic_id


def _response(request: OffsetCommitRequest, refused: Refused) -> OffsetCommitResponse:
    if not refused:
        return OffsetCommitResponse(errors=tuple([(entry[0], _NONE) for entry in request.offsets]))
    return OffsetCommitResponse(
        errors=tuple((entry[0], refused.get(entry[0], _NONE)) for entry in request.offsets)
    )


def _accepted(
    header: Header, request: OffsetCommitRequest, offsets: tuple[OffsetToCommit, ...]
) -> Report:
    return Report(
        CommitAccepted(
            group=request.group_id,
            client=header.client,
            correlation_id=header.correlation_id,
            member_id=request.member_id,
            generation=request.generation_id,
            offsets=pairs_of(offsets),
        )
    )


def _refusals(header: Header, request: OffsetCommitRequest, refused: Refused) -> tuple[Effect, ...]:
    """Report the rejected partitions, one fact for each error."""
    return tuple(
        Report(
            CommitRefused(
                group=request.group_id,
                client=header.client,
                correlation_id=header.correlation_id,
                member_id=request.member_id,
                generation=request.generation_id,
                error=error.name,
                offsets=tuple(
                    (entry.partition, entry.offset)
                    for entry in request.offsets
                    if refused.get(entry.partition) is error
                ),
            )
        )
        for error in sorted(set(refused.values()))
    )


def offset_fetch(view: Durable, request: OffsetFetchRequest, broker: Broker) -> OffsetFetchResponse:
    """Respond from one view of the log; the caller has validated the member.

    *view*: the newest state for a stable fetch, whose response then waits until all of it is durable;
    otherwise the durable state, which can be older than before right after a failover.
    """
    group_id = request.group_id
    if group_id not in view.groups:
        view = _NO_GROUPS
    if request.partitions is None:
        return OffsetFetchResponse(offsets=_all(view, group_id, broker, request.version))
    ids = dict(request.topic_ids) if request.version >= _BY_ID_VERSION else None
    return OffsetFetchResponse(
        offsets=tuple(
            _one(view, group_id, partition, broker, ids) for partition in request.partitions
        )
    )


def _one(
    view: Durable,
    group_id: str,
    partition: TopicPartition,
    broker: Broker,
    ids: Mapping[str, str] | None,
) -> FetchedOffset:
    """Return the offset of a partition; *ids*: of the topics in the request, None: it has names."""
    topic, topics, by_id = partition.topic, broker.topics, False
    if ids is not None and topics is not None:
        by_id = True
        if _is_another(topics.get(topic), ids.get(topic)):
            return FetchedOffset(partition, error=ErrorCode.UNKNOWN_TOPIC_ID)
    value = view.offset(group_id, partition.topic, partition.partition)
    if value is None or (by_id and _of_another(value, partition.topic, broker)):
        return FetchedOffset(partition)
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


def _id_of(topic: str, broker: Broker) -> str | None:
    known = None if broker.topics is None else broker.topics.get(topic)
    return None if known is None else known.topic_id


def _of_another(value: OffsetCommitValue, topic: str, broker: Broker) -> bool:
    """Return whether an offset was committed to an earlier topic of the same name."""
    ids = {value.topic_id, _id_of(topic, broker)} - {ZERO_TOPIC_ID}
    return len(ids) > 1


def _all(view: Durable, group_id: str, broker: Broker, version: int) -> tuple[FetchedOffset, ...]:
    """Return all offsets of a group, in the order of the coordinator's hash tables."""
    by_id = version >= _BY_ID_VERSION and broker.topics is not None
    return tuple(
        FetchedOffset(
            TopicPartition(topic, number), value.offset, value.leader_epoch, value.metadata
        )
        for topic, partitions in view.topics_of(group_id).items()
        if not by_id or _id_of(topic, broker) is not None
        for number, value in partitions.items()
    )
