"""OffsetFetch: two views of the log."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.groups.responses import error_response
from protocols.messages import (
    FetchedOffset,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import GROUP, some


def test_a_plain_fetch_sees_what_is_durable():
    """At once, even while newer offsets are on their way."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1})
    driver.hold = True
    driver.commit(offsets={0: 2})

    assert 1 == driver.fetch(0).answer.offsets[0].offset
    driver.replicate()
    assert 2 == driver.fetch(0).answer.offsets[0].offset


def test_a_stable_fetch_sees_the_newest_and_waits_for_it():
    """Its answer is worked out at once and released when all of it is durable."""
    driver = GroupDriver()
    driver.hold = True
    driver.commit(offsets={0: 1})
    fetched = driver.fetch(0, stable=True)
    driver.commit(offsets={0: 2})

    assert not fetched.answered
    driver.replicate(1)
    assert 1 == fetched.answer.offsets[0].offset


@pytest.mark.parametrize(
    "raw",
    [
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_a_stable_fetch_that_fails_gets_not_coordinator(raw: ErrorCode):
    """Other requests get a retriable error; a fetch makes the client look up the coordinator."""
    driver = GroupDriver()
    driver.hold = True
    driver.commit()
    fetched = driver.fetch(0, stable=True)

    driver.reject(0, raw)

    assert OffsetFetchResponse(error=ErrorCode.NOT_COORDINATOR) == fetched.answer


def test_an_uncommitted_offset_is_minus_one():
    """In a group with other offsets, and in one that does not exist."""
    driver = GroupDriver()
    partition = TopicPartition("t", 5)

    assert (FetchedOffset(partition),) == driver.fetch(5).answer.offsets
    driver.commit()
    assert (FetchedOffset(partition),) == driver.fetch(5, stable=True).answer.offsets
    assert FetchedOffset(partition, -1, -1, "", ErrorCode.NONE) == FetchedOffset(partition)


def test_all_offsets_come_in_the_order_of_the_coordinators_tables():
    """None in a group that does not exist."""
    driver = GroupDriver()

    assert () == driver.fetch().answer.offsets
    driver.commit(offsets={number: number for number in range(6)})
    fetched = driver.fetch().answer.offsets

    assert [5, 0, 2, 4, 1, 3] == [offset.offset for offset in fetched]


def test_by_id_a_topic_of_the_same_name_is_another():
    """From version 10 on offsets of a deleted topic are not those of its successor."""
    driver = GroupDriver(topics=[TopicDescription("t", "old", (1,))])
    driver.commit(offsets={0: 7})
    driver.coordinator.topics_changed([TopicDescription("t", "new", (1,))])

    def fetched(version: int, topic: str = "t") -> FetchedOffset:
        request = OffsetFetchRequest(
            group_id=GROUP, partitions=some(0, topic=topic), version=version
        )
        return driver.send(request).answer.offsets[0]

    assert [7, -1] == [fetched(9).offset, fetched(10).offset]
    assert ErrorCode.UNKNOWN_TOPIC_ID == fetched(10, "gone").error
    assert ErrorCode.NONE == fetched(9, "gone").error


def test_by_id_topics_that_are_gone_are_left_out_of_all():
    """There is no id to name them by."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])
    driver.commit()
    driver.coordinator.topics_changed([])
    request = OffsetFetchRequest(group_id=GROUP, version=10)

    assert () == driver.send(request).answer.offsets


def test_version_1_has_no_error_of_its_own():
    """Each partition has the error."""
    request = OffsetFetchRequest(group_id=GROUP, partitions=some(0, 1), version=1)

    answer = error_response(request, ErrorCode.NOT_COORDINATOR)

    assert isinstance(answer, OffsetFetchResponse)
    assert ErrorCode.NONE == answer.error
    assert [ErrorCode.NOT_COORDINATOR] * 2 == [offset.error for offset in answer.offsets]
