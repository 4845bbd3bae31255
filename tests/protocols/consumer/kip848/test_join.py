"""The first heartbeats of a member: what is in them, and what the answers make of it."""

from __future__ import annotations

from protocols.consumer.kip848.member import MemberState
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)

from .driver import MEMBER, Beat, ClientDriver, ids


def test_the_first_poll_joins():
    """Subscribing only notes the topics; the first poll makes the member join, at once."""
    driver = ClientDriver()

    assert MemberState.UNSUBSCRIBED is driver.member
    driver.poll()
    assert ["JOINING"] == driver.ways()
    assert 1 == len(driver.pending(Beat))


def test_a_joining_member_says_all():
    """The heartbeat with epoch 0 has every field, and owns nothing."""
    driver = ClientDriver(
        group_instance_id="i", client_rack="r", server_assignor="range", max_poll_interval_ms=7_000
    )

    assert (
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=MEMBER,
            member_epoch=0,
            instance_id="i",
            rack_id="r",
            rebalance_timeout_ms=7_000,
            subscribed_topic_names=("t",),
            server_assignor="range",
            topic_partitions=(),
        )
        == driver.joining()
    )


def test_an_acknowledgement_leaves_out_what_was_said():
    """Once it has joined, a member only says what has changed: what it owns now."""
    driver = ClientDriver(client_rack="r", server_assignor="range")
    driver.joining()
    driver.reconcile(2, 0, 1)

    assert ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=MEMBER, member_epoch=2, topic_partitions=ids(0, 1)
    ) == driver.one(Beat)


def test_a_heartbeat_of_a_stable_member_says_nothing():
    """Owned partitions that did not change are not sent: that is not the same as owning none."""
    driver = ClientDriver()
    driver.stable()

    assert (
        ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER, member_epoch=2)
        == driver.beat_due()
    )


def test_a_first_empty_assignment_is_reconciled():
    """A new member with an empty assignment calls its listener with none and acknowledges."""
    driver = ClientDriver()
    driver.joining()
    driver.reconcile(2)

    assert [("assigned", ())] == driver.calls
    assert () == driver.one(Beat).topic_partitions
    assert ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"] == driver.ways()


def test_a_member_that_joins_again_into_the_same_is_stable_at_once():
    """An assignment that equals the owned partitions needs no reconciliation."""
    driver = ClientDriver()
    driver.stable({})
    driver.beat_due()
    driver.beaten(3)

    assert MemberState.STABLE is driver.member
    assert 3 == driver.epoch


def test_a_pattern_of_the_coordinator_is_sent_as_it_is():
    """A server-side pattern goes out as text; no names are given, and no topic is watched by name."""
    driver = ClientDriver(regex="t.*", topics={"t": 2, "other": 1})
    request = driver.joining()

    assert "t.*" == request.subscribed_topic_regex
    assert () == request.subscribed_topic_names
    assert ((), True) == (driver.state.metadata.watched, driver.state.metadata.by_id)
    driver.reconcile(2, 0)
    driver.beaten()
    driver.advance(200)
    for _ in range(3):
        driver.poll()
    assert [0] == driver.owned()


def test_a_pattern_of_the_client_joins_without_a_topic_to_name():
    """The first poll joins before any metadata; the topic names follow with the metadata."""
    driver = ClientDriver(matches=lambda name: name.startswith("t"), topics={"t": 1, "x": 1})
    assert () == driver.joining().subscribed_topic_names
    driver.reconcile(2)

    assert ("t",) == driver.one(Beat).subscribed_topic_names


def test_a_pattern_that_matches_nothing_stays_in_the_group():
    """A member with nothing to read is a member: its heartbeats go on, and name no topic."""
    driver = ClientDriver(matches=lambda name: name.startswith("none"))
    driver.joining()
    driver.reconcile(2)
    driver.beaten()
    driver.poll()

    assert driver.beat_due().subscribed_topic_names is None
    assert MemberState.STABLE is driver.member


def test_what_comes_to_match_a_pattern_of_the_client_goes_out_with_a_heartbeat():
    """A poll looks at new metadata, and the next heartbeat has all names that match."""
    driver = ClientDriver(matches=lambda name: name.startswith("t"), topics={"t": 1, "x": 1})
    driver.joining()
    driver.reconcile(2)
    driver.beaten()
    driver.topics["t2"] = 1
    driver.advance(300_000)
    driver.poll()
    driver.advance(5_000)
    sent = [beat.subscribed_topic_names for beat in driver.ever(Beat)]

    assert ("t", "t2") == sent[-1]


def test_metadata_are_requested_again_when_other_topics_match_a_pattern_of_the_client():
    """At once, though the last request was answered within the back-off; the same topics ask for none."""
    driver = ClientDriver(matches=lambda name: name.startswith("t"), topics={"t": 1, "x": 1})
    driver.joining()
    driver.reconcile(2)
    driver.beaten()
    first = driver.ever(MetadataRequest)
    driver.topics["t2"] = 1
    driver.advance(300_000)
    driver.poll()
    driver.poll()

    assert 2 == len(first)
    assert 4 == len(driver.ever(MetadataRequest))
    assert driver.now_us == driver.state.metadata.fetched_us


def test_the_first_metadata_is_requested_before_the_coordinator_is_looked_up():
    """As in all captures; later lookups, with metadata at hand, request none."""
    driver = ClientDriver()
    driver.joining()
    begins = driver.ever(MetadataRequest | FindCoordinatorRequest)

    assert [MetadataRequest, FindCoordinatorRequest] == [type(sent) for sent in begins]


def test_the_first_heartbeat_waits_for_the_coordinator():
    """Without a coordinator nothing is sent; the lookup is tried again with a back-off."""
    driver = ClientDriver()
    driver.coordinator = None
    driver.poll()
    assert [] == driver.pending(Beat)
    driver.coordinator = 1
    driver.advance(100)

    assert 1 == len(driver.pending(Beat))
