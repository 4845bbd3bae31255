"""OffsetCommit: who may store offsets, and what is stored."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.facts import CommitAccepted, CommitRefused
from protocols.groups.classic.states import Sender, State
from protocols.messages import OffsetCommitRequest, OffsetToCommit, TopicDescription
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record

from .driver import GroupDriver
from .situations import Situation
from .wire import EPOCH_MS, GROUP, errors_of

OK = ErrorCode.NONE
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
BUSY = ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("state", "current", "older", "unknown", "nameless"),
    [
        (State.ABSENT, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND, OK, OK),
        (State.EMPTY, UNKNOWN, UNKNOWN, OK, OK),
        (State.PREPARING_REBALANCE, OK, ILLEGAL, UNKNOWN, ILLEGAL),
        (State.COMPLETING_REBALANCE, BUSY, ILLEGAL, UNKNOWN, ILLEGAL),
        (State.STABLE, OK, ILLEGAL, UNKNOWN, ILLEGAL),
    ],
    ids=lambda value: value.label if isinstance(value, State) else "",
)
def test_a_members_commit_by_state(
    state: State, current: ErrorCode, older: ErrorCode, unknown: ErrorCode, nameless: ErrorCode
):
    """Of its generation, of the one before, without either, and without a generation."""
    claims = [(True, 0), (True, -1), (False, None), (True, None)]
    seen = []
    for named, behind in claims:
        it = Situation(state, Sender.MEMBER)
        generation = it.before.generation if it.before else 1
        call = it.driver.commit(
            it.follower if named else "",
            generation=-1 if behind is None else generation + behind,
        )
        seen += errors_of(call)

    assert [current, older, unknown, nameless] == seen


def test_old_clients_get_illegal_generation_for_a_missing_group():
    """Up to version 8."""
    driver = GroupDriver()

    assert [ILLEGAL] == errors_of(driver.commit("a-1", generation=3, version=8))
    assert State.ABSENT == driver.state


def test_offsets_alone_make_a_simple_group():
    """Without a generation; ids do not matter, and no group record is written."""
    driver = GroupDriver()

    call = driver.commit("any", {3: 7}, generation=-1, group_instance_id="I")

    assert [OK] == errors_of(call)
    assert (State.EMPTY, None) == (driver.state, driver.group.protocol_type)
    assert [] == driver.group_records()
    assert 7 == driver.committed(3)


def test_a_commit_is_one_batch_in_the_order_of_the_request():
    """Nothing is sorted, and an offset may go back."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    driver.commit(a, {4: 40, 1: 10, 3: 30})
    driver.commit(a, {1: 5})

    assert [4, 1, 3] == [record.key.partition for record in driver.batches[-2]]
    assert 5 == driver.committed(1)


def test_a_record_says_what_was_committed_and_when():
    """Key, offset, epoch, metadata, the coordinator's clock, and the topic's id at that time."""
    driver = GroupDriver(topics=[TopicDescription("t", "id-of-t", (1, 2))])
    driver.advance(1_234.567)
    offset = OffsetToCommit(TopicPartition("t", 1), 42, 3, "note")

    driver.send(OffsetCommitRequest(group_id=GROUP, offsets=(offset,)))

    assert [
        Record(
            OffsetCommitKey(GROUP, "t", 1),
            OffsetCommitValue(
                offset=42,
                leader_epoch=3,
                metadata="note",
                commit_timestamp=EPOCH_MS + 1_234,
                topic_id="id-of-t",
            ),
        )
    ] == driver.log


def test_a_retention_time_of_old_clients_is_kept():
    """The offset expires so long after its commit; newer versions have no such field."""
    driver = GroupDriver()

    driver.commit(offsets={0: 1}, retention_time_ms=60_000, version=4)
    driver.commit(offsets={1: 1}, retention_time_ms=60_000, version=5)

    assert [driver.now_ms + 60_000, -1] == [record.value.expire_timestamp for record in driver.log]


def test_an_accepted_commit_keeps_the_session():
    """Even if each of its partitions is refused for its metadata."""
    driver = GroupDriver(offset_metadata_max_bytes=3)
    (a,) = driver.stable("a")
    driver.advance(5_000)

    call = driver.commit(a, metadata="four")

    assert [ErrorCode.OFFSET_METADATA_TOO_LARGE] == errors_of(call)
    assert 45_000 == driver.session_ms(a)
    assert [] == driver.emitted(CommitAccepted)


def test_a_refused_commit_does_not():
    """A wrong generation is no sign of life."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.advance(5_000)

    driver.commit(a, generation=0)

    assert 40_000 == driver.session_ms(a)
    (reported,) = driver.emitted(CommitRefused)
    assert (ILLEGAL.name, a, 0) == (reported.error, reported.member_id, reported.generation)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [("x" * 4, OK), ("é" * 4, OK), ("😀" * 2, OK), ("x" * 5, None), ("😀" * 3, None)],
)
def test_metadata_is_measured_in_utf_16_units(metadata: str, error: ErrorCode | None):
    """Not in bytes, whatever the setting's name says."""
    driver = GroupDriver(offset_metadata_max_bytes=4)

    expected = ErrorCode.OFFSET_METADATA_TOO_LARGE if error is None else error
    assert [expected] == errors_of(driver.commit(metadata=metadata))


def test_partitions_too_large_leave_the_others_alone():
    """The error is for one, the rest is stored."""
    driver = GroupDriver(offset_metadata_max_bytes=4)
    offsets = (
        OffsetToCommit(TopicPartition("t", 0), 1, -1, "large"),
        OffsetToCommit(TopicPartition("t", 1), 2, -1, "fits"),
    )

    call = driver.send(OffsetCommitRequest(group_id=GROUP, offsets=offsets))

    assert [ErrorCode.OFFSET_METADATA_TOO_LARGE, OK] == errors_of(call)
    assert [-1, 2] == [driver.committed(0), driver.committed(1)]
    (reported,) = driver.emitted(CommitAccepted)
    assert ((offsets[1].partition, 2),) == reported.offsets


# -- topics the broker does not know ---------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "error"),
    [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (10, ErrorCode.UNKNOWN_TOPIC_ID)],
)
def test_an_unknown_topic_never_reaches_the_group(version: int, error: ErrorCode):
    """The answer does not wait, and no session is kept."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])
    (a,) = driver.stable("a")
    driver.advance(5_000)
    driver.hold = True
    driver.commit(a)

    call = driver.commit(a, topic="gone", version=version)

    assert [error] == errors_of(call)


def test_a_partition_beyond_the_last_is_refused_alone():
    """The others go on to the group."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])

    call = driver.commit(offsets={0: 5, 1: 6})

    assert [OK, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == errors_of(call)
    assert 5 == driver.committed(0)


def test_topics_may_change():
    """The broker's metadata count."""
    driver = GroupDriver(topics=[])

    assert [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == errors_of(driver.commit())

    driver.coordinator.topics_changed([TopicDescription("t", "id", (1,))])

    assert [OK] == errors_of(driver.commit())


def test_a_failed_append_fails_what_was_forwarded():
    """Partitions the broker did not know keep their own error."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])
    driver.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    call = driver.commit(offsets={0: 5, 1: 6})

    assert [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ] == errors_of(call)
    assert State.ABSENT == driver.state
