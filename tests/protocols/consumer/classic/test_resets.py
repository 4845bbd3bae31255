"""Resets: what the policies ask for, and when they ask again."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.messages import (
    ListOffsetsRequest,
    MetadataRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, assigned, parts

E = ErrorCode
OTHER_BROKER = BROKER + 1
EPOCH_MS = 1_700_000_000_000


POLICIES = {
    "earliest": -2,
    "latest": -1,
    "by_duration:PT1H": EPOCH_MS - 3_600_000,
    "by_duration:P1DT2H3M4.5S": EPOCH_MS - 93_784_500,
    "by_duration:pt90s": EPOCH_MS - 90_000,
}


@pytest.mark.parametrize("policy", POLICIES)
def test_without_a_committed_offset_the_reset_policy_asks_the_leader(policy):
    """The time stamp says what for: the log's ends, or the wall clock minus the duration."""
    driver = assigned(auto_offset_reset=policy)
    driver.fetched({0: 5})
    ((_, timestamp),) = driver.one(ListOffsetsRequest).partitions

    assert POLICIES[policy] == timestamp
    driver.listed({1: 70})
    source = policy.partition(":")[0]
    assert [(0, 5, "committed", ""), (1, 70, source, "no offset")] == driver.sources()


def test_a_duration_counts_back_from_when_the_request_is_made():
    """The wall clock of the run goes on."""
    driver = ClientDriver(auto_offset_reset="by_duration:PT0S", enable_auto_commit=False)
    driver.join(0)
    driver.poll()
    driver.advance(2_500)
    driver.fetched()
    driver.poll()
    ((_, timestamp),) = driver.one(ListOffsetsRequest).partitions

    assert EPOCH_MS + driver.now_us // 1_000 == timestamp


def test_without_a_policy_poll_throws():
    """auto.offset.reset=none leaves the decision to the application."""
    driver = assigned(auto_offset_reset="none")
    driver.fetched({0: 5})

    assert Failed("NoOffsetForPartitionException") == driver.returned[-1]


def test_other_partitions_are_read_while_one_waits_for_its_reset():
    """A missing position does not delay other partitions."""
    driver = assigned()
    driver.fetched({0: 5})
    driver.records({0: 3})

    assert 3 == driver.batches()[-1][0].next_offset - 5
    assert driver.pending(ListOffsetsRequest)


def test_partitions_of_several_leaders_are_asked_apart():
    """One ListOffsets for each."""
    driver = ClientDriver(topics={"t": 3}, brokers=(1, 2), enable_auto_commit=False)
    driver.join(0, 1, 2)
    driver.poll()
    driver.fetched()
    driver.poll()
    asked = {
        sent.node: tuple(tp for tp, _ in sent.message.partitions)
        for sent in driver.pending(ListOffsetsRequest)
    }

    assert {1: parts(0, 2), 2: parts(1)} == asked


@pytest.mark.parametrize(
    "error", [E.NOT_LEADER_OR_FOLLOWER, E.UNKNOWN_TOPIC_OR_PARTITION, E.LEADER_NOT_AVAILABLE]
)
def test_a_reset_that_failed_is_retried_and_metadata_read_again(error):
    """After retry.backoff.ms, at the leader of that time."""
    driver = assigned(0)
    driver.fetched()
    known = len(driver.ever(MetadataRequest))
    driver.listed({}, error)
    waited = driver.advance_until(ListOffsetsRequest)

    assert 100 == round(waited)
    assert known + 1 == len(driver.ever(MetadataRequest))


def test_an_unanswered_reset_is_asked_again_after_the_request_timeout():
    """One outstanding lookup keeps another away for so long."""
    driver = assigned(0, request_timeout_ms=7_000)
    driver.fetched()
    driver.lose(ListOffsetsRequest)

    assert 7_000 == round(driver.advance_until(ListOffsetsRequest))


def test_a_duration_without_a_record_that_young_is_asked_again_later():
    """The partition stays without a position; the gate was shut when the request left."""
    driver = assigned(0, auto_offset_reset="by_duration:PT1H", request_timeout_ms=7_000)
    driver.fetched()
    driver.advance(1_000)
    driver.listed({})

    assert {} == driver.positions()
    assert 6_000 == round(driver.advance_until(ListOffsetsRequest))


def test_a_gate_holds_for_its_partition_only():
    """A partition gained meanwhile is looked up at once."""
    driver = ClientDriver(
        topics={"t": 2},
        assignors=("cooperative-sticky",),
        auto_offset_reset="by_duration:PT1H",
        enable_auto_commit=False,
    )
    driver.join(0)
    driver.poll()
    driver.fetched()
    driver.poll()
    driver.listed({})
    driver.learn()
    driver.join(0, 1, generation=2)
    driver.poll()
    driver.fetched()
    driver.poll()

    assert [parts(1)[0]] == [tp for tp, _ in driver.one(ListOffsetsRequest).partitions]


def test_an_eager_rebalance_opens_every_gate():
    """What is assigned afresh is looked up afresh."""
    driver = assigned(0, auto_offset_reset="by_duration:PT1H")
    driver.fetched()
    driver.listed({})
    driver.learn()
    driver.join(0, generation=2)
    driver.fetched()
    driver.poll()

    assert driver.pending(ListOffsetsRequest)


def test_an_answer_that_comes_late_does_not_move_a_position():
    """A partition that has a position keeps it."""
    driver = assigned(0, request_timeout_ms=7_000)
    driver.fetched()
    late = driver.lose(ListOffsetsRequest)
    driver.advance_until(ListOffsetsRequest)
    driver.listed({0: 40})
    driver.sent.append(late)
    driver.listed({0: 3})

    assert {0: 40} == driver.positions()


def test_a_broken_data_connection_asks_again_after_the_retry_back_off():
    """The lookup in flight on it has failed."""
    driver = assigned(0)
    driver.fetched()
    driver.disconnect(BROKER)

    assert 100 == round(driver.advance_until(ListOffsetsRequest))


def test_a_broken_connection_to_another_broker_leaves_the_lookup_in_flight():
    """Its answer is still to come."""
    driver = assigned(0)
    driver.fetched()
    driver.disconnect(OTHER_BROKER)
    driver.listed({0: 40})

    assert {0: 40} == driver.positions()
    assert 1 == len(driver.ever(ListOffsetsRequest))
