"""Automatic commits: when they are due, what they cover, who sends them."""

from __future__ import annotations

import pytest

from assignors.java import hash_map_order, topic_partition_hash
from assignors.types import TopicPartition
from protocols.consumer.classic.async_commits import is_asynchronous
from protocols.consumer.classic.state import Api, CommitKind, Generation, InFlight
from protocols.facts import CommitAnswered, CommitSent
from protocols.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, offsets

E = ErrorCode


def test_the_first_is_due_an_interval_after_the_assignment():
    """The interval starts when a join completes, not with the consumer."""
    driver = ClientDriver()
    driver.advance(3_333)
    driver.stable()
    began = driver.now_ms
    for _ in range(60):
        driver.advance(100)
        driver.poll()

    assert [began + 5_000] == driver.times_ms(OffsetCommitRequest)[:1]


def test_a_commit_that_falls_due_during_a_lookup_follows_as_soon_as_the_coordinator_is_known():
    """Polls that look it up do not begin the interval anew (``ConsumerCoordinator.poll``)."""
    driver = ClientDriver()
    driver.stable()
    driver.hand({0: 6})
    driver.deaf = {FindCoordinatorRequest}
    driver.disconnect()
    for _ in range(6):
        driver.advance(1_000)
        driver.poll()
    driver.poll(100)
    assert not driver.pending(OffsetCommitRequest)
    driver.answer(FindCoordinatorRequest, FindCoordinatorResponse(node_id=1))

    assert 6 in [entry.offset for entry in driver.one(OffsetCommitRequest).offsets]


def test_it_covers_what_earlier_polls_returned_not_this_one():
    """It leaves before the poll collects new records, so it is never ahead of them."""
    driver = ClientDriver(max_poll_records=5)
    driver.stable({0: 0})
    driver.hand({0: 20})
    driver.advance(5_000)
    driver.poll()

    assert offsets({0: 5}) == driver.one(OffsetCommitRequest).offsets
    assert {0: 10} == driver.positions()


def test_while_the_application_works_nothing_is_committed():
    """Only a poll commits: a batch of a minute is committed after it."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.hand({0: 20})
    driver.advance(60_000)

    assert [] == driver.times_ms(OffsetCommitRequest)
    driver.poll()
    assert [60_000] == driver.times_ms(OffsetCommitRequest)


def test_with_polls_every_so_often_the_period_is_a_multiple_of_theirs():
    """I = 300 ms and a poll every 132 ms: a commit every third poll, 396 ms."""
    driver = ClientDriver(auto_commit_interval_ms=300)
    driver.stable({0: 0})
    for _ in range(15):
        driver.advance(132)
        driver.poll()
    times = driver.times_ms(OffsetCommitRequest)

    assert [396, 792, 1_188, 1_584, 1_980] == times


def test_a_waiting_poll_commits_on_time_although_nothing_has_moved():
    """Every 300 ms with the same offsets, records or none (corollary 3)."""
    driver = ClientDriver(auto_commit_interval_ms=300)
    driver.stable({0: 7})
    driver.poll(1_000)
    driver.advance(1_000)
    sent = [s.message.offsets for s in driver.ever(OffsetCommitRequest)]

    assert [300, 600, 900] == driver.times_ms(OffsetCommitRequest)
    assert [offsets({0: 7})] * 3 == sent


def test_several_may_be_in_flight():
    """Nothing waits for an answer."""
    driver = ClientDriver(auto_commit_interval_ms=100)
    driver.stable({0: 7})
    driver.poll(1_000)
    driver.advance(500)

    assert 5 == len(driver.pending(OffsetCommitRequest))


def test_an_interval_of_zero_commits_at_every_poll():
    """Each poll is past its deadline."""
    driver = ClientDriver(auto_commit_interval_ms=0)
    driver.stable({0: 7})
    before = len(driver.times_ms(OffsetCommitRequest))
    for _ in range(4):
        driver.poll()
        driver.advance(10)

    assert 4 == len(driver.times_ms(OffsetCommitRequest)) - before


@pytest.mark.parametrize("offsets_by_partition", [{0: 7}, {}])
def test_an_interval_of_zero_commits_in_each_millisecond_of_a_waiting_poll(offsets_by_partition):
    """A member without partitions has nothing to commit, and waits all the same."""
    driver = ClientDriver(auto_commit_interval_ms=0)
    driver.stable(offsets_by_partition)
    driver.advance(10)
    began_ms, before = driver.now_us // 1_000, len(driver.times_ms(OffsetCommitRequest))
    driver.poll(5)
    driver.advance(5)

    sent = driver.times_ms(OffsetCommitRequest)[before:]
    assert [began_ms + ms for ms in range(6) if offsets_by_partition] == sent
    assert () == driver.returned[-1]


def test_an_interval_of_zero_waits_for_the_back_off_of_a_commit_that_failed():
    """The polls before its end commit nothing (``retry.backoff.ms``)."""
    driver = ClientDriver(auto_commit_interval_ms=0)
    driver.stable({0: 7})
    driver.poll()
    driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.poll()
    before = len(driver.times_ms(OffsetCommitRequest))
    for _ in range(10):
        driver.advance(10)
        driver.poll()

    assert [100] == driver.times_ms(OffsetCommitRequest)[before:]


def test_a_finished_join_winds_the_clock_up():
    """A rebalance puts the next commit off by an interval."""
    driver = ClientDriver(assignors=("cooperative-sticky",))
    driver.stable({0: 0})
    driver.advance(4_000)
    driver.beaten()
    driver.learn()
    driver.poll()
    driver.committed()
    driver.join(0, generation=2)
    began = driver.now_ms
    for _ in range(60):
        driver.advance(100)
        driver.poll()
    regular = [f for f in driver.emitted(CommitSent) if f.kind == "auto"]

    assert 1 == len(regular)
    assert began + 5_000 == driver.times_ms(OffsetCommitRequest)[-1]


def test_no_commit_is_due_while_a_join_is_pending():
    """Step 2f is not reached: the position is committed only after the rebalance."""
    driver = ClientDriver(assignors=("cooperative-sticky",), auto_commit_interval_ms=200)
    driver.stable({0: 0})
    driver.learn()
    driver.poll()
    driver.committed()
    driver.poll()
    sent = len(driver.times_ms(OffsetCommitRequest))
    for _ in range(10):
        driver.advance(100)
        driver.poll()

    assert sent == len(driver.times_ms(OffsetCommitRequest))


@pytest.mark.parametrize("error", [E.COORDINATOR_LOAD_IN_PROGRESS, E.UNKNOWN_TOPIC_OR_PARTITION])
def test_after_a_retriable_failure_the_next_comes_after_the_retry_back_off(error):
    """The callback, run by the next poll, brings the deadline forward to 100 ms from there."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.advance(5_000)
    driver.poll()
    driver.committed(error)
    driver.advance(500)
    driver.poll()
    for _ in range(20):
        driver.advance(10)
        driver.poll()

    assert [5_000, 5_600] == driver.times_ms(OffsetCommitRequest)


def test_after_a_refusal_the_next_comes_after_the_interval():
    """A failure that is not retriable is only logged."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.advance(5_000)
    driver.poll()
    driver.committed(E.OFFSET_METADATA_TOO_LARGE)
    for _ in range(60):
        driver.advance(100)
        driver.poll()

    assert [5_000, 10_000] == driver.times_ms(OffsetCommitRequest)


def test_without_a_coordinator_none_is_attempted():
    """Poll does not get past the lookup; the commit follows when it is found."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.coordinator = None
    driver.disconnect()
    for _ in range(30):
        driver.poll()
        driver.advance(300)
    assert [] == driver.times_ms(OffsetCommitRequest)

    driver.coordinator = 1
    for _ in range(10):
        driver.poll()
        driver.advance(300)
    assert 1 <= len(driver.times_ms(OffsetCommitRequest))


def test_switched_off_it_never_commits():
    """enable.auto.commit=false: no poll commits."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.poll(20_000)
    driver.advance(20_000)

    assert [] == driver.times_ms(OffsetCommitRequest)


def test_partitions_without_a_position_are_left_out():
    """A partition that waits for its reset is not committed."""
    driver = ClientDriver(auto_commit_interval_ms=300)
    driver.join(0, 1)
    driver.fetched({0: 4})
    driver.poll(1_000)
    driver.advance(300)

    assert offsets({0: 4}) == driver.one(OffsetCommitRequest).offsets


def test_a_new_member_commits_nothing_at_all_while_it_has_no_positions():
    """An empty commit completes by itself."""
    driver = ClientDriver(auto_commit_interval_ms=0)
    driver.join()
    for _ in range(5):
        driver.poll()

    assert [] == driver.times_ms(OffsetCommitRequest)


def test_each_commit_emits_its_start_and_outcome():
    """With its kind and number."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.advance(5_000)
    driver.poll()
    driver.committed(E.ILLEGAL_GENERATION)
    driver.poll()
    (sent,) = [fact for fact in driver.emitted(CommitSent) if fact.kind == "auto"]
    (ended,) = [
        end for end in driver.emitted(CommitAnswered) if end.correlation_id == sent.correlation_id
    ]

    assert ("auto", "auto", "ILLEGAL_GENERATION") == (sent.kind, ended.kind, ended.error)


def test_partitions_stand_in_the_order_of_javas_map():
    """Inside a topic by bucket of a HashMap of 16 slots, grown for more than 12."""
    for count in (2, 6, 12, 20):
        driver = ClientDriver(topics={"t": count})
        driver.stable(dict.fromkeys(range(count), 3))
        driver.advance(5_000)
        driver.poll()
        sent = [entry.partition for entry in driver.one(OffsetCommitRequest).offsets]
        wanted = hash_map_order(
            [TopicPartition("t", n) for n in range(count)], topic_partition_hash
        )

        assert wanted == sent


def test_partitions_of_one_bucket_stand_in_the_order_they_were_last_read():
    """Automatic commits put in what gave records last at the end."""
    driver = ClientDriver(topics={"t": 17})
    driver.stable({0: 0, 16: 0})
    orders = []
    for number in (16, 0):
        driver.hand({number: 1})
        driver.poll()
        driver.advance(5_000)
        driver.poll()
        (request,) = driver.pending(OffsetCommitRequest)
        driver.committed()
        orders.append([entry.partition.partition for entry in request.message.offsets])

    assert [[0, 16], [16, 0]] == orders


@pytest.mark.parametrize("api", list(Api))
@pytest.mark.parametrize("kind", list(CommitKind))
def test_commits_that_no_call_waits_for_are_asynchronous(api, kind):
    """``inFlightAsyncCommits`` counts automatic ones, too, and nothing but commits."""
    flight = InFlight(api, 1, 0, Generation(1, "m", None), kind=kind)
    waits_for_none = kind in (CommitKind.AUTO, CommitKind.PREPARE, CommitKind.ASYNC)

    assert is_asynchronous(flight) is (api is Api.COMMIT and waits_for_none)
