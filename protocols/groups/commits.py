"""OffsetCommit: where a group goes on, whatever its type.

Source: ``KafkaApis.handleOffsetCommitRequest``, ``OffsetMetadataManager.commitOffset`` (spec
classic-coordinator 3.5, kip848 4.1).
"""

from __future__ import annotations

from dataclasses import replace

from assignors.types import TopicPartition
from protocols.facts import OffsetsAccepted, OffsetsRefused
from protocols.groups.kinds import AnyShard, GroupKind
from protocols.groups.turn import Broker, Moment, TopicsByName, Turn
from protocols.machine import Effect, Send, Tell
from protocols.messages import (
    Header,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
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

Refused = dict[TopicPartition, ErrorCode]

_NONE = ErrorCode.NONE
_NO_RETENTION = -1
_RETENTION_VERSION_MAX = 4


def offset_commit(
    shard: AnyShard, header: Header, request: OffsetCommitRequest, kind: GroupKind, at: Moment
) -> Turn[AnyShard]:
    """Store offsets, if this one may; the answer waits until they are durable.

    Partitions the broker does not know never reach the group.
    """
    refused = _unknown(request, at.broker.topics)
    offsets = request.offsets
    if refused:
        offsets = tuple(entry for entry in offsets if entry.partition not in refused)
    if not offsets:
        told = _told(header, request, refused)
        return Turn(shard, (*told, Send(header, _answer(request, refused))))
    asked = replace(request, offsets=offsets) if refused else request
    verdict = kind.commit(shard, asked, at)
    if not isinstance(verdict, ErrorCode):
        if request.group_id not in shard.durable.groups and not _all_too_long(offsets, at):
            shard = kind.made_by_commit(shard, request.group_id, at)
        return _stored(shard, header, request, refused, at, verdict)
    refused.update((entry.partition, verdict) for entry in offsets)
    told = _told(header, request, refused)
    return Turn(shard, (*told, Send(header, _answer(request, refused))))


def refused_at_the_door(
    header: Header, request: OffsetCommitRequest, error: ErrorCode, topics: TopicsByName
) -> tuple[Effect, ...]:
    """Refuse a commit that came to a shard which cannot look at it."""
    refused = {entry.partition: error for entry in request.offsets} | _unknown(request, topics)
    return (*_told(header, request, refused), Send(header, _answer(request, refused)))


def _unknown(request: OffsetCommitRequest, topics: TopicsByName) -> Refused:
    if topics is None:
        return {}
    refused: Refused = {}
    for partition, *_ in request.offsets:
        topic = topics.get(partition.topic)
        if topic is None and request.version >= 10:
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_ID
        elif topic is None or not 0 <= partition.partition < len(topic.leaders):
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def _all_too_long(offsets: tuple[OffsetToCommit, ...], at: Moment) -> bool:
    return all(is_too_long(entry, at) for entry in offsets)


def is_too_long(entry: OffsetToCommit, at: Moment) -> bool:
    """Say whether a partition is refused for its metadata alone, whoever commits it."""
    return _utf16_units(entry.metadata) > at.settings.offset_metadata_max_bytes


def _stored(
    shard: AnyShard,
    header: Header,
    request: OffsetCommitRequest,
    refused: Refused,
    at: Moment,
    effects: tuple[Effect, ...],
) -> Turn[AnyShard]:
    """Propose one record for each partition; an offset is taken as it is, forward or back."""
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
        effects += _told(header, request, refused)
    reply = Send(header, _answer(request, refused))
    return Turn(shard, effects, tuple(records), (reply,))


def _expires_ms(request: OffsetCommitRequest, at: Moment) -> int:
    lasts_ms = request.retention_time_ms
    if lasts_ms == _NO_RETENTION or request.version > _RETENTION_VERSION_MAX:
        return NO_EXPIRY
    return at.now_ms + lasts_ms


def _utf16_units(text: str) -> int:
    """Kafka compares the length of a Java string with a number of bytes [Q18]."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _topic_id(topic: str, broker: Broker) -> str:
    return ZERO_TOPIC_ID if broker.topics is None else broker.topics[topic].topic_id


def _answer(request: OffsetCommitRequest, refused: Refused) -> OffsetCommitResponse:
    if not refused:
        return OffsetCommitResponse(errors=tuple((entry[0], _NONE) for entry in request.offsets))
    return OffsetCommitResponse(
        errors=tuple((entry[0], refused.get(entry[0], _NONE)) for entry in request.offsets)
    )


def _accepted(
    header: Header, request: OffsetCommitRequest, offsets: tuple[OffsetToCommit, ...]
) -> Tell:
    return Tell(
        OffsetsAccepted(
            group=request.group_id,
            header=header,
            member_id=request.member_id,
            generation=request.generation_id,
            offsets=offsets,
        )
    )


def _told(header: Header, request: OffsetCommitRequest, refused: Refused) -> tuple[Effect, ...]:
    """Tell of what was refused, error by error."""
    return tuple(
        Tell(
            OffsetsRefused(
                group=request.group_id,
                header=header,
                member_id=request.member_id,
                generation=request.generation_id,
                error=error,
                offsets=tuple(
                    entry for entry in request.offsets if refused.get(entry.partition) is error
                ),
            )
        )
        for error in sorted(set(refused.values()))
    )
