"""Clients that work in the background: what they leave undone until a poll, and what the application stores."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.classic.membership import note_new_metadata
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets, parts
from .test_background import background

E = ErrorCode


def storing(**settings: object) -> ClientDriver:
    """Return a stable librdkafka whose application stores the offsets."""
    driver = background("librdkafka", **settings)
    store = OffsetStore(Stores(at_hand_over=False, at_next_poll=False, only_forward=True))
    driver.client.consumer = replace(driver.client.consumer, store=store)
    driver.stable({0: 0})
    return driver


def test_the_automatic_commit_covers_what_the_application_stores():
    """``rd_kafka_offsets_store``."""
    driver = storing()
    driver.client.store(offsets({0: 3}))
    driver.advance_until(OffsetCommitRequest)

    assert offsets({0: 3}) == driver.one(OffsetCommitRequest).offsets


def test_no_tick_commits_between_the_news_of_a_rebalance_and_the_poll_that_begins_it():
    """``rd_kafka_cgrp_offset_commit_tmr_cb``: the join state is no longer steady."""
    driver = storing(auto_commit_interval_ms=5_000, heartbeat_interval_ms=1_000)
    driver.client.store(offsets({0: 3}))
    driver.beaten()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.advance(10_000)

    assert not driver.ever(OffsetCommitRequest)
    assert driver.state.autocommit_us > driver.now_us


@pytest.mark.parametrize("client", ["librdkafka", "aiokafka", "franz-go"])
def test_a_poll_that_waits_returns_records_as_they_arrive(client: str):
    """Without any it returns at its timeout."""
    driver = background(client, enable_auto_commit=False)
    driver.stable({0: 0})
    driver.poll()
    assert driver.poll(1_000) is None
    driver.advance(500)
    driver.records({0: 2})
    assert [(0, 2)] == [part[1:] for part in driver.returned[-1]]

    assert driver.poll(1_000) is None
    driver.advance(1_000)
    assert () == driver.returned[-1]


@pytest.mark.parametrize("client", ["librdkafka", "franz-go"])
def test_a_fenced_member_does_nothing_until_a_poll_throws(client: str):
    """A newer process has its instance id."""
    driver = background(client, enable_auto_commit=False, group_instance_id="i")
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.FENCED_INSTANCE_ID)
    driver.advance(10_000)
    assert 1 == len(driver.ever(JoinGroupRequest))

    assert Failed("FencedInstanceIdException", E.FENCED_INSTANCE_ID) == driver.poll()


def test_a_poll_throws_what_a_listener_of_librdkafka_threw():
    """confluent-kafka raises it from the poll that made the call; the member stays in its generation."""
    driver = background("librdkafka", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.beaten()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.hold_calls = True
    driver.poll(1_000)
    driver.end_call(Failed("ValueError"))

    assert Failed("ValueError") == driver.returned[-1]


def test_a_partition_of_its_own_that_awaits_its_reset_needs_no_coordinator():
    """A lookup without an answer keeps only members from working."""
    driver = background("librdkafka", assigned=parts(0), enable_auto_commit=False)
    driver.coordinator = None
    driver.client.consumer.positions.reset(*parts(0))
    driver.poll(1_000)

    assert driver.pending(ListOffsetsRequest)


@pytest.mark.parametrize(
    ("by_step", "topics", "rejoins"),
    [
        (True, {"t": 4}, True),
        (False, {"t": 4}, False),
        (True, {"t": 2}, False),
        (False, {"t": 2}, False),
        (False, {"t": 2, "u": 1}, True),
    ],
)
def test_a_member_of_librdkafka_joins_again_for_other_topics_or_for_periodic_metadata(
    by_step: bool, topics: dict[str, int], rejoins: bool
):
    """``rd_kafka_cgrp_metadata_update_check``: other partition counts show in the latter only."""
    driver = background("librdkafka", enable_auto_commit=False, subscribe=("t", "u"))
    driver.stable({0: 0})
    driver.topics = topics
    found = driver.metadata(MetadataRequest(topics=("t", "u"))).topics
    known = driver.state.metadata
    news = replace(
        known,
        version=known.version + 1,
        step_seen=not by_step,
        topics={topic.name: topic for topic in found},
    )
    state = replace(driver.state, reads=replace(driver.state.reads, metadata=news))

    after = note_new_metadata(state, driver.client.consumer)
    assert rejoins is (after.rejoin is not None)
