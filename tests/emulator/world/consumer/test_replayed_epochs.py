"""The world follows the history of a real group of the consumer protocol."""

from __future__ import annotations

from emulator.events import ListenerCalled, MemberAdded, TopicCreated
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.run import NOTHING_REPLAYED, Replay

from ..stage import SECOND

TEXT = """
title = "replayed"
run_for = "6s"

[[topic]]
name = "t"

[[group]]
id = "g"
topics = ["t"]
members = 2
settings.group.protocol = "consumer"
"""


def written(kind, replay=NOTHING_REPLAYED):
    """Play the group and return its events of this kind."""
    events = []
    play(loads(TEXT), 0, (events.append,), replay=replay)
    return [event for event in events if isinstance(event.what, kind)]


def test_members_have_the_ids_that_are_given_out():
    """They are taken by client id; a member without one generates it."""
    ids = Replay(member_ids={"g-1": "real"}.get)
    by_consumer = {e.what.consumer: e.what.member_id for e in written(MemberAdded, ids)}
    made_up = {e.what.consumer: e.what.member_id for e in written(MemberAdded)}

    assert {"g-0": made_up["g-0"], "g-1": "real"} == by_consumer


def test_topics_have_the_ids_that_are_given():
    """By name; others make them up."""
    real = "MqLAo9DuQMWcW0M5zgcNyw"
    given, made_up = written(TopicCreated, Replay(topic_ids={"t": real})), written(TopicCreated)

    assert [real] == [event.what.topic_id for event in given]
    assert real != made_up[0].what.topic_id


def test_listener_calls_do_not_end_before_their_time():
    """As many of a process as there are times for it; the others are as long as ever."""
    late = Replay(listened_us={"g-0.1": (3 * SECOND,)})
    calls = [event for event in written(ListenerCalled, late) if event.what.consumer == "g-0"]

    assert calls[0].what.began_us < SECOND
    assert 3 * SECOND == calls[0].at_us
    assert all(call.at_us == call.what.began_us for call in calls[1:])
