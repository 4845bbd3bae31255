"""Another subscription while the member is in its group, or after it has left."""

from __future__ import annotations

from protocols.consumer.kip848.member import MemberState
from protocols.messages import FetchRequest, MetadataRequest

from .driver import Beat, ClientDriver, ids, parts
from .together import Together


def reading() -> ClientDriver:
    """A member that reads partition 0 of ``t`` and of ``u``."""
    driver = ClientDriver(
        topics={"t": 1, "u": 1, "v": 1}, subscribe=("t", "u"), enable_auto_commit=False
    )
    driver.joining()
    driver.beaten(2, assigned=ids(0) + ids(0, topic="u"))
    for _ in range(4):
        driver.poll()
    driver.beaten()
    driver.poll()
    driver.fetched({0: 5})
    driver.quiet()
    return driver


def subscribe(driver: ClientDriver, *topics: str) -> None:
    driver.call(driver.client.subscribe(driver.now_us, topics))


def test_the_next_heartbeat_names_the_new_topics():
    """At its next tick, with no other new field; no listener is called."""
    driver = reading()
    subscribe(driver, "v", "t")
    assert not driver.pending(Beat)

    beat = driver.beat_due()

    assert ("t", "v") == beat.subscribed_topic_names
    assert (2, None) == (beat.member_epoch, beat.topic_partitions)
    assert [] == driver.calls


def test_what_is_not_subscribed_to_any_more_is_owned_but_not_read():
    """Until the coordinator takes it back: then its listener hears of it."""
    driver = reading()
    driver.records({0: 0})
    subscribe(driver, "t")
    driver.poll()
    driver.advance(100)
    driver.poll()
    asked = [part.partition for fetch in driver.ever(FetchRequest) for part in fetch.partitions]
    assert parts(0, topic="t") == tuple(dict.fromkeys(asked))
    assert parts(0, topic="t") + parts(0, topic="u") == driver.state.assignment

    driver.beat_due()
    driver.beaten(3, assigned=ids(0))
    for _ in range(3):
        driver.poll()

    assert [("revoked", (0,)), ("assigned", ())] == driver.calls
    assert parts(0, topic="t") == driver.state.assignment


def test_a_topic_that_is_subscribed_to_again_is_read_again():
    """Nothing was revoked meanwhile."""
    driver = reading()
    driver.records({0: 0})
    subscribe(driver, "t")
    driver.poll()
    driver.records({0: 0})
    subscribe(driver, "t", "u")
    driver.poll()
    asked = [part.partition for part in driver.one(FetchRequest).partitions]

    assert parts(0, topic="t") + parts(0, topic="u") == tuple(sorted(asked))


def test_new_topics_are_asked_for_at_once():
    """And those that are still owned, which have to have names."""
    driver = reading()
    subscribe(driver, "v")
    driver.advance(1_000)

    assert ("t", "u", "v") == driver.ever(MetadataRequest)[-1].topics


def test_a_pattern_is_taken_back():
    """Names in the place of a pattern: the heartbeat says so once."""
    driver = ClientDriver(regex="t|u", topics={"t": 1, "u": 1}, enable_auto_commit=False)
    driver.joining()
    driver.reconcile(2)
    driver.beaten()
    subscribe(driver, "t")

    beat = driver.beat_due()
    driver.beaten()
    later = driver.beat_due()

    assert ("", ("t",)) == (beat.subscribed_topic_regex, beat.subscribed_topic_names)
    assert (None, None) == (later.subscribed_topic_regex, later.subscribed_topic_names)


def test_after_unsubscribe_the_next_poll_joins_again():
    """With the same id; subscribing alone sends nothing."""
    driver = reading()
    driver.unsubscribe()
    driver.advance(0)
    assert MemberState.UNSUBSCRIBED is driver.member
    driver.sent.clear()
    subscribe(driver, "v")
    assert not driver.pending(Beat)

    driver.poll()

    assert (0, ("v",)) == (driver.one(Beat).member_epoch, driver.one(Beat).subscribed_topic_names)


def test_the_group_takes_back_what_is_not_read_any_more():
    """With a coordinator: the topic's partitions go to who still reads it."""
    it = Together()
    it.start("A")
    it.run(2_000)
    it.start("B")
    it.run(12_000)
    member = it.members["A"]
    member.topics["u"] = 2
    subscribe(member, "u")

    it.run(16_000)

    assert {"A": [], "B": [0, 1, 2, 3, 4, 5]} == it.owned()
    assert ("revoked", (0, 1, 2)) in member.calls
    assert "Stable" == it.group.state
