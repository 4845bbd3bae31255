"""Heartbeats that can never be meant, and groups that have no room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.errors import AssignorNotFoundError
from protocols.messages import ConsumerGroupHeartbeatRequest
from protocols.messages.errors import ErrorCode

from .driver import ConsumerGroupDriver, owned

JOIN = {
    "group_id": "g",
    "member_id": "A",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": (),
    "topic_partitions": (),
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_id": ""},
        {"group_id": " "},
        {"group_id": "\x00\t"},
        {"instance_id": ""},
        {"rack_id": ""},
        {"member_id": ""},
        {"member_id": "", "member_epoch": 1, "version": 0},
        {"member_id": "", "member_epoch": -1, "version": 0},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": owned(0)},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": -(2**31)},
    ],
)
def test_a_heartbeat_that_cannot_be_meant_is_refused(wrong):
    """With words that say what is wrong; nothing changes."""
    it = ConsumerGroupDriver()

    answer = it.send(ConsumerGroupHeartbeatRequest(**{**JOIN, **wrong})).answer

    assert ErrorCode.INVALID_REQUEST == answer.error
    assert answer.error_message
    assert not it.exists


def test_the_first_version_lets_the_coordinator_make_the_id():
    """A newer one has to bring its own."""
    it = ConsumerGroupDriver()

    request = ConsumerGroupHeartbeatRequest(**{**JOIN, "member_id": "", "version": 0})
    assert "id-1" == it.send(request).answer.member_id
    assert it.group.member("id-1")


def test_an_old_leave_without_an_id_finds_no_member():
    """Version 0 is valid when it names an instance."""
    it = ConsumerGroupDriver()
    it.join("A", instance="i")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_epoch=-2, instance_id="i", version=0
    )

    assert ErrorCode.FENCED_INSTANCE_ID == it.send(request).error


def test_an_unknown_assignor_is_refused():
    """The answer lists those there are."""
    it = ConsumerGroupDriver(group_consumer_assignors=("range",))

    refused = it.join("A", server_assignor="uniform").answer

    assert ErrorCode.UNSUPPORTED_ASSIGNOR == refused.error
    assert "range" in refused.error_message


def test_a_full_group_accepts_no_new_member():
    """Its members may continue, and join again."""
    it = ConsumerGroupDriver(group_consumer_max_size=1)
    it.join("A")

    refused = it.join("B").answer
    assert ErrorCode.GROUP_MAX_SIZE_REACHED == refused.error
    assert "group.consumer.max.size" in refused.error_message
    assert ErrorCode.NONE == it.beat("A").error
    assert ErrorCode.NONE == it.join("A").error


def test_a_leave_is_answered_with_its_epoch_and_nothing_else():
    """No interval, no assignment."""
    it = ConsumerGroupDriver()
    it.join("A")

    answer = it.leave("A").answer

    assert (-1, 0, None) == (answer.member_epoch, answer.heartbeat_interval_ms, answer.assignment)


def test_a_full_request_is_answered_in_full():
    """After an error a client sends all fields and gets all fields."""
    it = ConsumerGroupDriver()
    it.join("A")
    everything = {
        "rebalance_timeout_ms": 300_000,
        "subscribed_topic_names": ("t",),
        "topic_partitions": owned(0, 1, 2, 3, 4, 5),
    }

    assert {"t": {0, 1, 2, 3, 4, 5}} == it.beat("A", **everything).assignment
    for left_out in everything:
        part = {name: value for name, value in everything.items() if name != left_out}
        assert it.beat("A", **part).assignment is None


def test_a_coordinator_that_loads_or_is_gone_says_so():
    """The client looks for it again, or tries again."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.coordinator.unload(0)

    assert ErrorCode.NOT_COORDINATOR == it.send(ConsumerGroupHeartbeatRequest(**JOIN)).error
    it.coordinator = it._made()
    assert (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        == it.send(ConsumerGroupHeartbeatRequest(**JOIN)).error
    )


@pytest.mark.parametrize("names", [(), ("uniform", "uniform"), ("unifrom",)])
def test_a_broker_needs_assignors_that_exist(names):
    """A coordinator is not made without; the words say which there are."""
    with pytest.raises((ValueError, AssignorNotFoundError), match="uniform"):
        ConsumerGroupDriver(group_consumer_assignors=names)


def test_a_blank_is_what_java_takes_off():
    """A space that does not break is a name like any other."""
    it = ConsumerGroupDriver()

    assert ErrorCode.NONE == it.join("A", instance="\u00a0").error


def test_a_vote_of_the_log_for_an_assignor_that_is_no_more_fails_each_computation():
    """Another broker may have offered it; the answer is an error and nothing is written."""
    it = ConsumerGroupDriver(group_consumer_assignors=("uniform", "range"))
    it.join("A", server_assignor="range")
    it.settings = replace(it.settings, group_consumer_assignors=("uniform",))
    it.fail_over()
    before = len(it.log)

    assert ErrorCode.UNKNOWN_SERVER_ERROR == it.join("B").error
    assert len(it.log) == before
