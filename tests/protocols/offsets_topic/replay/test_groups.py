"""Groups built from records: the rules of a load, type by type."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    Key,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    UnknownValue,
    Value,
)
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from protocols.offsets_topic.records.share import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from protocols.offsets_topic.records.streams import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
)
from protocols.offsets_topic.replay import (
    BrokenLogError,
    ClassicGroup,
    GroupState,
    GroupType,
    Loaded,
    MemberState,
    replayed,
)

TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
M1 = MemberMetadata(
    member_id="m1", client_id="c", client_host="/h", session_timeout=6000, subscription=b""
)


def loaded(*records: tuple[Key, Value | None]) -> Loaded:
    """Return what records come to, one log offset after the other."""
    state = Loaded()
    for log_offset, record in enumerate(records):
        state = replayed(state, Record(*record), log_offset)
    return state


def classic(generation: int, *members: MemberMetadata, protocol_type: str = "consumer"):
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol="range" if members else None,
        leader=members[0].member_id if members else None,
        members=members,
    )
    return GroupMetadataKey("g"), value


COMMIT = (OffsetCommitKey("g", "t", 0), OffsetCommitValue(5, 0))
EPOCH = (ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(epoch=2))
TARGET_EPOCH = (
    ConsumerGroupTargetAssignmentMetadataKey("g"),
    ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=2),
)


def metadata(member_id: str = "a"):
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("t",),
        subscribed_topic_regex="",
        rebalance_timeout_ms=300_000,
        server_assignor=None,
        classic_member_metadata=None,
    )
    return ConsumerGroupMemberMetadataKey("g", member_id), value


def target(*partitions: int, member_id: str = "a"):
    topics = (TopicPartitions(topic_id=TOPIC, partitions=partitions),)
    return (
        ConsumerGroupTargetAssignmentMemberKey("g", member_id),
        ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics),
    )


def current(epoch: int, *partitions: int, state: int = 0, member_id: str = "a"):
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=epoch,
        previous_member_epoch=0,
        state=state,
        assigned_partitions=(AssignedPartitions(topic_id=TOPIC, partitions=partitions),),
        partitions_pending_revocation=(),
    )
    return ConsumerGroupCurrentMemberAssignmentKey("g", member_id), value


JOINED = (metadata(), EPOCH, target(0, 1), TARGET_EPOCH, current(2, 0, 1))
"""One member, alone and stable."""


def gone(*records: tuple[Key, Value | None]) -> list[tuple[Key, None]]:
    """Return the tombstones of these records."""
    return [(key, None) for key, _ in records]


# -- classic groups ----------------------------------------------------------------------------


def test_a_classic_group_is_its_newest_record():
    """Whole: with members it is Stable, without Empty."""
    stable, empty = loaded(classic(1, M1)), loaded(classic(1, M1), classic(2))

    assert (GroupState.STABLE, 1) == (
        stable.groups["g"].state,
        stable.groups["g"].metadata.generation,
    )
    assert (GroupState.EMPTY, 2) == (empty.groups["g"].state, empty.groups["g"].metadata.generation)


def test_a_classic_group_replaces_and_removes_a_group_of_any_type():
    """As when a consumer group is downgraded, or a classic one upgraded."""
    assert ClassicGroup(classic(3)[1]) == loaded(*JOINED, classic(3)).groups["g"]
    assert "g" not in loaded(*JOINED, (GroupMetadataKey("g"), None)).groups


def test_the_offset_of_an_unknown_group_makes_a_simple_one():
    """Empty, without a record of its own; its deletion makes none."""
    assert ClassicGroup() == loaded(COMMIT).groups["g"]
    assert loaded(COMMIT).groups["g"].is_simple
    assert Loaded() == loaded((COMMIT[0], None))


def test_the_deletion_of_a_group_leaves_its_offsets():
    """They have tombstones of their own."""
    left = loaded(classic(1), COMMIT, (GroupMetadataKey("g"), None))

    assert "g" not in left.groups
    assert 1 == len(left.offsets.committed["g"])


@pytest.mark.parametrize("group", [COMMIT, classic(0, protocol_type="")])
def test_records_of_another_type_replace_a_simple_group(group):
    """Also one that a join began and that never had a member."""
    assert GroupType.CONSUMER is loaded(group, EPOCH).groups["g"].type


@pytest.mark.parametrize("members", [(M1,), ()])
def test_records_of_another_type_do_not_go_with_a_classic_group(members):
    """A load fails there; a group of a protocol type is not simple without members, either."""
    with pytest.raises(BrokenLogError, match="a record of a consumer group, but g is a classic"):
        loaded(classic(1, *members), EPOCH)


# -- consumer groups ---------------------------------------------------------------------------


def test_a_consumer_group_is_put_together_record_by_record():
    """Its state follows from epochs and members."""
    states = [loaded(*JOINED[:count]).groups["g"].state for count in range(1, 6)]

    assert ["Reconciling", "Assigning", "Assigning", "Reconciling", "Stable"] == states
    group = loaded(*JOINED).groups["g"]
    assert (2, 2, 2) == (group.epoch, group.target_epoch, group.members["a"].epoch)
    assert (0, 1) == group.targets["a"].topic_partitions[0].partitions


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (0, MemberState.STABLE),
        (1, MemberState.UNREVOKED_PARTITIONS),
        (2, MemberState.UNRELEASED_PARTITIONS),
        (3, MemberState.UNKNOWN),
    ],
)
def test_a_member_that_is_on_its_way_keeps_the_group_reconciling(number, state):
    """Even at the target's epoch."""
    group = loaded(*JOINED, current(2, 0, state=number)).groups["g"]

    assert state is group.members["a"].state
    assert (number == 0) == (group.state is GroupState.STABLE)


def test_a_member_away_at_minus_two_keeps_the_group_reconciling():
    """A static member that may come back."""
    group = loaded(*JOINED, current(-2, 0)).groups["g"]

    assert GroupState.RECONCILING is group.state


def test_a_member_goes_by_its_three_tombstones():
    """Current assignment, target, metadata; then the group is empty."""
    group = loaded(*JOINED, *gone(current(0), target(), metadata())).groups["g"]

    assert (GroupState.EMPTY, 0, 0) == (group.state, len(group.members), len(group.targets))


def test_a_resolved_pattern_belongs_to_its_group_until_its_tombstone():
    """A group has one for each pattern of its members."""
    key = ConsumerGroupRegularExpressionKey("g", "t.*")
    value = ConsumerGroupRegularExpressionValue(topics=("t",), version=3, timestamp=5)
    before = loaded(*JOINED, (key, value)).groups["g"]
    after = loaded(*JOINED, (key, value), (key, None)).groups["g"]

    assert (value, False) == (before.more[key], key in after.more)
    assert loaded(*JOINED, (key, None)).groups["g"].more == after.more


def test_a_group_goes_by_its_tombstones():
    """Also by that of its topics, whether it had such a record or not."""
    empty = (*JOINED, *gone(current(0), target(), metadata()))
    topics = (ConsumerGroupPartitionMetadataKey("g"), None)

    assert Loaded() == loaded(*empty, *gone(TARGET_EPOCH), topics, *gone(EPOCH))


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (gone(metadata()), "member a is deleted before its current assignment"),
        (gone(current(0), metadata()), "member a is deleted before its target"),
        (gone(EPOCH), "the group is deleted while it has 1 members"),
        (gone(TARGET_EPOCH), "the target epoch is deleted before 1 targets"),
        (
            gone(current(0), target(), metadata(), EPOCH),
            "the group is deleted before its target epoch",
        ),
    ],
)
def test_tombstones_out_of_order_make_a_load_fail(records, reason):
    """No coordinator writes them so."""
    with pytest.raises(BrokenLogError, match=reason):
        loaded(*JOINED, *records)


def test_tombstones_of_what_is_not_there_are_ignored():
    """Groups and members alike; compaction may have taken what they removed."""
    assert Loaded() == loaded(*gone(*JOINED, classic(1)))
    others = gone(metadata("b"), target(member_id="b"), current(0, member_id="b"))
    assert loaded(*JOINED) == loaded(*JOINED, *others)


def test_a_simple_group_is_removed_by_the_tombstones_of_a_consumer_group():
    """Compaction leaves them when offsets were committed after the group's last change."""
    left = loaded(COMMIT, *gone(TARGET_EPOCH, EPOCH))

    assert "g" not in left.groups
    assert "g" in left.offsets.committed


# -- share and streams groups ------------------------------------------------------------------


def test_a_share_group_is_empty_or_stable():
    """Members take their targets without a handshake."""
    epoch = (ShareGroupMetadataKey("g"), ShareGroupMetadataValue(epoch=7, metadata_hash=0))
    member = ShareGroupMemberMetadataValue(
        rack_id=None, client_id="c", client_host="/h", subscribed_topic_names=("t",)
    )
    joined = (ShareGroupMemberMetadataKey("g", "a"), member)

    assert GroupState.EMPTY is loaded(epoch).groups["g"].state
    assert GroupState.STABLE is loaded(epoch, joined).groups["g"].state
    assert (GroupType.SHARE, 7) == (
        loaded(epoch).groups["g"].type,
        loaded(epoch).groups["g"].epoch,
    )


STREAMS_EPOCH = (
    StreamsGroupMetadataKey("g"),
    StreamsGroupMetadataValue(epoch=3, metadata_hash=0),
)


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (1, MemberState.STABLE),
        (2, MemberState.UNREVOKED_TASKS),
        (3, MemberState.UNRELEASED_TASKS),
        (0, MemberState.UNKNOWN),
    ],
)
def test_the_states_of_streams_members_have_numbers_of_their_own(number, state):
    """The group's state is not in the log."""
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=3,
        previous_member_epoch=2,
        state=number,
        active_tasks=(),
        standby_tasks=(),
        warmup_tasks=(),
        active_tasks_pending_revocation=(),
        standby_tasks_pending_revocation=(),
        warmup_tasks_pending_revocation=(),
    )
    here = (StreamsGroupCurrentMemberAssignmentKey("g", "a"), value)
    group = loaded(STREAMS_EPOCH, here).groups["g"]

    assert (GroupType.STREAMS, state, None) == (group.type, group.members["a"].state, group.state)
    assert GroupState.EMPTY is loaded(STREAMS_EPOCH).groups["g"].state


def test_a_streams_group_may_go_before_the_targets_of_members_that_never_came():
    """Kafka looks at members and the target epoch only."""
    value = StreamsGroupTargetAssignmentMemberValue(
        active_tasks=(), standby_tasks=(), warmup_tasks=()
    )
    late = (StreamsGroupTargetAssignmentMemberKey("g", "a"), value)
    epoch_gone = (StreamsGroupTargetAssignmentMetadataKey("g"), None)

    assert Loaded() == loaded(STREAMS_EPOCH, epoch_gone, late, *gone(STREAMS_EPOCH))


# -- what is not known -------------------------------------------------------------------------


def test_an_unknown_type_is_skipped_and_an_unknown_version_is_not():
    """A load passes over the one and fails at the other."""
    key = UnknownKey(24, b"\0\1g")

    assert loaded(COMMIT) == loaded(COMMIT, (key, UnknownValue(b"\0\0")), (key, None))
    with pytest.raises(BrokenLogError, match="version 9 of a value of type 2 is not known"):
        loaded((GroupMetadataKey("g"), UnknownValue(b"\0\x09rest")))


def test_two_members_cannot_own_a_partition_at_one_epoch():
    """A load fails; a later epoch of the new owner is fine, as a compacted log may have it."""
    later = current(2, 0, member_id="b")
    earlier = current(1, 0, member_id="a")

    assert {TOPIC: {0: 2}} == {
        topic: dict(partitions)
        for topic, partitions in loaded(earlier, later).groups["g"].epochs.items()
    }
    with pytest.raises(BrokenLogError, match=f"{TOPIC}-0 at epoch 2, but it is still owned"):
        loaded(current(2, 0, member_id="a"), later)
    with pytest.raises(BrokenLogError, match="at epoch 1, but it is still owned at epoch 2"):
        loaded(later, earlier)


def test_the_release_of_an_earlier_owner_leaves_the_later_one_its_partition():
    """In a compacted log it may come later: its epoch is not that of the owner."""
    owners = current(1, 0, member_id="a"), current(2, 0, member_id="b")
    kept = loaded(*owners, current(3, member_id="a")).groups["g"].epochs

    assert {TOPIC: {0: 2}} == {topic: dict(partitions) for topic, partitions in kept.items()}


def test_a_partition_that_its_member_released_can_be_given_at_any_epoch():
    """By a new current assignment, or by the end of the member."""
    released = current(2, member_id="a")

    assert loaded(current(2, 0, member_id="a"), released, current(2, 0, member_id="b"))
    assert loaded(current(2, 0, member_id="a"), *gone(released), current(1, 0, member_id="b"))
