"""A group of the consumer protocol begins as the real one did; the rest of its run is predicted."""

from dataclasses import replace
from itertools import pairwise

import pytest

from emulator.conformance.captured.capture import read_capture
from emulator.conformance.captured.client_logs import times_of
from emulator.conformance.prediction import facts
from emulator.conformance.prediction.beginning import beginning, listener_begins, listener_ends
from emulator.conformance.prediction.faults import broker_settings
from emulator.conformance.prediction.rebuild import rebuild
from emulator.events import ListenerCalled
from emulator.world.build import play

CRASH, JOIN = "kip848-crash/run-1", "kip848-join/run-21"


@pytest.mark.parametrize("name", [CRASH, JOIN])
def test_only_starts_before_the_fault_are_delayed(capture, name):
    """Members that start later are delayed from their start."""
    run = capture(name)
    held = [act for trace in run.traces for act in beginning(run, trace)]
    later = {act.id for act in held if act.until >= run.fault_us}

    assert len(held) > 12
    assert ({"join-m4.1"} if name == JOIN else set()) == later
    assert all(act.at <= act.until for act in held)


def test_a_coordinator_is_found_when_it_really_was(capture):
    """The first heartbeat is composed then, with the topics that are known by that time."""
    run = capture(CRASH)
    for trace in run.traces:
        (said,) = times_of(run.client_logs[trace.name], "Discovered group coordinator")[:1]
        held = next(act for act in beginning(run, trace) if act.id == f"coordinator-{trace.name}")

        assert ("FindCoordinator", said) == (held.message.kind, held.until)


@pytest.mark.parametrize(("run", "held"), [(2, {"m1.1", "m2.1"}), (3, {"m2.1", "m3.1"})])
def test_a_member_that_joined_without_topics_gets_its_metadata_when_it_really_did(kept, run, held):
    """With a pattern the first heartbeat names those that the polls before it have found."""
    captured = read_capture(kept.parent / f"captures-more/pattern-client-consumer/run-{run}")
    acts = [act for trace in captured.traces for act in beginning(captured, trace)]
    topics = {act.id.removeprefix("topics-"): act for act in acts if act.id.startswith("topics-")}
    known = {
        trace.name: times_of(captured.client_logs[trace.name], "Cluster ID")[0]
        for trace in captured.traces
    }

    assert held == topics.keys()
    assert {(act.message.kind, act.until) for act in topics.values()} == {
        ("Metadata", known[name]) for name in held
    }


def test_each_message_is_held_up_once(capture):
    """Holds on requests of one member follow one another, so none is for the same heartbeat."""
    run = capture(CRASH)
    for trace in run.traces:
        steps = [act for act in beginning(run, trace) if act.id.startswith("step-")]
        untils = [act.until for act in steps]
        halfway = [(before + after) // 2 for before, after in pairwise(untils)]

        assert untils == sorted(untils)
        assert all(act.at >= least for act, least in zip(steps[1:], halfway, strict=True))


def test_listener_calls_of_the_beginning_have_their_real_ends(capture):
    """Calls after the fault are predicted; classic members have no such times."""
    run = capture(CRASH)
    ends = listener_ends(run)

    assert {"m1.1", "m2.1", "m3.1"} == set(ends)
    assert {"m1.1": 4, "m2.1": 3, "m3.1": 5} == {name: len(found) for name, found in ends.items()}
    assert all(end < run.fault_us for found in ends.values() for end in found)
    assert {} == listener_ends(capture("crash-range-auto/run-1"))


def test_listener_calls_are_made_when_they_really_were(capture):
    """An emulated application that waits for records is woken then; a call never ends earlier.

    A new assignment is applied by the background thread first: four wake-ups of threads at most.
    """
    run = capture("pause-long-consumer/run-1")
    rebuilt = rebuild(run, None)
    calls: dict[str, list[int]] = {}

    def note(event):
        if isinstance(event.what, ListenerCalled) and event.at_us < run.fault_us:
            calls.setdefault(f"{event.what.consumer}.1", []).append(event.at_us)

    play(rebuilt.scenario, 0, (note,), replay=rebuilt.replay())

    real = {name: list(times) for name, times in listener_ends(run).items()}
    assert calls.keys() == real.keys()
    for name, times in real.items():
        late = [at_us - real_us for at_us, real_us in zip(calls[name], times, strict=True)]
        assert all(0 <= late_us <= 4 * rebuilt.scenario.group[0].wake_up for late_us in late), late


def test_of_a_process_that_starts_late_its_first_call_is_replayed(capture):
    """How long a new process takes for it is no part of the prediction."""
    run = capture("static-late-consumer/run-1")
    late = next(trace for trace in run.traces if trace.started_us > run.fault_us)

    assert 1 == len(listener_begins(run)[late.name]) == len(listener_ends(run)[late.name])
    assert listener_begins(run)[late.name][0] > run.fault_us


def test_the_coordinator_uses_the_real_heartbeat_interval(capture):
    """It is in the members' logs; a classic group does not need it."""
    settings = broker_settings(capture(CRASH))

    assert 1_000 == settings["group.consumer.heartbeat.interval.ms"]
    assert 6_000 == settings["group.consumer.session.timeout.ms"]
    assert {} == broker_settings(capture("crash-range-auto/run-1"))


def test_members_have_the_ids_they_really_had(capture):
    """Each makes up its own in this protocol; ids come by client id, one for each life."""
    run = capture(CRASH)
    ids = rebuild(run).replay().member_ids

    assert ("yX1jCBp6RG28ltCk1Xovkg", None) == (ids("m3"), ids("m3"))
    assert "ddXiBjY2QBi1A2I5RN7K2g" == ids("m1")


def test_topics_have_the_ids_they_really_had(capture):
    """The hash of a group's topics depends on them, and the order in which they are assigned."""
    run = capture(CRASH)

    assert {f"{run.prefix}t0": "MqLAo9DuQMWcW0M5zgcNyw"} == facts.topic_ids(run)


def test_a_member_has_its_protocol(capture):
    """The scenario has it in Kafka's own setting."""
    protocols = {
        member.settings["group.protocol"]
        for name in (CRASH, "crash-range-auto/run-1")
        for member in rebuild(capture(name)).scenario.group[0].members
    }

    assert {"classic", "consumer"} == protocols


@pytest.mark.parametrize("seed", [1, 2])
def test_a_preload_comes_in_the_time_there_was_for_it(capture, seed):
    """No log has its speed; without randomness it is all there at once, when the rest begins."""
    run = capture("kip848-interval-batch/run-8")
    calm, drawn = (rebuild(run, which).scenario.topic[0] for which in (None, seed))

    assert (1300, run.productions[0].start_us) == (calm.backlog, calm.backlog_at)
    assert 0 == drawn.backlog
    assert run.formed_us < drawn.produce_from < calm.produce_from
    assert 1300 == round(drawn.rate.bursts.rate * drawn.rate.bursts.lasting / 1e6)


def test_a_topic_to_which_nothing_was_produced_is_rebuilt(capture):
    """It was created so late that no record of it was due."""
    seen = capture("crash-range-auto/run-1")
    (topic,) = seen.productions
    start_us = seen.end_us - 1
    late = replace(topic, topic="late", ends=(0,) * topic.partitions, start_us=start_us)

    scenario = rebuild(replace(seen, productions=(topic, late)), None).scenario

    made = next(each for each in scenario.topic if each.name == "late")
    assert made.produce_from == made.produce_until == start_us
