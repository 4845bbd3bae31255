"""What a client does first while its poll waits: returns records, or looks at its group."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.classic.calm import POLL
from protocols.consumer.clients import profile_of
from protocols.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import MEMBER, ClientDriver, manual_member, parts

E = ErrorCode


def ranges(batch) -> list[tuple[int, int, int]]:
    return [(part.partition.partition, part.first, part.next_offset) for part in batch]


def informed(client: str, *numbers: int) -> ClientDriver:
    """Return a member of a client whose poll waits and that is just told of a rebalance."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.stable(dict.fromkeys(numbers, 0))
    driver.advance_until(HeartbeatRequest)
    driver.poll(10_000)
    driver.advance(30)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    return driver


def test_the_java_client_joins_as_soon_as_poll_hears_of_a_rebalance():
    """Its poll waits for any response."""
    assert informed("java", 0, 1).pending(JoinGroupRequest)


def test_kafka_python_returns_the_next_records_before_it_joins():
    """Its poll waits for fetches alone; the next poll joins."""
    driver = informed("kafka-python", 0, 1)
    driver.advance(200)
    assert not driver.pending(JoinGroupRequest)
    driver.records({0: 4})
    assert [(0, 0, 4)] == ranges(driver.returned[-1])
    assert not driver.pending(JoinGroupRequest)
    driver.poll(10_000)

    assert driver.pending(JoinGroupRequest)


def test_kafka_python_joins_after_a_fetch_response_without_records():
    """Then it looks at its group again."""
    driver = informed("kafka-python", 0, 1)
    driver.records({0: 0})

    assert driver.pending(JoinGroupRequest)


def test_kafka_python_joins_when_its_next_heartbeat_is_due():
    """Its wait is never longer than until then."""
    driver = informed("kafka-python", 0, 1)

    assert 2_970 == driver.advance_until(JoinGroupRequest)


def test_kafka_python_joins_at_once_if_it_is_told_when_the_next_heartbeat_was_due():
    """Its poll no longer waits for fetches then."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of("kafka-python"))
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.poll(10_000)
    driver.advance(4_000)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.advance(0)

    assert driver.pending(JoinGroupRequest)


def test_kafka_python_without_partitions_looks_at_its_group_every_tenth_of_a_second():
    """No fetch is in flight that could end its wait."""
    driver = informed("kafka-python")

    assert 70 == driver.advance_until(JoinGroupRequest)


def joining(client: str, timeout_ms: int) -> ClientDriver:
    """Return a member of a client that awaits its SyncGroup in a poll of that time."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.poll_until(JoinGroupRequest)
    driver.joined()
    driver.poll(timeout_ms)
    driver.calls.clear()
    return driver


def late(client: str) -> ClientDriver:
    """Return one whose join ends when its poll is over, and the thread has not noticed that yet."""
    driver = joining(client, 100)
    driver.timers.pop(POLL)
    driver.advance(101)
    driver.synced(0, 1)
    assert () == driver.returned[-1]
    return driver


def outside(client: str) -> ClientDriver:
    """Return one whose join ends between two polls."""
    driver = joining(client, 0)
    driver.advance(1)
    driver.synced(0, 1)
    return driver


@pytest.mark.parametrize("ended", [late, outside])
def test_kafka_python_drops_a_join_that_ends_when_no_poll_awaits_it(ended):
    """The next poll joins again, with the id that the member has, and without another call."""
    driver = ended("kafka-python")
    driver.poll(100)
    assert MEMBER == driver.one(JoinGroupRequest).member_id
    assert not driver.ever(OffsetFetchRequest)

    driver.joined(2)
    driver.synced(0, 1)
    assert [("assigned", parts(0, 1))] == driver.calls


@pytest.mark.parametrize(("client", "joins"), [("kafka-python", True), ("java", False)])
def test_kafka_python_does_not_throw_what_ended_a_join_between_two_polls(client: str, joins: bool):
    """It joins again; Java's poll throws."""
    driver = joining(client, 0)
    driver.advance(1)
    driver.synced(error=E.GROUP_AUTHORIZATION_FAILED)
    driver.poll(100)

    assert joins == bool(driver.pending(JoinGroupRequest))
    assert joins != isinstance(driver.returned[-1], Failed)


@pytest.mark.parametrize(("client", "syncs"), [("kafka-python", True), ("java", False)])
def test_kafka_python_sends_sync_group_also_between_two_polls(client: str, syncs: bool):
    """Its event loop runs beside the application (``_do_join_and_sync_async``); Java's poll sends it."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.poll_until(JoinGroupRequest)
    driver.poll(1)
    driver.advance(2)
    driver.joined()
    assert syncs == bool(driver.pending(SyncGroupRequest))

    driver.poll(100)
    assert 1 == len(driver.pending(SyncGroupRequest))


@pytest.mark.parametrize("client", ["java", "kafka-python"])
def test_a_join_that_ends_at_the_end_of_a_poll_is_in_time(client):
    """The instant belongs to the poll."""
    driver = joining(client, 100)
    driver.timers.pop(POLL)
    driver.advance(100)
    driver.synced(0, 1)

    assert [("assigned", parts(0, 1))] == driver.calls


def test_the_java_client_applies_a_join_that_ended_between_two_polls():
    """Its poll looks at what has arrived since the last one."""
    driver = outside("java")
    driver.poll()

    assert [("assigned", parts(0, 1))] == driver.calls
    assert not driver.pending(JoinGroupRequest)


def test_records_that_end_a_wait_for_fetches_are_returned_without_a_look_at_the_group():
    """Also while the commit before a join is in flight: the poll interval does not begin again."""
    driver = ClientDriver(assignors=("cooperative-sticky",))
    driver.stable({0: 0, 1: 0})
    driver.learn()
    driver.poll(10_000)
    assert driver.pending(OffsetCommitRequest)
    looked_us = driver.client.consumer.clock.polled_us
    driver.advance(30)
    driver.records({0: 4})

    assert [(0, 0, 4)] == ranges(driver.returned[-1])
    assert looked_us == driver.client.consumer.clock.polled_us


def test_records_do_not_end_a_wait_for_the_coordinator():
    """Poll looks it up first; then it returns what has arrived from both brokers meanwhile."""
    driver = ClientDriver(brokers=(1, 2), enable_auto_commit=False)
    driver.stable({0: 0, 1: 0})
    driver.poll()
    driver.deaf = {FindCoordinatorRequest}
    driver.learn(E.NOT_COORDINATOR)
    driver.poll(10_000)
    returned = len(driver.returned)
    driver.records({0: 4}, node=1)
    driver.records({1: 3}, node=2)
    assert returned == len(driver.returned)
    driver.answer(FindCoordinatorRequest, FindCoordinatorResponse(node_id=2))

    assert [(0, 0, 4), (1, 0, 3)] == sorted(ranges(driver.returned[-1]))


def test_a_cooperative_member_reads_the_network_in_each_poll_while_it_joins():
    """What has just arrived fills the batch that the buffer alone would not."""
    driver = manual_member(assignors=("cooperative-sticky",), max_poll_records=5, brokers=(1, 2))
    driver.poll()
    driver.learn()
    driver.poll()
    driver.records({0: 7}, node=1)
    driver.poll()
    assert driver.pending(JoinGroupRequest)
    driver.records({1: 4}, node=2)

    assert [(0, 5, 7), (1, 0, 3)] == sorted(ranges(driver.poll()))
