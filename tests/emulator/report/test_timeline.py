"""The timeline of a run's screen."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.report.timeline import Timeline
from emulator.scenario.model import Group, Member, Scenario, Topic
from emulator.scenario.resolution import contested_groups


def texts_of(*events, contested=()):
    """Return the texts of the events, one second apart."""
    timeline = Timeline(contested)
    for number, what in enumerate(events):
        timeline.feed(ev.Event(number, number * 1_000_000, None, what, number))
    return [entry.text for entry in timeline.entries]


def joined(protocol):
    """Return the end of a join phase in which this assignor was elected."""
    return ev.JoinPhaseEnded(
        group="g", generation=1, protocol=protocol, leader="a", consumers=("a",)
    )


def test_the_winner_of_a_vote_is_shown_where_it_changes():
    """The first one only if members list different assignors."""
    events = [joined(each) for each in ("range", "range", "sticky", "")]
    change = "g elects the assignor sticky, until now range"

    assert [change] == texts_of(*events)
    assert ["g elects the assignor range", change] == texts_of(*events, contested={"g"})


def test_votes_are_contested_if_members_list_different_assignors():
    """In their own order."""
    own = {"partition.assignment.strategy": ["sticky", "range"]}
    group = {"topics": ["t"], "settings": {"partition.assignment.strategy": ["range", "sticky"]}}
    scenario = Scenario(
        title="two votes",
        run_for=1,
        topic=[Topic(name="t")],
        group=[
            Group(id="g", members=[Member(name="a"), Member(name="b", settings=own)], **group),
            Group(id="h", members=[Member(name="c"), Member(name="d")], **group),
        ],
    )

    assert {"g"} == contested_groups(scenario)


@pytest.mark.parametrize(
    ("next_offset", "text"),
    [
        (101, "orders-0 loses 1 record: broker 2 was elected without it"),
        (1200, "orders-0 loses 1,100 records: broker 2 was elected without them"),
    ],
)
def test_records_that_are_gone_are_counted(next_offset, text):
    """One is one."""
    gone = ev.RecordsTruncated(
        partition=TopicPartition("orders", 0),
        broker=2,
        leader_epoch=1,
        first=100,
        next_offset=next_offset,
        incarnation=1,
    )

    assert [text] == texts_of(gone)


def test_a_broker_that_is_named_by_its_role_is_a_phrase():
    """Its number is not known before the fault; others have their names."""
    pause = {"fault": "f", "verb": "pause_broker", "target": "coordinator of billing"}
    crash = {"fault": "g", "verb": "crash_broker", "target": "broker-1"}

    assert [
        "the process of the coordinator of billing is paused",
        "the process of the coordinator of billing resumes",
        "broker-1 crashes",
    ] == texts_of(ev.FaultBegan(**pause), ev.FaultEnded(**pause), ev.FaultBegan(**crash))


@pytest.mark.parametrize("how", ["killed", None])
def test_a_process_resumes_only_if_it_has_not_ended_meanwhile(how):
    """Its successor was never paused."""
    began = ev.FaultBegan(fault="pause-1", verb="pause", target="billing-2")
    ended = ev.FaultEnded(fault="pause-1", verb="pause", target="billing-2")
    stops = [] if how is None else [stopped("billing-2", how)]

    resumes = [text for text in texts_of(began, *stops, ended) if "resumes" in text]

    assert resumes == ([] if how else ["the process of billing-2 resumes"])


def stopped(consumer, how):
    """Return the end of a process."""
    return ev.ConsumerStopped(consumer=consumer, group="billing", how=how, reason="")


def started(consumer, group):
    return ev.ConsumerStarted(consumer=consumer, group=group, incarnation=1, instance_id=None)


def test_a_group_that_starts_later_than_the_others_has_a_line():
    """Once, unless an act that starts its member shows it; those of the beginning have none."""
    act = ev.FaultBegan(fault="start-1", verb="start", target="red-0")
    starts = (started("blue-0", "blue"), started("green-0", "green"), started("green-1", "green"))

    assert ["group green starts, with green-0", "red-0 is started"] == texts_of(
        *starts, act, started("red-0", "red")
    )


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            ev.Departure.EXPIRED,
            "billing removes billing-1: session expired before its restart is over",
        ),
        (ev.Departure.REPLACED, "billing removes billing-1: replaced by the same instance"),
    ],
)
def test_a_removal_during_a_restart_names_the_restart(why, text):
    """A restart under the same instance id is no consequence: later restarts need not hide behind it."""
    timeline = Timeline()
    began = ev.FaultBegan(fault="r", verb="restart", target="billing-1")
    removed = ev.MemberRemoved(group="billing", member_id="m", consumer="billing-1", why=why)
    for at, what in enumerate((began, removed)):
        timeline.feed(ev.Event(at, at, None, what, at))
    _, last = timeline.entries

    assert (text, why == ev.Departure.EXPIRED) == (last.text, last.is_consequence)
