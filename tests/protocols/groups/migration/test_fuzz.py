"""Requests of both protocols that no client sends, to a group with members of both.

Each is answered, and after each the driver holds the invariants of the coordinator and the law
of replay, whichever protocol the group speaks by then.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assignors.types import Subscription, TopicPartition
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    Protocol,
    SyncGroupRequest,
)

from .driver import GROUP, Migration, mixed

# The driver's ids are counted: the classic member of `mixed` is the first that was made.
MEMBERS = st.sampled_from(["xid-1", "xid-1", "C", "C", "D", "", "-"])
INSTANCES = st.sampled_from([None, None, None, "i", "j", ""])
EPOCHS = st.sampled_from([-(2**31), -3, -2, -1, 0, 1, 2, 2, 3, 3, 4, 5, 2**31 - 1])
PARTITIONS = st.lists(
    st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.integers(-2, 5)), max_size=3
).map(tuple)
PROTOCOLS = st.lists(
    st.builds(
        Protocol,
        st.sampled_from(["cooperative-sticky", "cooperative-sticky", "range"]),
        st.builds(
            Subscription,
            topics=st.sampled_from([("t",), ("t",), ("t", "u"), ()]),
            owned_partitions=PARTITIONS,
            rack_id=st.sampled_from([None, "", "r"]),
        ),
    ),
    max_size=2,
    unique_by=lambda protocol: protocol.name,
).map(tuple)

REQUESTS = st.one_of(
    st.builds(
        ConsumerGroupHeartbeatRequest,
        group_id=st.just(GROUP),
        member_id=MEMBERS,
        member_epoch=st.one_of(st.just(0), EPOCHS),
        instance_id=INSTANCES,
        rebalance_timeout_ms=st.sampled_from([-(2**31), -2, 0, 300_000, 2**31 - 1]),
        subscribed_topic_names=st.sampled_from([("t",), ("t",), (), None]),
        subscribed_topic_regex=st.sampled_from([None, None, "t|u", ""]),
        topic_partitions=st.sampled_from([(), (), None]),
    ),
    st.builds(
        JoinGroupRequest,
        group_id=st.just(GROUP),
        session_timeout_ms=st.sampled_from([10_000, 10_000, 0, -1]),
        rebalance_timeout_ms=st.sampled_from([20_000, 5, 2**31 - 1]),
        member_id=MEMBERS,
        group_instance_id=INSTANCES,
        protocol_type=st.sampled_from(["consumer", "consumer", "connect"]),
        protocols=PROTOCOLS,
        version=st.sampled_from([9, 3]),
    ),
    st.builds(
        SyncGroupRequest,
        group_id=st.just(GROUP),
        generation_id=EPOCHS,
        member_id=MEMBERS,
        group_instance_id=INSTANCES,
        protocol_name=st.sampled_from(["cooperative-sticky", "range", None]),
        assignments=st.lists(st.tuples(MEMBERS, PARTITIONS), max_size=2).map(tuple),
    ),
    st.builds(
        HeartbeatRequest,
        group_id=st.just(GROUP),
        generation_id=EPOCHS,
        member_id=MEMBERS,
        group_instance_id=INSTANCES,
    ),
    st.builds(
        LeaveGroupRequest,
        group_id=st.just(GROUP),
        members=st.lists(st.builds(LeavingMember, MEMBERS, INSTANCES), max_size=2).map(tuple),
    ),
)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(REQUESTS, st.sampled_from([0, 0, 100, 11_000])), max_size=12))
def test_any_requests_of_both_protocols_leave_the_group_in_order(
    asked: list[tuple[Any, int]],
) -> None:
    """Parked requests are answered once the others came or a timer fired."""
    it = mixed()
    assert {"xid-1", "C"} == set(it.group.members.entries)

    calls = []
    for request, ms in asked:
        calls.append(it.send(request))
        it.advance(ms)
    it.advance(45_000)

    assert all(len(call.answers) <= 1 for call in calls)
    assert all(call.answers for call in calls) or _waits(it)


def _waits(it: Migration) -> bool:
    """Return whether a request may wait still: for the longest rebalance timeout there is."""
    return it.is_classic and bool(it.classic.joining or it.classic.syncing)
