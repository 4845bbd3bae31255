"""Batches of an offsets partition: their records, their largest size, and their groups."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.events import (
    Appended,
    AppendFailed,
    CommitAccepted,
    CommitRefused,
)
from protocols.messages import OffsetCommitRequest, OffsetToCommit
from protocols.offsets_topic.segments.header import HEADER_BYTES

from .cluster_bench import LATENCY, MS, REPLICATION, SECOND, Bench

SLOW = 200 * MS
WEEK_AND_MORE = 8 * 24 * 3_600 * SECOND


def limited(size, settings="", **more):
    return Bench(settings=f'"max.message.bytes" = {size}\n{settings}', **more)


def commit(bench, group="g", partitions=1, metadata="", offset=7):
    """Commit one offset in each of the first partitions."""
    offsets = tuple(
        OffsetToCommit(TopicPartition("t", number), offset, metadata=metadata)
        for number in range(partitions)
    )
    return bench.ask(OffsetCommitRequest(group_id=group, offsets=offsets))


def batches(bench):
    return [(what.group, what.log_offset, dict(what.records)) for what in bench.written(Appended)]


# -- how large a batch may be ----------------------------------------------------------------------


def test_a_commit_too_large_for_any_batch_fails_and_is_taken_back():
    """The client gets an unknown server error, as Kafka translates MESSAGE_TOO_LARGE."""
    bench = limited(500)
    assert "NONE" == settled(bench, commit(bench)).error
    call = commit(bench, metadata="m" * 500, offset=9)
    bench.wait(LATENCY)

    assert "UNKNOWN_SERVER_ERROR" == call.error
    assert (7, 1) == (bench.committed(), bench.host().log.end)
    (failed,) = bench.written(AppendFailed)
    assert ("g", 1, 1, "MESSAGE_TOO_LARGE") == (
        failed.group,
        failed.log_offset,
        failed.records,
        failed.error,
    )
    assert ["UNKNOWN_SERVER_ERROR"] == [what.error for what in bench.written(CommitRefused)]
    assert 1 == len(bench.written(CommitAccepted))


def settled(bench, call):
    bench.settle()
    return call


def test_a_batch_may_be_as_large_as_the_limit():
    """And not one byte larger."""
    free = Bench()
    commit(free, partitions=3)
    (written,) = free.written(Appended)
    for limit, error in ((written.size, "NONE"), (written.size - 1, "UNKNOWN_SERVER_ERROR")):
        bench = limited(limit)

        assert error == settled(bench, commit(bench, partitions=3)).error


def test_a_group_too_large_for_a_record_rebalances_for_ever():
    """Its leader gets an unknown server error, and all members join again."""
    bench = limited(330)
    one, two = bench.new_id(), bench.new_id()
    bench.join(one)
    bench.settle()
    assert "NONE" == settled(bench, bench.sync(one, 1, one)).error
    joined = [bench.join(two), bench.join(one)]
    bench.settle()
    leader = str(joined[0].answer.leader)
    stored = bench.sync(leader, 2, one, two)
    bench.settle()

    assert "UNKNOWN_SERVER_ERROR" == stored.error
    assert ("PREPARING_REBALANCE", 2) == bench.group_state()[:2]
    assert ["MESSAGE_TOO_LARGE"] == [what.error for what in bench.written(AppendFailed)]


def test_waiting_records_are_split_where_a_batch_is_full():
    """The rest is written after it, with all that has come meanwhile."""
    one = size_of_one()
    bench = limited(HEADER_BYTES + 3 * (one - HEADER_BYTES))
    bench.brokers.slow_disk(1, SLOW, 0)
    calls = [commit(bench, offset=0)]
    bench.wait(10 * MS)
    calls += [commit(bench, offset=number) for number in (1, 2, 3, 4)]
    bench.wait(SLOW)
    calls.append(commit(bench, offset=5))
    bench.settle()

    assert [(0, 1), (1, 3), (4, 2)] == [
        (offset, records["OffsetCommit"]) for _, offset, records in batches(bench)
    ]
    assert 5 == bench.committed()
    assert [3 * SLOW + REPLICATION + LATENCY] * 2 == [call.at_us for call in calls[4:]]


def size_of_one():
    bench = Bench()
    commit(bench)
    return bench.written(Appended)[0].size


def test_a_batch_too_large_fails_alone():
    """The open batch before it is written."""
    bench = limited(500)
    bench.brokers.slow_disk(1, SLOW, 0)
    commit(bench, offset=1)
    bench.wait(10 * MS)
    calls = [
        commit(bench, offset=2),
        commit(bench, offset=3, metadata="m" * 500),
        commit(bench, offset=4),
    ]
    bench.settle()

    assert ["NONE", "UNKNOWN_SERVER_ERROR", "NONE"] == [call.error for call in calls]
    assert 4 == bench.committed()
    assert [(2, 1)] == [(what.log_offset, what.records) for what in bench.written(AppendFailed)]


# -- sets that need not stand together ---------------------------------------------------------


@pytest.mark.parametrize(("limit", "expected"), [(1_048_588, [8]), (122, [3, 3, 2])])
def test_expired_offsets_are_split_where_a_batch_is_full(limit, expected):
    """No tombstone depends on another one, not even those of one group."""
    bench, written = limited(limit), []
    commit_singly(bench, "a", "b")
    bench.world.run.appended.append(written.append)
    bench.wait(WEEK_AND_MORE)

    assert expected == [len(records) for records in written]
    assert all(record.value is None for records in written for record in records)
    assert bench.group() is None


def commit_singly(bench, *groups):
    """Let each group commit one offset in each of three partitions, at once."""
    bench.wait(SECOND)
    for group in groups:
        for number in range(3):
            offset = OffsetToCommit(TopicPartition("t", number), 7)
            bench.ask(OffsetCommitRequest(group_id=group, offsets=(offset,)))


def test_offsets_of_a_deleted_topic_are_cut_where_a_batch_is_full():
    """As those that expired."""
    bench, written = limited(122), []
    commit_singly(bench, "a", "b")
    bench.world.run.appended.append(written.append)
    bench.shard.topic_deleted("t", bench.world.topics.logs["t"].topic_id)

    assert [3, 3] == [len(records) for records in written]


def test_a_failed_expiration_is_repeated_when_there_is_room():
    """Failed tombstones are reverted, whatever is written of others."""
    bench = limited(122)
    commit_singly(bench, "g")
    bench.brokers.fill_disk(1, 0)
    bench.wait(WEEK_AND_MORE)
    assert 7 == bench.committed()
    bench.brokers.clear_disk(1, 0)
    bench.wait(3_600 * SECOND)

    assert -1 == bench.committed()
    assert "g" not in bench.host().coordinator.state.durable.groups


def test_a_group_that_cannot_be_removed_is_unchanged():
    """It is removed when there is room."""
    bench = Bench()
    for member in bench.form():
        settled(bench, bench.leave(member))
    before = bench.group()
    assert "EMPTY" == before.state.name
    bench.brokers.fill_disk(1, 0)
    bench.wait(3_600 * SECOND)
    assert before.generation == bench.group().generation
    assert bench.written(AppendFailed)
    bench.brokers.clear_disk(1, 0)
    bench.wait(3_600 * SECOND)

    assert bench.group() is None


# -- several groups ------------------------------------------------------------------------------


def test_a_batch_of_several_groups_has_an_event_a_group():
    """Each with its records and its part of the bytes; together they are the batch."""
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    commit(bench, "a")
    bench.wait(10 * MS)
    commit(bench, "b", partitions=2)
    commit(bench, "a")
    commit(bench, "b")
    bench.settle()
    first, *written = bench.written(Appended)
    record = first.size - HEADER_BYTES

    assert [("b", 1, 3), ("a", 3, 1)] == [
        (what.group, what.log_offset, dict(what.records)["OffsetCommit"]) for what in written
    ]
    assert [HEADER_BYTES + 3 * record, record] == [what.size for what in written]
    assert {bench.host().log.log.amount(5).size} == {what.log_size for what in written}


def test_expiration_in_several_groups_has_an_event_a_group():
    """One batch, and an event for each group."""
    bench = Bench()
    bench.wait(SECOND)
    for group in ("a", "b", "c"):
        commit(bench, group)
    bench.wait(WEEK_AND_MORE)
    written, gone = batches(bench)[3:], {"OffsetCommit tombstone": 1, "GroupMetadata tombstone": 1}

    assert ["a", "b", "c"] == sorted(group for group, _, _ in written)
    assert [(3, gone), (5, gone), (7, gone)] == [(first, kinds) for _, first, kinds in written]


def test_a_failed_batch_has_an_event_a_group():
    """Like one that is written."""
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    commit(bench, "a")
    bench.wait(10 * MS)
    for group in ("b", "a"):
        commit(bench, group)
    bench.brokers.fill_disk(1, 0)
    bench.settle()

    assert [("b", 1, 1), ("a", 2, 1)] == [
        (what.group, what.log_offset, what.records) for what in bench.written(AppendFailed)
    ]
