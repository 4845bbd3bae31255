"""Every key and every value there is, as one type each: for annotations alone.

Only a type checker reads the tables of every record type here; a run that needs two of them
does not pay for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from protocols.offsets_topic.records import classic, commits, consumer, share, streams
    from protocols.offsets_topic.records import consumer_assignments as consumer_targets
    from protocols.offsets_topic.records import streams_assignments as streams_targets
    from protocols.offsets_topic.records.record import UnknownKey, UnknownValue

    Key: TypeAlias = (
        commits.LegacyOffsetCommitKey
        | commits.OffsetCommitKey
        | classic.GroupMetadataKey
        | consumer.ConsumerGroupMetadataKey
        | consumer.ConsumerGroupPartitionMetadataKey
        | consumer.ConsumerGroupMemberMetadataKey
        | consumer_targets.ConsumerGroupTargetAssignmentMetadataKey
        | consumer_targets.ConsumerGroupTargetAssignmentMemberKey
        | consumer_targets.ConsumerGroupCurrentMemberAssignmentKey
        | share.ShareGroupMemberMetadataKey
        | share.ShareGroupMetadataKey
        | share.ShareGroupTargetAssignmentMetadataKey
        | share.ShareGroupTargetAssignmentMemberKey
        | share.ShareGroupCurrentMemberAssignmentKey
        | share.ShareGroupStatePartitionMetadataKey
        | consumer.ConsumerGroupRegularExpressionKey
        | streams.StreamsGroupMetadataKey
        | streams.StreamsGroupMemberMetadataKey
        | streams_targets.StreamsGroupTargetAssignmentMetadataKey
        | streams_targets.StreamsGroupTargetAssignmentMemberKey
        | streams_targets.StreamsGroupCurrentMemberAssignmentKey
        | streams.StreamsGroupTopologyKey
        | UnknownKey
    )
    """Keys are tuples, and every one holds its record type, so that no two types' are equal."""

    Value: TypeAlias = (
        commits.LegacyOffsetCommitValue
        | commits.OffsetCommitValue
        | classic.GroupMetadataValue
        | consumer.ConsumerGroupMetadataValue
        | consumer.ConsumerGroupPartitionMetadataValue
        | consumer.ConsumerGroupMemberMetadataValue
        | consumer_targets.ConsumerGroupTargetAssignmentMetadataValue
        | consumer_targets.ConsumerGroupTargetAssignmentMemberValue
        | consumer_targets.ConsumerGroupCurrentMemberAssignmentValue
        | share.ShareGroupMemberMetadataValue
        | share.ShareGroupMetadataValue
        | share.ShareGroupTargetAssignmentMetadataValue
        | share.ShareGroupTargetAssignmentMemberValue
        | share.ShareGroupCurrentMemberAssignmentValue
        | share.ShareGroupStatePartitionMetadataValue
        | consumer.ConsumerGroupRegularExpressionValue
        | streams.StreamsGroupMetadataValue
        | streams.StreamsGroupMemberMetadataValue
        | streams_targets.StreamsGroupTargetAssignmentMetadataValue
        | streams_targets.StreamsGroupTargetAssignmentMemberValue
        | streams_targets.StreamsGroupCurrentMemberAssignmentValue
        | streams.StreamsGroupTopologyValue
        | UnknownValue
    )
else:
    Key = Any
    Value = Any
