"""Loads of logs that others wrote: what is skipped, what a load fails at, what comes of it.

The coordinator and ``protocols.offsets_topic.replay``, which follows logs for people, fold the same records
into states of their own; on logs that a real Kafka wrote they come to the same.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from assignors.types import TopicPartition
from protocols.coordinator.machine import GroupCoordinator, Phase
from protocols.coordinator.replay import replayed
from protocols.facts import CommitRefused
from protocols.groups.kip848.group import CurrentAssignment
from protocols.groups.kip848.group import Group as ConsumerGroup
from protocols.groups.shard import Durable
from protocols.machine import Report, Send
from protocols.messages import (
    Envelope,
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import (
    ZERO_TOPIC_ID,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    UnknownValue,
    decode,
)
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.offsets_topic.records.share import ShareGroupMetadataKey, ShareGroupMetadataValue
from protocols.offsets_topic.records.streams import StreamsGroupMetadataKey
from protocols.offsets_topic.replay import ClassicGroup, GroupType, Loaded, MemberGroup
from protocols.offsets_topic.replay import replayed as followed
from protocols.offsets_topic.segments.reader import BatchRecords, read_log
from protocols.settings import BrokerSettings

ROOT = Path(__file__).parents[3]
SEGMENTS = sorted(
    [
        *(ROOT / "tests/captures/offsets-log").glob("*.log.gz"),
        *(ROOT / "examples/__consumer_offsets-4").glob("*.log.gz"),
    ]
)
TP = TopicPartition("t", 0)
KEY = OffsetCommitKey("g", *TP)
FROM_THE_FUTURE = Record(KEY, UnknownValue(b"\0\x09abc"))


def loading() -> GroupCoordinator:
    coordinator = GroupCoordinator(BrokerSettings(), new_id=lambda prefix: prefix)
    coordinator.durable(1 << 60, 0)
    return coordinator


def loaded(*records: Record) -> Durable:
    coordinator = loading()
    coordinator.replay(enumerate(records))
    coordinator.loaded(0)
    coordinator.check()
    return coordinator.state.durable


# -- what is skipped, and what is not ------------------------------------------------------------


def test_a_commit_of_the_oldest_form_counts_as_any_other():
    """Type 0 was written before there were groups; its tombstone deletes the same offset."""
    old = LegacyOffsetCommitKey("g", *TP)
    stored = Record(old, LegacyOffsetCommitValue(offset=7, metadata="m", commit_timestamp=5))
    value = loaded(stored).offset("g", *TP)

    assert OffsetCommitValue(offset=7, metadata="m", commit_timestamp=5) == value
    assert loaded(stored, Record(old, None)).offset("g", *TP) is None


@pytest.mark.parametrize(
    "record",
    [
        Record(UnknownKey(42, b"\0\1g"), None),
        Record(UnknownKey(9, b""), UnknownValue(b"\0\0\1")),
        Record(ShareGroupMetadataKey("s"), ShareGroupMetadataValue(epoch=1, metadata_hash=0)),
        Record(StreamsGroupMetadataKey("s"), None),
    ],
)
def test_records_of_other_groups_are_skipped(record):
    """Records before and after it count."""
    before = Record(KEY, OffsetCommitValue(offset=1, commit_timestamp=0))
    behind = Record(KEY._replace(partition=1), OffsetCommitValue(offset=2, commit_timestamp=0))

    assert loaded(before, behind) == loaded(before, record, behind)


# -- loads that fail -----------------------------------------------------------------------------


def failed() -> GroupCoordinator:
    coordinator = loading()
    stored = Record(KEY, OffsetCommitValue(offset=1, commit_timestamp=0))
    with pytest.raises(BrokenLogError, match="version 9 of a value of type 1"):
        coordinator.replay([(0, stored), (1, FROM_THE_FUTURE)])
    return coordinator


@pytest.mark.parametrize("value", [b"\0\x09abc", b"\x7f\xff"])
@pytest.mark.parametrize("key", [b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\2\0\1g", b"\0\3\0\1g"])
def test_a_load_fails_at_a_value_of_a_version_that_is_not_known(key, value):
    """Of any type of key that is known."""
    with pytest.raises(BrokenLogError, match="is not known"):
        loaded(decode(key, value))


def test_after_a_load_that_failed_there_is_no_group():
    """Neither does the coordinator begin to serve, nor is it loading any more."""
    coordinator = failed()

    assert Phase.FAILED is coordinator.phase
    assert Durable() == coordinator.state.durable
    assert () == coordinator.unload(5).effects


def test_after_a_failed_load_all_requests_get_not_coordinator():
    """Heartbeats too, which a loading coordinator accepts; commits are reported as refused."""
    coordinator = failed()
    header = Header("c", 1, "c")

    def answers(request: Any) -> list[Any]:
        return list(coordinator.handle(Envelope(header, request), 5).effects)

    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert [Send(header, HeartbeatResponse(error=ErrorCode.NOT_COORDINATOR))] == answers(beat)
    commit = OffsetCommitRequest(group_id="g", offsets=(OffsetToCommit(TP, 1),))
    reported, said = answers(commit)
    assert isinstance(reported, Report)
    assert isinstance(reported.fact, CommitRefused)
    assert ErrorCode.NOT_COORDINATOR.name == reported.fact.error
    assert ((TP, ErrorCode.NOT_COORDINATOR),) == said.message.errors


# -- two folds of one log ------------------------------------------------------------------------


def entries_of(segment: Path) -> list[tuple[int, Record]]:
    """Return the records of a log without transactions, with their log offsets."""
    entries = []
    for part in read_log(gzip.decompress(segment.read_bytes())):
        assert isinstance(part, BatchRecords)
        header = part.batch.header
        assert not header.is_control
        assert not header.is_transactional
        entries += [(record.offset, decode(record.key, record.value)) for record in part.records]
    return entries


def as_coordinator(durable: Durable) -> dict[str, Any]:
    return {name: _coordinated(group) for name, group in durable.groups.items()}


def _coordinated(group: Any) -> Any:
    if not isinstance(group, ConsumerGroup):
        return group
    members = {member.member_id: (member.metadata, current_of(member.current)) for member in group}
    targets = {
        member: {topic: tuple(partitions) for topic, partitions in wanted.items()}
        for member, wanted in group.targets.items()
    }
    return group.epoch, group.target_epoch, members, targets


def current_of(current: CurrentAssignment) -> Any:
    given, revoked = (
        {topic: tuple(sorted(partitions)) for topic, partitions in grants.items()}
        for grants in (current.assigned, current.revoking)
    )
    return current.epoch, current.previous_epoch, int(current.state), given, revoked


def as_followed(loaded: Loaded) -> dict[str, Any]:
    return {name: _followed(group) for name, group in loaded.groups.items()}


def _followed(group: Any) -> Any:
    if isinstance(group, ClassicGroup):
        return group.metadata
    assert isinstance(group, MemberGroup)
    assert GroupType.CONSUMER is group.type
    members = {name: (one.metadata, _moved(one)) for name, one in group.members.items()}
    targets = {name: _listed(target.topic_partitions) for name, target in group.targets.items()}
    return group.epoch, group.target_epoch, members, targets


def _moved(member: Any) -> Any:
    now = member.current
    if now is None:
        return (member.epoch, -1, 0, {}, {})
    assigned, revoking = now.assigned_partitions, now.partitions_pending_revocation
    return (
        member.epoch,
        now.previous_member_epoch,
        now.state,
        _in_order(assigned),
        _in_order(revoking),
    )


def _in_order(topics: Any) -> dict[str, tuple[int, ...]]:
    """Return partitions without the order of the record, which the coordinator's maps change."""
    return {topic: tuple(sorted(numbers)) for topic, numbers in _listed(topics).items()}


def _listed(topics: Any) -> dict[str, tuple[int, ...]]:
    return {topic.topic_id: tuple(topic.partitions) for topic in topics}


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_both_folds_of_a_real_log_come_to_the_same(segment):
    """After every record: the same groups, of the same types, and the same offsets."""
    coordinator, story = loading(), Loaded()
    seen = set()
    for log_offset, record in entries_of(segment):
        coordinator.replay([(log_offset, record)])
        story = followed(story, record, log_offset)
        durable, group_id = coordinator.state.durable, record.key[0]
        assert _coordinated(durable.groups.get(group_id)) == (
            _followed(story.groups[group_id]) if group_id in story.groups else None
        )
        seen.add(type(durable.groups.get(group_id)))

    assert len(seen) > 1
    durable = coordinator.state.durable
    assert as_followed(story) == as_coordinator(durable)
    assert {
        (group, *partition): stored.value
        for group, partitions in story.offsets.committed.items()
        for partition, stored in partitions.items()
    } == {
        (group, topic, number): value
        for group in durable.offsets
        for topic, partitions in durable.topics_of(group).items()
        for number, value in partitions.items()
    }


# -- one rule for the coordinator and for those who follow the log -------------------------------


def _owner(member_id: str, epoch: int) -> Record:
    partitions = (AssignedPartitions(topic_id=ZERO_TOPIC_ID, partitions=(0,)),)
    return Record(
        ConsumerGroupCurrentMemberAssignmentKey("g", member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=epoch,
            previous_member_epoch=0,
            state=0,
            assigned_partitions=partitions,
            partitions_pending_revocation=(),
        ),
    )


USED_CLASSIC = Record(
    GroupMetadataKey("g"),
    GroupMetadataValue(protocol_type="consumer", generation=1, protocol=None, leader=None),
)
TARGET_EPOCH_KEY = ConsumerGroupTargetAssignmentMetadataKey("g")


def _all_followed(records: list[Record]) -> Loaded:
    state = Loaded()
    for log_offset, record in enumerate(records):
        state = followed(state, record, log_offset)
    return state


@pytest.mark.parametrize(
    "records",
    [
        [_owner("a", 2), _owner("b", 2)],
        [_owner("a", 2), _owner("b", 1)],
        [USED_CLASSIC, _owner("a", 1)],
        [USED_CLASSIC, Record(TARGET_EPOCH_KEY, None)],
        [Record(GroupMetadataKey("g"), OffsetCommitValue(offset=1, commit_timestamp=0))],
        [Record(KEY, USED_CLASSIC.value)],
    ],
)
def test_the_coordinator_and_the_log_command_fail_at_the_same_records(records):
    """Two owners at one epoch, consumer records of a used classic group, values of other keys."""
    with pytest.raises(BrokenLogError):
        replayed(Durable(), records)
    with pytest.raises(BrokenLogError):
        _all_followed(records)


def test_tombstones_remove_a_simple_group_for_both():
    """The tombstones of a consumer group, compacted away, behind a commit that is still there."""
    stored = Record(KEY, OffsetCommitValue(offset=1, commit_timestamp=0))
    records = [
        stored,
        Record(TARGET_EPOCH_KEY, None),
        Record(ConsumerGroupMetadataKey("g"), None),
    ]
    durable = replayed(Durable(), records)

    assert "g" not in durable.groups
    assert durable.offset("g", *TP) == stored.value
    assert "g" not in _all_followed(records).groups
