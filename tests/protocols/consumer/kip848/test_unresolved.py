"""Targets with topics that the metadata cannot name yet, and targets that replace them."""

from __future__ import annotations

import pytest

from protocols.consumer.kip848.member import MemberState
from protocols.messages import MetadataRequest, OffsetFetchRequest, TopicPartitions

from .driver import Beat, ClientDriver, ids

UNNAMED = TopicPartitions("id-new", (0,))


@pytest.fixture
def waiting() -> ClientDriver:
    """A member that owns partition 0 of t, and is assigned a topic without a name."""
    driver = ClientDriver(subscribe=("t", "new"), enable_auto_commit=False, listener=False)
    driver.stable({0: 0})
    driver.beat_due()
    driver.beaten(3, assigned=(*ids(0), UNNAMED))
    driver.beaten()
    assert MemberState.RECONCILING is driver.member
    return driver


def test_the_part_with_names_is_acknowledged_once(waiting):
    """Neither the background thread nor polls acknowledge it again."""
    for _ in range(5):
        waiting.poll(100)
        waiting.advance(300)

    assert [] == waiting.pending(Beat)
    assert MemberState.RECONCILING is waiting.member


def test_metadata_are_requested_until_they_name_the_topic(waiting):
    """Each update that lacks it is followed by another."""
    waiting.advance(3_000)

    assert len(waiting.ever(MetadataRequest)) > 1


def test_the_topic_is_assigned_when_its_name_is_known(waiting):
    """No new response of the coordinator is needed."""
    waiting.topics = {**waiting.topics, "new": 1}
    waiting.advance(1_000)
    waiting.poll()
    waiting.poll()

    assert ["new", "t"] == [tp.topic for tp in waiting.state.assignment]
    assert ["new"] == [tp.topic for tp in waiting.one(OffsetFetchRequest).partitions]


@pytest.mark.parametrize(
    ("assigned", "owned"),
    [
        (ids(0, 1), [0, 1]),
        ((), []),
        ((TopicPartitions("id-other", (0,)),), []),
    ],
    ids=["known", "empty", "unknown"],
)
def test_a_new_target_replaces_one_that_waits_for_a_name(waiting, assigned, owned):
    """What the old target waited for is never assigned."""
    waiting.beat_due()
    waiting.beaten(4, assigned=assigned)
    waiting.topics = {**waiting.topics, "new": 1}
    for _ in range(4):
        waiting.poll()
        waiting.advance(200)

    assert owned == waiting.owned()
    assert {"t"} >= {tp.topic for tp in waiting.state.assignment}


def test_a_target_that_goes_back_is_acknowledged_again(waiting):
    """A longer target that came between is never applied; the topic is still waited for."""
    waiting.lags = dict.fromkeys(waiting.lags, 0)
    waiting.beat_due()
    waiting.beaten(4, assigned=(*ids(0), TopicPartitions("id-new", (0, 1))))
    again = waiting.one(Beat)
    waiting.beaten()

    assert ids(0) == again.topic_partitions
    assert ([0], MemberState.RECONCILING) == (waiting.owned(), waiting.member)


# -- a pattern that the coordinator evaluates ------------------------------------------------------


def test_the_topics_of_a_pattern_are_requested_by_id_once_they_are_assigned():
    """Until then the client has no metadata of any topic, and so no name for an id."""
    driver = ClientDriver(regex="t|new", topics={"t": 2, "new": 1}, enable_auto_commit=False)
    driver.joining()
    first = driver.ever(MetadataRequest)
    driver.beaten(2, assigned=ids(0, 1))
    driver.advance(200)
    later = driver.ever(MetadataRequest)[len(first) :]

    assert {((), ())} == {(request.topics, request.topic_ids) for request in first}
    assert {((), ("id-t",))} == {(request.topics, request.topic_ids) for request in later}
    assert {"t"} == set(driver.state.metadata.topics)


def test_a_member_with_a_pattern_first_owns_what_its_metadata_name():
    """A poll before the metadata assigns nothing (captured: pattern-broker-consumer)."""
    driver = ClientDriver(regex="t", topics={"t": 2})
    driver.joining()
    driver.deaf = {MetadataRequest}
    driver.beaten(2, assigned=ids(0, 1))
    for _ in range(3):
        driver.poll()

    assert [("assigned", ())] == driver.calls


def test_topics_that_are_given_back_are_watched_until_then():
    """Those of the target, and those still owned."""
    driver = ClientDriver(regex="t|new", topics={"t": 2, "new": 1}, enable_auto_commit=False)
    driver.joining()
    driver.beaten(2, assigned=ids(0, 1))
    driver.advance(200)
    for _ in range(3):
        driver.poll()
    driver.beaten()
    driver.beat_due()
    driver.beaten(3, assigned=(TopicPartitions("id-new", (0,)),))

    assert ("id-new", "id-t") == driver.state.metadata.watched
