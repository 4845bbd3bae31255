"""The short way of a heartbeat that changes nothing is the long way, and no other's."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.groups.kip848.heartbeat import heartbeat, quiet_member, quiet_response
from protocols.groups.kip848.shard import soft_of
from protocols.groups.shard import Moment
from protocols.messages import ConsumerGroupHeartbeatRequest, Header

from .driver import GROUP, HOST, ConsumerGroupDriver, owned, topic


def settled() -> ConsumerGroupDriver:
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B", instance="i")
    it.settle("A", "B")
    return it


def both(it: ConsumerGroupDriver, header: Header, **more: Any) -> tuple[Any, Any]:
    """Return the results of the short way, if allowed, and of the long way."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, **{"member_id": "A", "member_epoch": 3, **more}
    )
    at = Moment(it.now_us, it.coordinator._broker)
    soft = soft_of(it.coordinator.state, GROUP)
    member = quiet_member(it.group, soft, header, request, at)
    long = heartbeat(it.group, soft, header, request, at)
    return member and quiet_response(member, header, at), long


HEADER = Header("A", 1, "A", HOST)


@pytest.mark.parametrize(
    ("header", "more"),
    [(HEADER, {}), (Header("B", 1, "B", HOST), {"member_id": "B", "instance_id": "i"})],
)
def test_a_quiet_heartbeat_is_answered_as_any_other(header, more):
    """The same answer, the same session, nothing else."""
    short, long = both(settled(), header, **more)

    assert short is not None
    session, reply = short
    assert ((session,), (), (reply,)) == (long.effects, long.records, long.waits)


@pytest.mark.parametrize(
    "more",
    [
        {"topic_partitions": owned(0)},
        {"subscribed_topic_names": ("t",)},
        {"subscribed_topic_regex": ""},
        {"server_assignor": "uniform"},
        {"rack_id": "r"},
        {"rebalance_timeout_ms": 1},
        {"member_epoch": 0},
        {"member_epoch": 2},
        {"instance_id": "i"},
        {"member_id": "X"},
    ],
)
def test_a_heartbeat_with_any_field_goes_the_long_way(more):
    """Whichever field it is."""
    short, _ = both(settled(), HEADER, **more)

    assert short is None


@pytest.mark.parametrize("header", [Header("A", 1, "Z", HOST), Header("A", 1, "A", "/10.0.0.9")])
def test_a_heartbeat_from_another_host_goes_the_long_way(header):
    """It is written to the log."""
    short, long = both(settled(), header)

    assert short is None
    assert [5] == [record.key.record_type for record in long.records]


def test_a_group_that_has_something_to_do_is_not_quiet():
    """A new target, topics to be looked at again, a look-up of patterns."""
    joined, changed, failed_over = settled(), settled(), settled()
    joined.join("C")
    changed.topics_are(topic(partitions=9))
    failed_over.fail_over()

    for it in (joined, changed, failed_over):
        assert both(it, HEADER)[0] is None
