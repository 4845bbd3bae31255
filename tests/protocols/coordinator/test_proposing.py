"""Sets of records that go to the log together, and those that need not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assignors.types import TopicPartition
from protocols.coordinator.dispatch import on_append_failed
from protocols.coordinator.machine import GroupCoordinator
from protocols.groups.shard import Retry
from protocols.machine import Append, Send, SetTimer
from protocols.messages import Envelope, Header, OffsetCommitRequest, OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import ZERO_TOPIC_ID
from protocols.settings import BrokerSettings

DAY_US = 24 * 3_600 * 1_000_000


def coordinator_with_offsets():
    """Return a coordinator whose log ends at 4: two groups with two offsets each, all durable."""
    coordinator = GroupCoordinator(BrokerSettings(), new_id=str)
    coordinator.loaded(0)
    for number, group in enumerate(("a", "b")):
        offsets = tuple(OffsetToCommit(TopicPartition("t", each), 7) for each in range(2))
        request = OffsetCommitRequest(group_id=group, offsets=offsets)
        coordinator.handle(Envelope(Header("c", number, "c"), request), 0)
    coordinator.durable(4, 0)
    return coordinator


def sets_of(step):
    return [len(effect.records) for effect in step.effects if isinstance(effect, Append)]


def answers(step):
    """Return the correlation id and the first partition's error of each response."""
    return [
        (effect.to.correlation_id, effect.message.errors[0][1])
        for effect in step.effects
        if isinstance(effect, Send)
    ]


def known(coordinator):
    coordinator.check()
    durable = coordinator.state.durable
    return {
        group: [each for each in range(2) if durable.offset(group, "t", each) is not None]
        for group in durable.groups
    }


def test_expired_offsets_are_proposed_record_by_record():
    """Four offsets and two groups."""
    coordinator = coordinator_with_offsets()
    step = coordinator.wake("expire-group-metadata", 8 * DAY_US)

    assert [1] * 6 == sets_of(step)
    assert {} == known(coordinator)
    assert 10 == coordinator.next_log_offset


def test_tombstones_are_taken_back_from_the_one_on_that_failed():
    """Those before it are in the log and hold; a group comes back with its own tombstone."""
    for failed in range(4, 10):
        coordinator = coordinator_with_offsets()
        coordinator.wake("expire-group-metadata", 8 * DAY_US)
        coordinator.rejected(failed, ErrorCode.MESSAGE_TOO_LARGE, 8 * DAY_US)
        left = known(coordinator)

        assert failed == coordinator.next_log_offset
        assert 10 - failed == sum(map(len, left.values())) + len(left)


def test_offsets_of_a_deleted_topic_are_proposed_record_by_record():
    """Of every group."""
    step = coordinator_with_offsets().topic_deleted("t", ZERO_TOPIC_ID, DAY_US)

    assert [1] * 4 == sets_of(step)


def test_the_records_of_a_request_are_one_set():
    """For any number of partitions."""
    coordinator = coordinator_with_offsets()
    offsets = tuple(OffsetToCommit(TopicPartition("t", each), 8) for each in range(5))
    request = OffsetCommitRequest(group_id="a", offsets=offsets)

    assert [5] == sets_of(coordinator.handle(Envelope(Header("c", 9, "c"), request), DAY_US))


def test_a_response_that_waits_for_earlier_records_survives_a_failed_append():
    """The append at the log offset where its own records end is the first that fails."""
    coordinator = GroupCoordinator(BrokerSettings(), new_id=str)
    coordinator.loaded(0)
    for number in (1, 2):
        offsets = (OffsetToCommit(TopicPartition("t", 0), number),)
        request = OffsetCommitRequest(group_id="a", offsets=offsets)
        coordinator.handle(Envelope(Header("c", number, "c"), request), 0)

    failed = coordinator.rejected(1, ErrorCode.MESSAGE_TOO_LARGE, 1)
    held = coordinator.durable(1, 2)

    assert [(2, ErrorCode.UNKNOWN_SERVER_ERROR)] == answers(failed)
    assert [(1, ErrorCode.NONE)] == answers(held)


def test_an_event_of_earlier_records_survives_a_failed_append():
    """It is emitted when they are durable."""
    coordinator = coordinator_with_offsets()
    coordinator.wake("expire-group-metadata", 8 * DAY_US)
    coordinator.rejected(9, ErrorCode.MESSAGE_TOO_LARGE, 8 * DAY_US)

    facts = [effect.fact for effect in coordinator.durable(9, 8 * DAY_US).effects]
    assert ["b", "a"] == [fact.group for fact in facts]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, (SetTimer("heartbeat of m", 500_000),)),
        (ErrorCode.NOT_COORDINATOR, ()),
    ],
)
def test_a_timer_whose_records_were_not_written_fires_again_while_this_is_the_coordinator(
    error, again
):
    """A removal that cannot be written now may be later; the next coordinator has its own timers."""
    at = SimpleNamespace(after=lambda milliseconds: milliseconds * 1_000)
    turn = on_append_failed(None, Retry("a", "heartbeat of m"), error, at)

    assert again == turn.effects
