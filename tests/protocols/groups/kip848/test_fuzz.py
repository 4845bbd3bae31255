"""Requests that no client of Kafka's sends: each gets an error code and affects no other member.

After every request the driver holds the invariants of the coordinator and the law of replay; a
well-behaved member is not affected, unless the request used its id.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetFetchRequest,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode

from .driver import GROUP, IDS, ConsumerGroupDriver, topic

ALLOWED = {
    ErrorCode.NONE,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
"""What a heartbeat may be answered with, with assignors that do not fail."""

EPOCHS = st.one_of(st.integers(-3, 6), st.sampled_from([-(2**31), 2**31 - 1]))
WORDS = st.one_of(st.sampled_from(["", " ", "A", "B", "z", "x-y", "-"]), st.text(max_size=6))
PATTERNS = st.one_of(
    st.sampled_from(["", "t|u", "(", "[", "a{2,1}", "(?=t)", r"\1", "*", "a{1001}", "\\", ".*"]),
    st.text(max_size=8),
)
OWNED = st.lists(
    st.builds(
        TopicPartitions,
        st.sampled_from([IDS["t"], IDS["u"], "", "none"]),
        st.lists(st.integers(-2, 7), max_size=3).map(tuple),
    ),
    max_size=3,
).map(tuple)

HEARTBEATS = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.one_of(st.just(GROUP), WORDS),
    member_id=st.one_of(st.sampled_from(["A", "B", "S"]), WORDS),
    member_epoch=EPOCHS,
    instance_id=st.one_of(st.none(), st.sampled_from(["i", "j"]), WORDS),
    rack_id=st.one_of(st.none(), WORDS),
    rebalance_timeout_ms=st.sampled_from([-(2**31), -1, 0, 1, 300_000, 2**31 - 1]),
    subscribed_topic_names=st.one_of(st.none(), st.lists(WORDS, max_size=3).map(tuple)),
    subscribed_topic_regex=st.one_of(st.none(), PATTERNS),
    server_assignor=st.one_of(st.none(), st.sampled_from(["uniform", "range", "sticky"]), WORDS),
    topic_partitions=st.one_of(st.none(), st.just(()), OWNED),
    version=st.integers(0, 1),
)


def group() -> ConsumerGroupDriver:
    """A and the static S share two topics."""
    it = ConsumerGroupDriver(topic(partitions=3), topic("u", 2))
    it.join("A", "t", "u")
    it.join("S", "t", "u", instance="i")
    it.settle("A", "S")
    return it


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(HEARTBEATS, st.sampled_from([0, 0, 1_100, 11_000])), max_size=12))
def test_any_heartbeats_are_answered_in_words(asked: list[tuple[Any, int]]) -> None:
    """An error has its code and says why; whatever was taken in leaves the group in order."""
    it = group()

    for request, ms in asked:
        answer = it.send(request).answer
        it.advance(ms)

        assert answer.error in ALLOWED
        assert answer.error is ErrorCode.NONE or answer.error_message
    described = it.send(ConsumerGroupDescribeRequest(group_id=GROUP)).answer
    assert ErrorCode.NONE == described.error


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(WORDS, EPOCHS, st.lists(st.integers(-2, 9))), max_size=8))
def test_any_commits_fetches_and_leaves_are_answered(asked: list[tuple[Any, ...]]) -> None:
    """A refused request changes nothing; unknown members change no epoch."""
    it = group()
    before = it.at("A")

    for name, epoch, numbers in asked:
        member_id = f"?{name}"
        it.commit(member_id, epoch, *numbers)
        it.fetch(member_id, epoch)
        it.send(OffsetFetchRequest(group_id=name, member_epoch=epoch))
        it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(member_id, name),)))

    assert before == it.at("A")
    assert (3, 3) == it.epochs


@pytest.mark.parametrize("epoch", [-(2**31), -3, 4, 2**31 - 1])
def test_an_epoch_out_of_range_is_refused_and_moves_nothing(epoch):
    """Whether below what leaving means, or beyond what was ever given."""
    it = group()
    written = len(it.log)

    answer = it.beat("A", epoch).answer

    assert answer.error in {ErrorCode.INVALID_REQUEST, ErrorCode.FENCED_MEMBER_EPOCH}
    assert str(epoch) in answer.error_message
    assert written == len(it.log)


def test_an_instance_id_that_two_claim_belongs_to_the_first():
    """The second gets UNRELEASED_INSTANCE_ID, and the first continues."""
    it = group()

    refused = it.join("T", "t", "u", instance="i").answer

    assert ErrorCode.UNRELEASED_INSTANCE_ID == refused.error
    assert "'i'" in refused.error_message
    assert ErrorCode.NONE == it.beat("S", instance="i").error
    assert "S" == it.group.static_members["i"]
