"""Groups of every type as values that JSON can hold."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from assignors.types import TopicPartition
from emulator.logs.offsets_log.describing import NOTHING_LOADED, follow, group_json, groups_of
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    Record,
    UnknownKey,
    encode_assignment,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartitions,
)
from protocols.offsets_topic.records.share import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from protocols.offsets_topic.records.streams import (
    AssignedTaskIds,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    TaskIds,
)
from protocols.offsets_topic.replay import NO_PRODUCER_ID, Loaded

from ....protocols.offsets_topic.records.strategies import records
from .segments import commit

TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"


def folded(*steps: Record) -> Loaded:
    state = NOTHING_LOADED
    for log_offset, record in enumerate(steps):
        state = follow(state, record, log_offset, NO_PRODUCER_ID).loaded
    return state


def described(*steps: Record) -> dict:
    """Return what JSON says of the group after these records."""
    return json.loads(json.dumps(group_json(folded(*steps), "g")))


def classic_member(assignment: bytes) -> dict:
    member = MemberMetadata(
        member_id="m-1",
        group_instance_id="i",
        client_id="m",
        client_host="/h",
        session_timeout=1,
        subscription=b"",
        assignment=assignment,
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="range", leader="m-1", members=(member,)
    )
    (shown,) = described(Record(GroupMetadataKey("g"), value))["members"]
    return shown


def test_a_classic_member_has_its_partitions_by_topic():
    """In order, whatever order the leader gave them in."""
    given_out = [TopicPartition("u", 1), TopicPartition("t", 2), TopicPartition("t", 0)]

    assert {
        "memberId": "m-1",
        "groupInstanceId": "i",
        "clientId": "m",
        "clientHost": "/h",
        "assigned": {"t": [0, 2], "u": [1]},
    } == classic_member(encode_assignment(given_out))


def test_an_assignment_of_another_protocol_is_shown_raw():
    """Connect's, say; none at all is no partition."""
    assert {"raw": "ff"} == classic_member(b"\xff")["assigned"]
    assert {} == classic_member(b"")["assigned"]


def test_offsets_are_numbers_by_topic_and_partition():
    """In order; topic ids where commits carried them."""
    shown = described(
        commit(partition=10, offset=7), commit(partition=9, offset=8), commit(topic="s")
    )

    assert {"s": {"0": 5}, "t": {"9": 8, "10": 7}} == shown["offsets"]
    assert ["9", "10"] == list(shown["offsets"]["t"])
    assert "topicIds" not in shown


def test_topic_ids_are_shown_with_commits_that_have_them():
    """The members of a consumer group have partitions by these ids."""
    record = commit()
    with_id = record._replace(value=record.value._replace(topic_id=TOPIC))

    assert {TOPIC: "t"} == described(with_id)["topicIds"]


def test_a_consumer_group_has_patterns_and_targets_without_a_member():
    """As during an operation."""
    pattern = ConsumerGroupRegularExpressionValue(topics=("a", "b"), version=1, timestamp=2)
    partitions = (TopicPartitions(topic_id=TOPIC, partitions=(2, 1)),)
    target = ConsumerGroupTargetAssignmentMemberValue(topic_partitions=partitions)
    shown = described(
        Record(ConsumerGroupRegularExpressionKey("g", "a|b"), pattern),
        Record(ConsumerGroupTargetAssignmentMemberKey("g", "m"), target),
    )

    assert {"a|b": ["a", "b"]} == shown["regularExpressions"]
    assert {"m": {TOPIC: [1, 2]}} == shown["targetsOfOthers"]
    assert ("consumer", "Empty", []) == (shown["type"], shown["state"], shown["members"])


def test_a_share_group_has_epochs_and_members():
    """It has no revocations and no static members."""
    member = ShareGroupMemberMetadataValue(
        rack_id=None, client_id="c", client_host="/h", subscribed_topic_names=("t",)
    )
    current = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=4,
        previous_member_epoch=3,
        state=0,
        assigned_partitions=(TopicPartitions(topic_id=TOPIC, partitions=(0,)),),
    )
    shown = described(
        Record(ShareGroupMemberMetadataKey("g", "m"), member),
        Record(ShareGroupCurrentMemberAssignmentKey("g", "m"), current),
    )

    assert ("share", "Stable", 1, 1) == tuple(
        shown[name] for name in ("type", "state", "groupEpoch", "targetEpoch")
    )
    assert {
        "memberId": "m",
        "clientId": "c",
        "clientHost": "/h",
        "memberEpoch": 4,
        "previousMemberEpoch": 3,
        "state": "STABLE",
        "assigned": {TOPIC: [0]},
        "target": {},
    } == shown["members"][0]


def test_a_streams_group_has_tasks_by_role():
    """Roles without tasks are left out; the log does not have its state."""
    none: tuple[AssignedTaskIds, ...] = ()
    current = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=4,
        previous_member_epoch=3,
        state=2,
        active_tasks=(AssignedTaskIds(subtopology_id="0", partitions=(1, 0)),),
        standby_tasks=none,
        warmup_tasks=none,
        active_tasks_pending_revocation=none,
        standby_tasks_pending_revocation=(AssignedTaskIds(subtopology_id="1", partitions=(3,)),),
        warmup_tasks_pending_revocation=none,
    )
    target = StreamsGroupTargetAssignmentMemberValue(
        active_tasks=(),
        standby_tasks=(),
        warmup_tasks=(TaskIds(subtopology_id="1", partitions=(2,)),),
    )
    shown = described(
        Record(StreamsGroupCurrentMemberAssignmentKey("g", "m"), current),
        Record(StreamsGroupTargetAssignmentMemberKey("g", "m"), target),
    )

    (member,) = shown["members"]
    assert ("streams", None, "UNREVOKED_TASKS") == (shown["type"], shown["state"], member["state"])
    assert {"active": {"0": [0, 1]}} == member["assigned"]
    assert {"standby": {"1": [3]}} == member["pendingRevocation"]
    assert {"warmup": {"1": [2]}} == member["target"]


def of_one_group(record: Record) -> Record:
    """Return a record about the group ``g``, as all others."""
    if isinstance(record.key, UnknownKey):
        return record
    return record._replace(key=record.key._replace(**{record.key._fields[0]: "g"}))


@given(st.lists(records.map(of_one_group), max_size=8))
def test_any_records_can_be_followed_and_described(drawn):
    """Whatever they are and in whatever order; a second look says the same."""
    state = folded(*drawn)

    assert groups_of(state) in ([], ["g"])
    assert json.dumps(group_json(state, "g")) == json.dumps(group_json(folded(*drawn), "g"))
