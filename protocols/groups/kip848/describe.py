"""Describe a consumer group: as the response of ConsumerGroupDescribe and as text.

Source: ``ConsumerGroup.asDescribedGroup``; the text has no counterpart in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from protocols.groups.kip848.group import (
    AssignedEpochs,
    Group,
    Member,
    TargetPartitions,
    as_message,
    named,
    preferred_assignor,
    state_of,
)
from protocols.groups.shard import Broker
from protocols.groups.topics import TopicsImage
from protocols.messages import TopicPartitions
from protocols.messages.errors import ErrorCode
from protocols.messages.groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumer,
)
from protocols.offsets_topic.group_rules import GroupState


def described(
    group: Group | None, request: ConsumerGroupDescribeRequest, broker: Broker
) -> ConsumerGroupDescribeResponse:
    """Describe a group as of the durable log; None: there is no such group."""
    if group is None:
        return ConsumerGroupDescribeResponse(
            group_id=request.group_id,
            error=ErrorCode.GROUP_ID_NOT_FOUND,
            state=GroupState.DEAD.value,
        )
    return ConsumerGroupDescribeResponse(
        group_id=group.group_id,
        state=state_of(group).value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor=preferred_assignor(group.votes, broker.settings.group_consumer_assignors[0]),
        members=tuple(_member(group, member, broker.image) for member in group),
    )


def _member(group: Group, member: Member, image: TopicsImage) -> DescribedConsumer:
    """Describe a member; a partition counts as its own until it has acknowledged the revocation."""
    metadata, current = member.metadata, member.current
    has = {
        topic: (*current.assigned.get(topic, ()), *current.revoking.get(topic, ()))
        for topic in {**current.assigned, **current.revoking}
    }
    return DescribedConsumer(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        member_epoch=member.current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.subscribed_topic_names,
        subscribed_topic_regex=metadata.subscribed_topic_regex,
        assignment=_of_topics_there(has, image),
        target=_of_topics_there(group.targets.get(member.member_id, {}), image),
        is_classic=member.uses_classic,
    )


def _of_topics_there(
    partitions: TargetPartitions, image: TopicsImage
) -> tuple[TopicPartitions, ...]:
    return as_message({topic: each for topic, each in partitions.items() if topic in image.name_of})


def as_text(group: Group, image: TopicsImage) -> str:
    """Return a group as text: its epochs, then each member's current and missing partitions."""
    return "\n".join(_lines(group, image))


def _lines(group: Group, image: TopicsImage) -> Iterator[str]:
    yield (
        f"group {group.group_id}: {state_of(group)}, epoch {group.epoch}, "
        f"target of epoch {group.target_epoch}, {_count(len(group.members), 'member')}"
    )
    for member in sorted(group, key=lambda member: (member.metadata.client_id, member.member_id)):
        current, metadata = member.current, member.metadata
        static = f" ({metadata.instance_id})" if metadata.instance_id else ""
        state = current.state.name.lower().replace("_", " ")
        yield f"  {metadata.client_id} {member.member_id}{static}: epoch {current.epoch}, {state}"
        yield f"    has {_in_short(current.assigned, image)}"
        if current.revoking:
            yield f"    revokes {_in_short(current.revoking, image)}"
        missing = _missing(current.assigned, group.targets.get(member.member_id, {}))
        if missing:
            yield f"    waits for {_in_short(missing, image)}"


def _missing(assigned: AssignedEpochs, wanted: TargetPartitions) -> TargetPartitions:
    left = {
        topic: tuple(number for number in numbers if number not in assigned.get(topic, {}))
        for topic, numbers in wanted.items()
    }
    return {topic: numbers for topic, numbers in left.items() if numbers}


def _in_short(partitions: AssignedEpochs | TargetPartitions, image: TopicsImage) -> str:
    return " ".join(map(str, named(partitions, image))) or "nothing"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
