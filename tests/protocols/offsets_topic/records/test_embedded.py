"""The consumer protocol inside other bytes: subscriptions and assignments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.types import Subscription, TopicPartition
from protocols.offsets_topic.records import (
    MalformedRecordError,
    UnwritableRecordError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocols.offsets_topic.records.embedded import (
    ASSIGNMENT,
    SUBSCRIPTION,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    PartitionsOfTopic,
    read_assignment,
    read_subscription,
    write_embedded,
)

from .golden import cases
from .strategies import refusal, spoilt

numbers = st.integers(0, 2**31 - 1)
topics = st.text(max_size=4)
partitions = st.lists(st.builds(TopicPartition, topics, numbers), max_size=5, unique=True)
subscriptions = st.builds(
    Subscription,
    topics=st.lists(topics, max_size=3).map(sorted).map(tuple),
    user_data=st.none() | st.binary(max_size=5),
    owned_partitions=partitions.map(sorted).map(tuple),
    generation_id=st.integers(-1, 2**31 - 1),
    rack_id=st.none() | st.text(min_size=1, max_size=4),
    group_instance_id=st.none(),
)


def parsed(fields):
    """Return what a golden case calls its fields, as ours."""
    shown = dict(fields)
    if shown["user_data"] is not None:
        shown["user_data"] = bytes.fromhex(shown["user_data"])
    for name in {"owned_partitions", "assigned_partitions"} & set(shown):
        shown[name] = tuple(
            PartitionsOfTopic(topic=entry["topic"], partitions=tuple(entry["partitions"]))
            for entry in shown[name]
        )
    return shown | {"topics": tuple(shown["topics"])} if "topics" in shown else shown


@pytest.mark.parametrize("case", cases("subscription", "assignment"), ids=lambda case: case["id"])
def test_bytes_are_those_of_the_java_client(case):
    """Both ways, of every version."""
    sort = case["kind"] == "subscription"
    cls, table, read = (
        (ConsumerProtocolSubscription, SUBSCRIPTION, read_subscription)
        if sort
        else (ConsumerProtocolAssignment, ASSIGNMENT, read_assignment)
    )
    value = cls(**parsed(case["fields"]), value_version=case["version"])

    assert bytes.fromhex(case["hex"]) == write_embedded(table, value)
    assert value == read(bytes.fromhex(case["hex"]))


@pytest.mark.parametrize("case", cases("subscription", "assignment"), ids=lambda case: case["id"])
def test_the_assignors_words_become_the_same_bytes(case):
    """Version by version."""
    data = bytes.fromhex(case["hex"])
    if case["kind"] == "subscription":
        assert data == encode_subscription(decode_subscription(data), case["version"])
    else:
        assert data == encode_assignment(decode_assignment(data), version=case["version"])


def test_a_newer_version_is_read_as_the_newest_known():
    """Bytes after the known fields are ignored."""
    (case,) = cases("decode-subscription")
    read = read_subscription(bytes.fromhex(case["hex"]))

    assert case["version"] == read.value_version
    assert parsed(case["fields"]) == {name: getattr(read, name) for name in case["fields"]}


@given(subscriptions)
def test_a_subscription_comes_back_from_its_bytes(subscription):
    """All of it that is in the bytes."""
    assert subscription == decode_subscription(encode_subscription(subscription))


@given(partitions, st.none() | st.binary(max_size=3), st.integers(0, 3))
def test_an_assignment_comes_back_by_topic(given_partitions, user_data, version):
    """Topics in the order in which each is first named, partitions in theirs."""
    first = {tp.topic: place for place, tp in reversed(list(enumerate(given_partitions)))}
    data = encode_assignment(given_partitions, user_data, version)

    assert decode_assignment(data) == tuple(
        sorted(given_partitions, key=lambda tp: first[tp.topic])
    )
    assert (version, user_data) == (
        read_assignment(data).value_version,
        read_assignment(data).user_data,
    )


@given(subscriptions)
def test_a_subscription_is_written_in_order(subscription):
    """Whatever order the member has its topics and partitions in."""
    shuffled = Subscription(
        topics=subscription.topics[::-1],
        user_data=subscription.user_data,
        owned_partitions=subscription.owned_partitions[::-1],
        generation_id=subscription.generation_id,
        rack_id=subscription.rack_id,
    )

    assert encode_subscription(subscription) == encode_subscription(shuffled)


@given(subscriptions, st.integers(0, 3))
def test_an_older_version_leaves_out_what_it_does_not_have(subscription, version):
    """Which then reads as nothing owned, no generation, no rack."""
    read = decode_subscription(encode_subscription(subscription, version))

    assert subscription.topics == read.topics
    assert (subscription.owned_partitions if version > 0 else ()) == read.owned_partitions
    assert (subscription.generation_id if version > 1 else -1) == read.generation_id
    assert (subscription.rack_id if version > 2 else None) == read.rack_id


def test_an_empty_rack_counts_as_none():
    """As the Java leader takes it."""
    assert (
        decode_subscription(encode_subscription(Subscription(topics=(), rack_id=""))).rack_id
        is None
    )


@given(subscriptions, st.data())
def test_a_coordinator_reads_the_topics_whatever_follows(subscription, data):
    """Of any version."""
    written = encode_subscription(subscription, data.draw(st.integers(0, 3)))
    topics_alone = read_subscription(written).topics

    assert topics_alone == subscribed_topics(written)
    with pytest.raises(MalformedRecordError):
        decode_subscription(encode_subscription(subscription)[:-1])


@given(subscriptions, partitions, st.data())
def test_spoilt_bytes_are_read_or_refused(subscription, given_partitions, data):
    """With the place in them."""
    for written, read, part in (
        (encode_subscription(subscription), decode_subscription, "subscription"),
        (encode_assignment(given_partitions), decode_assignment, "assignment"),
        (encode_subscription(subscription), subscribed_topics, "subscription"),
    ):
        wrong = data.draw(spoilt(written))
        error = refusal(read, wrong)
        assert error is None or part == error.part
        assert error is None or 0 <= error.position <= len(wrong)


@pytest.mark.parametrize(
    ("data", "problem"), [(b"\x00", "2 bytes wanted"), (b"\xff\xff", "-1 is no")]
)
def test_bytes_without_a_version_are_refused(data, problem):
    """Negative ones too."""
    for read in (decode_subscription, decode_assignment, subscribed_topics):
        with pytest.raises(MalformedRecordError, match=problem):
            read(data)


def test_only_known_versions_are_written():
    """0 to 3."""
    with pytest.raises(
        UnwritableRecordError, match=r"Assignment\.value_version: no such version: 4"
    ):
        encode_assignment((), version=4)
    with pytest.raises(
        UnwritableRecordError, match=r"assignedPartitions\[\].partitions: not every"
    ):
        encode_assignment([TopicPartition("t", 2**31)])
