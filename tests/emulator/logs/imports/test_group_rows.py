"""The rows of groups, record type by record type."""

from __future__ import annotations

import pytest

from assignors.types import Subscription, TopicPartition
from emulator.logs.imports.group_rows import KINDS, group_row
from protocols.offsets_topic import records as kinds
from protocols.offsets_topic.records import (
    Record,
    consumer,
    encode_assignment,
    encode_subscription,
    share,
    streams,
)

from .logs import bytes_of, known_fields, rows_in

PARTS = (consumer.TopicPartitions(topic_id="id", partitions=(1, 2)),)
ASSIGNED = (consumer.AssignedPartitions(topic_id="id", partitions=(1, 2)),)
TASKS = (streams.TaskIds(subtopology_id="0", partitions=(3,)),)
RUNNING = (streams.AssignedTaskIds(subtopology_id="0", partitions=(3,)),)
NO_TASKS = dict.fromkeys(
    (
        *("standby_tasks", "warmup_tasks", "active_tasks_pending_revocation"),
        *("standby_tasks_pending_revocation", "warmup_tasks_pending_revocation"),
    ),
    (),
)
PLACE = {"member_epoch": 5, "previous_member_epoch": 4}
CLIENT = {"client_id": "c", "client_host": "/h"}
HAS = {"member_id": "m", "assignment": [{"topic": "id", "partitions": [1, 2]}]}
RUNS = {"member_id": "m", "assignment": [{"topic": "0", "partitions": [3]}]}


def row_of(record: Record) -> dict:
    """Return what a row says beyond its place and its group."""
    row = known_fields(group_row(record, 7, 1_000))
    assert (7, 1_000, "g") == (row.pop("log_offset"), row.pop("timestamp"), row.pop("group"))
    assert KINDS[row.pop("record_type")] == row.pop("kind")
    assert record.value is None or row.pop("is_tombstone") is False
    return row


def member(**more: object) -> kinds.MemberMetadata:
    """Return a member of a classic group."""
    return kinds.MemberMetadata(
        **{
            **CLIENT,
            "member_id": "m",
            "group_instance_id": "s",
            "rebalance_timeout": 300,
            "session_timeout": 45,
            "subscription": encode_subscription(Subscription(topics=("t",))),
            "assignment": encode_assignment([TopicPartition("t", 0), TopicPartition("t", 3)]),
            **more,
        }
    )


def classic(*members: kinds.MemberMetadata, protocol_type: str = "consumer") -> Record:
    """Return a generation of a classic group."""
    value = kinds.GroupMetadataValue(
        protocol_type=protocol_type, generation=4, protocol="range", leader="m", members=members
    )
    return Record(kinds.GroupMetadataKey("g"), value)


def test_a_classic_generation_has_all_its_members():
    """With their subscriptions and their assignments."""
    row = row_of(classic(member(), member(member_id="n", group_instance_id=None)))

    first, second = row.pop("members")
    assert {"epoch": 4, "protocol": "range", "leader": "m", "state": "Stable"} == row
    assert {
        **CLIENT,
        "member_id": "m",
        "instance_id": "s",
        "session_timeout_ms": 45,
        "rebalance_timeout_ms": 300,
        "topics": ["t"],
        "assignment": [{"topic": "t", "partitions": (0, 3)}],
    } == first
    assert ("n", None) == (second["member_id"], second.get("instance_id"))


def test_a_generation_without_members_is_empty():
    """As its coordinator calls it."""
    assert ("Empty", []) == tuple(row_of(classic())[name] for name in ("state", "members"))


@pytest.mark.parametrize(
    "record",
    [
        classic(member(subscription=b"\0", assignment=b"\0\0\0\0\0\1")),
        classic(member(subscription=b"", assignment=b"")),
        classic(member(), protocol_type="connect"),
    ],
    ids=["spoilt", "none", "of another protocol"],
)
def test_bytes_of_clients_that_cannot_be_read_are_null(record):
    """The rest of the member is there."""
    (only,) = row_of(record)["members"]

    assert ("m", 45) == (only["member_id"], only["session_timeout_ms"])
    assert not {"topics", "assignment"} & only.keys()


NEWER = [
    (
        consumer.ConsumerGroupMetadataKey("g"),
        consumer.ConsumerGroupMetadataValue(epoch=3),
        {"epoch": 3},
    ),
    (
        consumer.ConsumerGroupMemberMetadataKey("g", "m"),
        consumer.ConsumerGroupMemberMetadataValue(
            **CLIENT,
            instance_id="s",
            rack_id=None,
            subscribed_topic_names=("t",),
            subscribed_topic_regex="",
            rebalance_timeout_ms=300,
            server_assignor="uniform",
            classic_member_metadata=consumer.ClassicMemberMetadata(session_timeout_ms=45),
        ),
        {
            "protocol": "uniform",
            "members": [
                {
                    **CLIENT,
                    "member_id": "m",
                    "instance_id": "s",
                    "session_timeout_ms": 45,
                    "rebalance_timeout_ms": 300,
                    "topics": ["t"],
                }
            ],
        },
    ),
    (
        consumer.ConsumerGroupTargetAssignmentMetadataKey("g"),
        consumer.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=6),
        {"epoch": 6},
    ),
    (
        consumer.ConsumerGroupTargetAssignmentMemberKey("g", "m"),
        consumer.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=PARTS),
        {"members": [HAS]},
    ),
    (
        consumer.ConsumerGroupCurrentMemberAssignmentKey("g", "m"),
        consumer.ConsumerGroupCurrentMemberAssignmentValue(
            **PLACE, state=1, assigned_partitions=ASSIGNED, partitions_pending_revocation=()
        ),
        {"epoch": 5, "state": "unrevoked partitions", "members": [HAS]},
    ),
    (
        consumer.ConsumerGroupRegularExpressionKey("g", "t.*"),
        consumer.ConsumerGroupRegularExpressionValue(topics=("t",), version=1, timestamp=2),
        {},
    ),
    (
        share.ShareGroupMemberMetadataKey("g", "m"),
        share.ShareGroupMemberMetadataValue(**CLIENT, rack_id=None, subscribed_topic_names=("t",)),
        {"members": [{**CLIENT, "member_id": "m", "topics": ["t"]}]},
    ),
    (
        share.ShareGroupCurrentMemberAssignmentKey("g", "m"),
        share.ShareGroupCurrentMemberAssignmentValue(**PLACE, state=9, assigned_partitions=PARTS),
        {"epoch": 5, "state": "unknown (9)", "members": [HAS]},
    ),
    (
        streams.StreamsGroupMemberMetadataKey("g", "m"),
        streams.StreamsGroupMemberMetadataValue(
            **CLIENT,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=300,
            topology_epoch=1,
            process_id="p",
            user_endpoint=None,
            client_tags=(),
        ),
        {"members": [{**CLIENT, "member_id": "m", "rebalance_timeout_ms": 300}]},
    ),
    (
        streams.StreamsGroupTargetAssignmentMemberKey("g", "m"),
        streams.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=TASKS, standby_tasks=(), warmup_tasks=()
        ),
        {"members": [RUNS]},
    ),
    (
        streams.StreamsGroupCurrentMemberAssignmentKey("g", "m"),
        streams.StreamsGroupCurrentMemberAssignmentValue(
            **PLACE, **NO_TASKS, state=0, active_tasks=RUNNING
        ),
        {"epoch": 5, "state": "stable", "members": [RUNS]},
    ),
    (
        streams.StreamsGroupTopologyKey("g"),
        streams.StreamsGroupTopologyValue(epoch=2, subtopologies=()),
        {"epoch": 2},
    ),
]


@pytest.mark.parametrize(
    ("key", "value", "expected"), NEWER, ids=[type(k).__name__ for k, _, _ in NEWER]
)
def test_records_of_the_newer_protocols_say_what_they_carry(key, value, expected):
    """Epochs, and one member each."""
    row = row_of(Record(key, value))

    assert row.pop("member_id", None) == getattr(key, "member_id", None)
    assert expected == row


def test_a_tombstone_says_what_it_deletes():
    """Group, member and kind; nothing else is known."""
    row = row_of(Record(consumer.ConsumerGroupMemberMetadataKey("g", "m"), None))

    assert {"is_tombstone": True, "member_id": "m"} == row


def test_a_real_group_of_each_protocol_has_its_members():
    """With topics by name in a classic group, by id in one of the consumer protocol."""
    classic_rows = [row for row in rows_in(bytes_of(11))["groups"] if row["record_type"] == 2]
    current = [row for row in rows_in(bytes_of(4))["groups"] if row["record_type"] == 8]

    topics = {
        each["topic"]
        for row in classic_rows
        for m in row["members"] or ()
        for each in m["assignment"]
    }
    ids = {
        each["topic"] for row in current for m in row["members"] or () for each in m["assignment"]
    }
    assert all("-" in topic for topic in topics)
    assert topics
    assert {22} == {len(each) for each in ids}
