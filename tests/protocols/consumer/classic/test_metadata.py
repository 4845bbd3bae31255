"""Metadata: age, back-off, patterns, and the changes that make a member rejoin."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from assignors.types import Subscription
from protocols.consumer import metadata
from protocols.consumer.reader import NOTHING_ASKED
from protocols.messages import (
    JoinGroupRequest,
    MetadataRequest,
    MetadataResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicDescription,
)

from .driver import MEMBER, ClientDriver, parts

AGE = 60_000


def leader(topics: dict[str, int] | None = None, **settings: Any) -> ClientDriver:
    """A stable leader that owns all of t, alone in its group."""
    driver = ClientDriver(
        topics=topics or {"t": 2},
        **{"enable_auto_commit": False, "metadata_max_age_ms": AGE, **settings},
    )
    driver.look_up()
    lead(driver, 1)
    return driver


def lead(driver: ClientDriver, generation: int, *more: str) -> None:
    """Let the JoinGroup be answered: it leads, with others that want some topics."""
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    others = {f"other-{topic}": Subscription(topics=(topic,)) for topic in more}
    driver.joined(generation, members={MEMBER: mine, **others}, member=MEMBER)
    driver.poll_until(SyncGroupRequest)
    given = dict(driver.one(SyncGroupRequest).assignments)[MEMBER]
    driver.answer(SyncGroupRequest, SyncGroupResponse(assignment=given))
    driver.poll()


def rejoins(driver: ClientDriver, within_ms: float) -> str | None:
    """The reason of the JoinGroup that polls lead to within a time, None if there is none."""
    until = driver.now_ms + within_ms
    while driver.now_ms < until:
        driver.poll()
        if driver.pending(JoinGroupRequest):
            reason: str = driver.one(JoinGroupRequest).reason
            return reason
        driver.advance(500)
    return None


# -- age and back-off ----------------------------------------------------------------------------


def test_metadata_are_read_again_at_their_age_limit():
    """So long after the last answer was read, whether or not anybody polls."""
    driver = ClientDriver(metadata_max_age_ms=AGE)
    driver.stable()
    driver.advance(3 * AGE + 10)
    times = [sent.at_us / 1_000 for sent in driver.ever(MetadataRequest)]

    assert [0, AGE, 2 * AGE + 100] == times


def test_unanswered_metadata_are_asked_again_elsewhere():
    """After the request timeout and a back-off, at another broker."""
    driver = ClientDriver(brokers=(1, 2), request_timeout_ms=2_000)
    driver.deaf = {MetadataRequest}
    driver.poll(10_000)
    driver.advance(2_500)
    sent = driver.ever(MetadataRequest)

    assert [2, 1] == [one.node for one in sent]
    assert 2_100 == sent[1].at_us / 1_000


@pytest.mark.parametrize(("broken", "asked"), [(1, [2]), (2, [2, 1])])
def test_a_broken_connection_fails_the_metadata_asked_for_over_it(broken, asked):
    """Those in flight to another broker go on."""
    driver = ClientDriver(brokers=(1, 2))
    driver.deaf = {MetadataRequest}
    driver.poll(10_000)
    driver.disconnect(broken)
    driver.advance(500)

    assert asked == [one.node for one in driver.ever(MetadataRequest)]


def test_a_topic_that_does_not_exist_is_looked_for_with_growing_pauses():
    """Until it exists the client asks again and again, at most once a second."""
    driver = ClientDriver(topics={}, enable_auto_commit=False)
    driver.poll(60_000)
    driver.advance(10_000)
    times = [sent.at_us / 1_000 for sent in driver.ever(MetadataRequest)]
    pauses = [round(b - a) for a, b in itertools.pairwise(times)]

    assert [100, 200, 400, 800, 1_000] == pauses[:5]


def test_a_response_with_news_shortens_the_next_pause_and_the_age_limit_too():
    """A new topic, or a newer leader epoch; responses that are equal to the one before lengthen it."""
    consumer = ClientDriver(metadata_max_age_ms=AGE).client.consumer
    reads, counts = NOTHING_ASKED, []
    for at_ms, leader, epoch in [
        (0, 1, 0),
        (100, 1, 0),
        (200, -1, 0),
        (400, -1, 1),
        (500, 2, 1),
        (600 + AGE, 2, 1),
    ]:
        topic = TopicDescription("t", "id", (leader,), leader_epochs=(epoch,))
        response = MetadataResponse(brokers=(1, 2), topics=(topic,))
        reads = metadata.on_response(reads, consumer, response, at_ms * 1_000).state
        counts.append(reads.metadata.equivalent)

    assert [0, 1, 2, 0, 1, 1] == counts


def test_topics_are_asked_for_by_name_and_patterns_for_all():
    """A pattern has to see every topic."""
    named = ClientDriver(subscribe=("t", "u"), topics={"t": 1, "u": 1})
    named.poll()
    pattern = ClientDriver(matches=lambda topic: topic == "t")
    pattern.poll()

    assert ("t", "u") == named.ever(MetadataRequest)[0].message.topics
    assert pattern.ever(MetadataRequest)[0].message.topics is None


# -- J4: the leader watches ----------------------------------------------------------------------


def test_a_leader_rejoins_when_partitions_are_added():
    """At its first poll after the refresh, with the reason Kafka gives."""
    driver = leader()
    driver.topics = {"t": 3}

    assert rejoins(driver, AGE - 1_000) is None
    assert "cached metadata has changed" == rejoins(driver, 2_000)


def test_a_follower_does_not():
    """Only the leader that assigned compares."""
    driver = ClientDriver(metadata_max_age_ms=AGE, enable_auto_commit=False)
    driver.stable()
    driver.topics = {"t": 3}

    assert rejoins(driver, 3 * AGE) is None


def test_unchanged_metadata_change_nothing():
    """A refresh alone is no reason."""
    driver = leader()

    assert rejoins(driver, 3 * AGE) is None


def test_a_leader_rejoins_when_a_topic_of_another_member_changes():
    """It watches the topics of the whole group."""
    driver = ClientDriver(
        topics={"t": 2, "u": 1}, enable_auto_commit=False, metadata_max_age_ms=AGE
    )
    driver.look_up()
    lead(driver, 1, "u")
    assert ("t", "u") == driver.ever(MetadataRequest)[-1].message.topics
    driver.topics = {"t": 2, "u": 5}

    assert "cached metadata has changed" == rejoins(driver, AGE + 1_000)


def test_a_leader_rejoins_when_a_topic_vanishes():
    """Deleted topics count as changed."""
    driver = leader({"t": 2, "u": 1}, subscribe=("t", "u"))
    driver.topics = {"t": 2}

    assert "cached metadata has changed" == rejoins(driver, AGE + 1_000)


def test_a_change_in_the_middle_of_a_rebalance_leads_to_another():
    """Seen between assignment and sync, it is not forgotten when the sync succeeds."""
    driver = ClientDriver(enable_auto_commit=False, metadata_max_age_ms=1_000)
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(1, members={MEMBER: mine}, member=MEMBER)
    driver.poll()
    driver.topics = {"t": 3}
    driver.advance(1_500)
    driver.poll()
    driver.synced(0, 1)
    driver.poll()

    assert "cached metadata has changed" == driver.one(JoinGroupRequest).reason


def test_racks_count_only_for_a_client_that_has_one():
    """A changed rack of a replica is a change only for clients that set client.rack."""
    for rack, reason in (("r1", "cached metadata has changed"), ("", None)):
        driver = leader({"t": 1}, client_rack=rack)
        driver.racks = {"t": (("r1", "r2"),)}

        assert reason == rejoins(driver, AGE + 1_000)


@pytest.mark.parametrize(
    ("racks", "reason"),
    [
        (("r2", "r1", "r1"), None),
        (("r1",), "cached metadata has changed"),
        (("r1", "r2", "r3"), "cached metadata has changed"),
    ],
)
def test_racks_of_a_partition_are_compared_as_a_set(racks, reason):
    """The order of the replicas does not count, nor how many are in a rack."""
    driver = leader({"t": 1}, client_rack="r1")
    driver.racks = {"t": (("r1", "r2"),)}
    rejoins(driver, AGE + 1_000)
    lead(driver, 2)
    driver.racks = {"t": (racks,)}

    assert reason == rejoins(driver, AGE + 1_000)


def test_a_restarted_static_leader_watches_although_it_assigns_nothing():
    """With skip_assignment it syncs without assignments, and compares metadata from then on."""
    driver = ClientDriver(
        group_instance_id="i-1", enable_auto_commit=False, metadata_max_age_ms=AGE
    )
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(4, members={MEMBER: mine}, member=MEMBER, skip=True)
    driver.poll()
    assert () == driver.one(SyncGroupRequest).assignments
    driver.synced(0, 1)
    driver.poll()
    driver.topics = {"t": 3}

    assert "cached metadata has changed" == rejoins(driver, AGE + 1_000)


def test_a_member_that_leads_no_more_compares_no_more():
    """The next join resets what it watched."""
    driver = leader()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(0)
    driver.poll()
    driver.topics = {"t": 3}

    assert rejoins(driver, 3 * AGE) is None


def test_a_leader_waits_for_metadata_of_topics_only_others_want():
    """It assigns when it has them, not before."""
    driver = ClientDriver(topics={"t": 2, "u": 3}, enable_auto_commit=False)
    driver.look_up()
    driver.deaf = {MetadataRequest}
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    other = Subscription(topics=("u",))
    driver.joined(1, members={MEMBER: mine, "other": other}, member=MEMBER)
    driver.poll(10_000)
    driver.advance(1_000)
    assert [] == driver.pending(SyncGroupRequest)

    request = driver.one(MetadataRequest)
    driver.answer(MetadataRequest, driver.metadata(request))
    given = dict(driver.one(SyncGroupRequest).assignments)
    assert parts(0, 1, 2, topic="u") == given["other"]


def test_an_answer_asked_for_before_those_topics_were_known_does_not_count():
    """A refresh under way when the leader is elected has not asked for the new topic."""
    driver = ClientDriver(
        topics={"t": 2, "u": 3}, enable_auto_commit=False, metadata_max_age_ms=1_000
    )
    driver.look_up()
    driver.deaf = {MetadataRequest}
    driver.advance(1_500)
    early = driver.one(MetadataRequest)
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(1, members={MEMBER: mine, "other": Subscription(topics=("u",))}, member=MEMBER)
    driver.poll(10_000)
    driver.answer(MetadataRequest, driver.metadata(early))
    assert [] == driver.pending(SyncGroupRequest)

    driver.advance(10)
    driver.answer(MetadataRequest, driver.metadata(driver.one(MetadataRequest)))
    given = dict(driver.one(SyncGroupRequest).assignments)
    assert parts(0, 1, 2, topic="u") == given["other"]


# -- leader epochs -------------------------------------------------------------------------------


def test_a_recreated_topic_is_led_in_epochs_of_its_own():
    """An older epoch of the same topic id is ignored, one of a new topic id is used."""
    driver = ClientDriver(metadata_max_age_ms=AGE)
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 5)
    driver.look_up()
    positions = driver.client.consumer.positions
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 0)
    driver.advance(AGE)
    driver.poll()
    assert 5 == positions.leader(parts(0)[0]).epoch

    driver.topic_ids = {"t": "another"}
    driver.advance(AGE)
    driver.poll()
    assert 0 == positions.leader(parts(0)[0]).epoch
