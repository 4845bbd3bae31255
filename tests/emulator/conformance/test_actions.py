"""The actions of a captured run are read with their targets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.conformance.captured.capture import Action, read_capture, why_not_comparable
from emulator.conformance.figures import tolerances_of
from emulator.conformance.history.run import history
from emulator.conformance.prediction.rebuild import rebuild
from emulator.events import BrokerDown, BrokerUp, FaultBegan, FaultEnded, TopicCreated, TopicDeleted
from emulator.scenario import model


def action(do, *, at_us=0, member=None, broker=None):
    return Action(do=do, at_us=at_us, member=member, topic=None, broker=broker)


@pytest.mark.parametrize(
    ("do", "broker", "verb"),
    [
        ("killcoord", 2, "crash_broker"),
        ("killcoord", None, "crash_broker"),
        ("killother", 3, "crash_broker"),
        ("restartother", 3, "crash_broker ends"),
        ("stopbroker", 1, "pause_broker"),
        ("contcoord", None, "pause_broker ends"),
        ("stopproducer", None, None),
        ("killnoncoord", None, None),
        ("killnoncoord", 1, "crash_broker"),
        ("start", None, "start"),
        ("none", None, ""),
        ("rotate", 1, None),
    ],
)
def test_a_word_about_a_broker_means_the_same_whichever_broker_it_is(do, broker, verb):
    """It names a broker, or the coordinator's; other words are known one by one."""
    assert verb == action(do, broker=broker).verb


def struck(capture, *actions):
    """Return a kept capture with other actions, as if they had been done to it."""
    run = capture("crash-range-auto/run-1")
    return replace(run, actions=tuple(replace(a, at_us=run.fault_us + a.at_us) for a in actions))


def test_the_death_of_any_broker_is_played(capture):
    """The one that the capture names, not the coordinator's; until it ran again."""
    other = struck(
        capture, action("killother", broker=3), action("restartother", at_us=5_000_000, broker=3)
    )
    scenario = rebuild(other).scenario
    (crash,) = [fault for fault in scenario.fault if isinstance(fault, model.CrashBroker)]

    assert why_not_comparable(other) is None
    assert ("broker-3", other.fault_us, 5_000_000) == (crash.broker, crash.at, crash.restart_after)
    assert tolerances_of(other).broker_failed
    assert not tolerances_of(other).coordinator_killed
    assert tolerances_of(other).view.faulted is None


@pytest.mark.parametrize(
    ("do", "broker", "killed"),
    [
        ("killcoord", None, True),
        ("killany", 1, True),
        ("killany", 2, False),
        ("stopcoord", 1, False),
    ],
)
def test_a_capture_knows_whether_its_coordinator_was_killed(capture, do, broker, killed):
    """By its number, or by the word alone; a stopped one is still there."""
    run = struck(capture, action(do, broker=broker))

    assert (1, killed) == (run.coordinator, run.coordinator_killed)


def test_a_stop_without_a_number_is_the_coordinators(capture):
    """It lasts to the end if no action ends it."""
    stopped = struck(capture, action("stopcoord"))
    scenario = rebuild(stopped).scenario
    (pause,) = [fault for fault in scenario.fault if isinstance(fault, model.PauseBroker)]

    assert f"coordinator of {stopped.group}" == pause.broker
    assert stopped.end_us == pause.at + pause.lasting


def test_a_broker_comes_back_by_the_action_that_names_it(capture):
    """Two may fail one after the other."""
    both = struck(
        capture,
        action("killone", broker=1),
        action("killtwo", at_us=1_000_000, broker=2),
        action("restarttwo", at_us=2_000_000, broker=2),
        action("restartone", at_us=4_000_000, broker=1),
    )
    crashes = [f for f in rebuild(both).scenario.fault if isinstance(f, model.CrashBroker)]

    assert [4_000_000, 1_000_000] == [crash.restart_after for crash in crashes]


def test_the_history_has_the_downtimes_of_brokers(capture):
    """As events of an emulated run do."""
    stopped = struck(
        capture, action("stopother", broker=2), action("contother", at_us=1_000_000, broker=2)
    )
    brokers = [
        event.what
        for event in history(stopped)
        if isinstance(event.what, BrokerDown | BrokerUp | FaultBegan | FaultEnded)
    ]

    assert [
        FaultBegan(fault="pause_broker-1", verb="pause_broker", target="broker-2"),
        BrokerDown(broker=2),
        FaultEnded(fault="pause_broker-1", verb="pause_broker", target="broker-2"),
        BrokerUp(broker=2),
    ] == brokers


def test_unknown_actions_are_not_compared(capture):
    """They are named."""
    reason = why_not_comparable(struck(capture, action("rotate")))

    assert reason is not None
    assert reason.endswith("action rotate")


def test_a_topic_is_deleted_and_created_again_between_its_signs(kept):
    """Members hear at once that it is gone; one sees the new one before records are produced to it."""
    run = read_capture(kept.parent / "captures-more" / "recreated-topic-classic" / "run-1")
    deleting, creating = run.actions
    (produced,), (former,) = run.productions, run.formers
    rebuilt = rebuild(run)
    deleted = next(act for act in rebuilt.scenario.fault if isinstance(act, model.DeleteTopic))
    created = next(act for act in rebuilt.scenario.fault if isinstance(act, model.CreateTopic))
    seen = [event for event in history(run) if isinstance(event.what, TopicCreated | TopicDeleted)]
    (topic,) = rebuilt.scenario.topic

    assert why_not_comparable(run) is None
    assert deleting.at_us < deleted.at < deleting.at_us + 500_000
    assert creating.at_us < created.at < min(produced.start_us, creating.at_us + 100_000)
    assert (0, former.start_us) == (topic.created, topic.produce_from)
    assert {topic.name: (former.start_us, produced.start_us)} == rebuilt.replay().produced_from_us
    assert [TopicCreated, TopicDeleted, TopicCreated] == [type(each.what) for each in seen]
    assert 2 == len({each.what.topic_id for each in seen})


def test_what_was_produced_to_a_topic_before_its_deletion_must_be_known(kept):
    run = read_capture(kept.parent / "captures-more" / "recreated-topic-classic" / "run-1")

    assert "before it was deleted" in why_not_comparable(replace(run, formers=()))


def test_a_process_starts_with_its_own_settings(capture):
    """A migration is a restart with another protocol; settings that are left out are unset."""
    run = capture("static-crash-return/run-21")
    left = "c.session.timeout.ms"
    changed = [
        replace(trace, conf={k: v for k, v in trace.conf.items() if k != left} | CONSUMER)
        if trace.incarnation > 1
        else trace
        for trace in run.traces
    ]
    migrated = replace(run, traces=tuple(changed))
    (same,), (other,) = map(starts, (run, migrated))

    assert why_not_comparable(migrated) is None
    assert (None, ()) == (same.settings, same.unset)
    assert ("consumer", ("session.timeout.ms",)) == (other.settings["group.protocol"], other.unset)


CONSUMER = {"c.group.protocol": "consumer"}


def starts(run):
    return [act for act in rebuild(run).scenario.fault if isinstance(act, model.Start)]
