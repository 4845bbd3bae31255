"""The heartbeats of other clients than Java's: when they begin, and what keeps them back."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.state import Membership
from protocols.consumer.clients import profile_of
from protocols.facts import CoordinatorLost
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver
from .test_background import background

E = ErrorCode


def test_aiokafka_sends_no_heartbeat_until_its_assigned_listener_has_returned():
    """``ensure_active_group`` starts the task of the heartbeats behind it."""
    driver = background("aiokafka", enable_auto_commit=False)
    driver.poll_until(JoinGroupRequest)
    driver.hold_calls = True
    driver.joined()
    driver.synced(0)
    driver.advance(25_000)
    assert driver.running
    assert [] == driver.times_ms(HeartbeatRequest)

    driver.end_call()
    assert 3_000 == driver.advance_until(HeartbeatRequest)


@pytest.mark.parametrize(
    ("client", "after_ms"), [("franz-go", 5_000), ("kafka-python", 5_000), ("java", 3_000)]
)
def test_some_clients_begin_their_heartbeats_with_the_answer_to_sync_group(client, after_ms):
    """``setupAssignedAndHeartbeat``, ``_enable_heartbeat``; Java begins with JoinGroup's answer."""
    driver = background(client, assignors=("range",)) if client == "franz-go" else ClientDriver()
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.poll_until(JoinGroupRequest)
    driver.poll(60_000)
    began = driver.now_us
    driver.joined()
    driver.advance(2_000)
    driver.synced(0)
    driver.advance_until(HeartbeatRequest)

    assert began + after_ms * 1_000 == driver.now_us


@pytest.mark.parametrize(("client", "beats"), [("kafka-python", 0), ("java", 3)])
def test_a_listener_of_kafka_python_keeps_its_heartbeats_back(client, beats):
    """It runs in the event loop that sends them; the first one follows when it has returned."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.poll_until(JoinGroupRequest)
    driver.joined()
    driver.poll(1)
    driver.hold_calls = True
    driver.synced(0)
    driver.advance(10_000)
    assert driver.running
    assert beats == len(driver.ever(HeartbeatRequest))

    driver.end_call()
    driver.advance(3_000)
    assert driver.ever(HeartbeatRequest)


def test_the_clock_of_librdkafka_runs_on_in_a_rebalance():
    """``rkcg_heartbeat_intvl``: the first heartbeat follows SyncGroup, the others the one before them."""
    driver = background("librdkafka", enable_auto_commit=False)
    driver.poll_until(JoinGroupRequest)
    driver.joined()
    driver.advance(2_000)
    driver.synced(0)
    began = driver.now_us
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll()
    driver.advance(1_000)
    driver.joined(2)
    driver.synced(0)
    driver.poll()
    driver.advance_until(HeartbeatRequest)

    beats = [began, began + 3_000_000]
    assert beats == [sent.at_us for sent in driver.ever(HeartbeatRequest)]


def test_librdkafka_has_one_heartbeat_in_flight():
    """``F_HEARTBEAT_IN_TRANSIT``: one that is due meanwhile is left out, and its interval passes."""
    driver = background("librdkafka", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance(7_000)
    assert 1 == len(driver.ever(HeartbeatRequest))

    driver.beaten()
    assert 2_000 == driver.advance_until(HeartbeatRequest)


@pytest.mark.parametrize("calls", [False, True])
def test_librdkafka_looks_at_its_session_in_no_rebalance(calls: bool):
    """``rd_kafka_cgrp_serve``, in the join state STEADY: a revoke callback waits for the application."""
    driver = background("librdkafka", enable_auto_commit=False, session_timeout_ms=10_000)
    driver.stable({0: 0})
    driver.beaten(E.REBALANCE_IN_PROGRESS if calls else E.NONE)
    driver.advance(15_000)

    assert calls is (driver.membership is Membership.STABLE)


def test_aiokafka_waits_for_the_answer_to_each_heartbeat():
    """``_heartbeat_routine`` looks at its session only then, and sends the next heartbeat if it is due."""
    driver = background("aiokafka", enable_auto_commit=False, request_timeout_ms=40_000)
    driver.stable({0: 0})
    driver.advance(25_000)
    assert 1 == len(driver.ever(HeartbeatRequest))
    assert [] == driver.emitted(CoordinatorLost)

    driver.beaten()
    assert driver.pending(HeartbeatRequest)
    driver.beaten()
    assert 3_000 == driver.advance_until(HeartbeatRequest)


@pytest.mark.parametrize("timeout_ms", [0, 60_000], ids=["outside", "in poll"])
@pytest.mark.parametrize("commits", [False, True])
def test_kafka_python_waits_for_the_answer_to_each_heartbeat(timeout_ms: int, commits: bool):
    """``_heartbeat_loop`` awaits ``_do_heartbeat``; a poll that waits meanwhile looks at no deadline."""
    driver = ClientDriver(enable_auto_commit=commits, request_timeout_ms=40_000)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of("kafka-python"))
    driver.stable({0: 0})
    driver.poll(timeout_ms)
    driver.advance(25_000)
    assert 1 == len(driver.ever(HeartbeatRequest))
    assert [] == driver.emitted(CoordinatorLost)

    driver.beaten()
    driver.advance(100)
    assert driver.pending(HeartbeatRequest)
    began_us = driver.now_us
    driver.beaten()
    driver.advance_until(HeartbeatRequest)
    assert 2_900_000 <= driver.now_us - began_us <= 3_100_000


def test_heartbeats_of_kafka_python_go_on_when_one_is_lost():
    """The request times out with its connection, the coordinator is looked up, and the next one is due."""
    driver = ClientDriver(enable_auto_commit=False, request_timeout_ms=10_000)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of("kafka-python"))
    driver.stable({0: 0})
    driver.poll()
    driver.advance_until(HeartbeatRequest)
    driver.lose(HeartbeatRequest)

    assert 10_000 <= driver.advance_until(HeartbeatRequest) <= 10_200


@pytest.mark.parametrize(("client", "joins"), [("aiokafka", 2), ("librdkafka", 1)])
def test_a_join_group_of_aiokafka_times_out_as_other_requests_do(client: str, joins: int):
    """``request_timeout_ms``, though the rebalance may take longer."""
    driver = background(client, request_timeout_ms=20_000, max_poll_interval_ms=60_000)
    driver.poll_until(JoinGroupRequest)
    driver.advance(25_000)

    assert joins == len(driver.ever(JoinGroupRequest))
