"""Describe a consumer group: the response of ConsumerGroupDescribe.

Source: ``ConsumerGroup.asDescribedGroup``.
"""

from __future__ import annotations

from protocols.groups.kip848.group import (
    Group,
    Member,
    TargetPartitions,
    as_message,
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


def described(
    group: Group | None, request: ConsumerGroupDescribeRequest, broker: Broker
) -> ConsumerGroupDescribeResponse:
    """Describe a group as of the durable log; None: there is no such group."""
    if group is None:
        return ConsumerGroupDescribeResponse(
            group_id=request.group_id, error=ErrorCode.GROUP_ID_NOT_FOUND
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
