"""Heartbeats of the consumer protocol are in no log; indirect evidence of them agrees."""

import pytest

from emulator.conformance.captured.client_logs import heartbeats_sent
from emulator.conformance.prediction.contacts import (
    CONSUMER_HEARTBEAT,
    counted_heartbeats,
    heartbeat_interval_us,
    heartbeat_lateness,
    heartbeats,
    heartbeats_to_rebalances,
    last_contact,
    logged_lateness,
)
from emulator.conformance.prediction.faults import acts_of
from emulator.conformance.prediction.noise import EVENT_LOOP, MIN_IN_A_ROW, noise_of
from emulator.conformance.prediction.rebuild import rebuild
from emulator.scenario.model import Constant
from emulator.scenario.tables.distributions import mean_us

MAX_LATE_US = 20_000
TURN_US = 100_000
"""A poll sends a heartbeat that is due; else the thread does in its next turn."""


def lateness(run):
    """Return how late each of the faulted member's last heartbeats was, on average."""
    known = heartbeats(run, run.actions[0].member)
    lasted_us = known.last_us - known.enabled_us
    return lasted_us // round(lasted_us / known.interval_us) - known.interval_us


@pytest.mark.parametrize("name", ["kip848-crash/run-1", "kip848-interval-batch/run-8"])
def test_a_session_runs_out_a_session_after_one_of_the_heartbeats(capture, name):
    """Heartbeats follow the last acknowledgement an interval apart, each a few ms late."""
    assert 0 <= lateness(capture(name)) < MAX_LATE_US


@pytest.mark.long
def test_every_session_expires_a_session_timeout_after_a_heartbeat(comparable_capture):
    """The same holds on every capture at hand whose member was killed or stopped."""
    run = comparable_capture
    if run.has_epochs and run.actions and run.actions[0].do in ("sigkill", "sigstop"):
        assert 0 <= lateness(run) < MAX_LATE_US


@pytest.mark.parametrize(
    ("name", "most_us"), [("crash-kafka-python/run-1", 2_000), ("crash-aiokafka/run-1", 3_000)]
)
def test_heartbeats_of_an_event_loop_count_from_the_assignment(capture, name, most_us):
    """From the join phase on, SyncGroup would count as their lateness: 4.1 and 3.4 ms each."""
    run = capture(name)

    assert 0 <= lateness(run) < most_us


def test_heartbeats_of_kafka_python_are_as_late_as_its_polls(capture):
    """Those of the killed member were later; the others went on until the eviction, and theirs were not."""
    run = capture("crash-kafka-python/run-1")

    assert noise_of(run).late_mean <= EVENT_LOOP.late_mean < lateness(run)


@pytest.mark.parametrize(
    ("name", "least_us"),
    [
        ("close-aiokafka/run-1", 1_000),
        ("rolling-aiokafka/run-1", 1_000),
        ("crash-librdkafka/run-1", 2_000),
        ("rolling-librdkafka/run-1", 2_000),
    ],
)
def test_heartbeats_are_counted_up_to_the_one_that_tells_of_a_rebalance(capture, name, least_us):
    """Without it nothing shows how late these clients were, or too late an eviction does."""
    run = capture(name)
    counted = [each for each in heartbeats_to_rebalances(run) if each.number >= MIN_IN_A_ROW]
    late_us = [each.last_us - each.enabled_us - each.number * each.interval_us for each in counted]

    assert any(each.number >= 8 for each in counted)
    assert all(0 <= us <= 50_000 for us in late_us)
    assert least_us <= noise_of(run).late_mean < least_us + 1_500


def test_java_members_and_members_busy_with_a_record_have_no_such_counts(capture):
    """Java's client logs each heartbeat; one told librdkafka long before its next poll."""
    assert [] == heartbeats_to_rebalances(capture("crash-range-auto/run-1"))
    assert [] == heartbeats_to_rebalances(capture("inhand-librdkafka/run-1"))


def test_the_last_contact_is_the_last_heartbeat(capture):
    """Commits do not count in this protocol; the contact of a member that stayed is unknown."""
    run = capture("kip848-crash/run-1")

    assert last_contact(run, "m3", run.fault_us).by == CONSUMER_HEARTBEAT
    assert last_contact(run, "m1", run.fault_us) is None
    assert heartbeats(run, "m1") is None


def test_the_coordinator_says_how_often(capture):
    """The interval of the first answer, or else the member's own setting."""
    answered, own = capture("kip848-crash/run-1"), capture("crash-range-auto/run-1")

    assert 1_000_000 == heartbeat_interval_us(answered, answered.traces[0])
    assert 1_000_000 == heartbeat_interval_us(own, own.traces[0])


def test_the_next_heartbeat_of_a_paused_member_arrives_when_it_continues(capture):
    """A killed member sends none; a paused one sends it late, and learns that it was removed."""
    run = capture("pause-zombie-kip848/run-22")
    stopped, continued = run.actions
    held = next(act for act in acts_of(run, noise_of(run), None) if act.id == "next")

    assert "ConsumerGroupHeartbeat" == held.message.kind
    assert (continued.at_us, stopped.at_us) == (held.until, held.message.before)


def test_heartbeats_of_all_members_are_counted_between_known_ones(capture):
    """Those of the victim end with its session; nothing was done to the others in between."""
    run = capture("pause-long-consumer/run-1")
    stopped, _ = run.actions
    counted = counted_heartbeats(run)
    late_us = [each.last_us - each.enabled_us - each.number * each.interval_us for each in counted]

    assert max(each.number for each in counted) > 10
    assert all(0 <= us <= 15_000 for us in late_us)
    assert any(each.last_us < stopped.at_us < each.last_us + 1_000_000 for each in counted)


def test_threads_in_the_background_are_as_late_as_their_heartbeats_show(capture):
    """Below a millisecond on a quiet machine; a classic client's threads wait in longer turns."""
    background = noise_of(capture("pause-long-consumer/run-1"))
    classic = noise_of(capture("pause-zombie-range/run-21"))

    assert 100 <= background.late_mean < 1_000 <= classic.late_mean


def test_a_process_that_continues_hears_of_its_fencing_a_little_later(capture):
    """It takes some milliseconds, seed by seed others, until it runs as it did before."""
    run = capture("pause-long-consumer/run-1")
    _, continued = run.actions
    delays = [
        next(act for act in acts_of(run, noise_of(run), seed) if act.id == "resumed-1")
        for seed in (None, 1, 2)
    ]

    assert {continued.at_us} == {delay.at for delay in delays}
    assert 3 == len({delay.by for delay in delays})


def test_logged_heartbeats_show_how_late_a_classic_clients_threads_were(capture):
    """All members' count; a gap with a rebalance, or of a library that logs none, does not."""
    run = capture("unequal-cooperative/run-1")
    late_us = logged_lateness(run)
    sent = [at for trace in run.traces for at in heartbeats_sent(run.client_logs[trace.name])]

    assert len(run.traces) < len(sent) - len(late_us) < len(sent) // 2
    assert all(abs(us) <= 300_000 for us in late_us)
    assert sum(late_us) // len(late_us) == noise_of(run).late_mean
    assert [] == logged_lateness(capture("crash-librdkafka/run-1"))
    assert [] == logged_lateness(capture("kip848-crash/run-1"))


def test_the_last_contact_of_a_classic_member_is_when_the_coordinator_took_it(capture):
    """The session that ended in the eviction began then, some milliseconds after it was sent."""
    run = capture("crash-range-auto/run-1")
    silenced = run.actions[0]
    sent = heartbeats_sent(run.client_logs[f"{silenced.member}.1"])
    evicted = next(line for line in run.coordinator_log if "has failed, removing it" in line.text)
    contact = last_contact(run, silenced.member, run.fault_us)

    assert evicted.at_us - 6_000_000 == contact.at_us
    assert 0 < contact.at_us - max(us for us in sent if us < run.fault_us) < 130_000


def test_heartbeats_before_the_fault_are_as_late_as_the_logs_of_their_members_show(capture):
    """Later ones are predicted, and so are those of clients that log none."""
    run = capture("crash-range-auto/run-1")
    late_us = heartbeat_lateness(run)
    sent = heartbeats_sent(run.client_logs["m2.1"])
    before, after = (
        max(us for us in sent if us < run.fault_us),
        min(us for us in sent if us > run.fault_us),
    )

    assert 20_000 == late_us("m2.1", before - 20_000)
    assert 0 == late_us("m2.1", before + 20_000)
    assert None is late_us("m2.1", before - 400_000) is late_us("m2.1", after)
    assert None is heartbeat_lateness(capture("crash-librdkafka/run-1"))("m1.1", before)


@pytest.mark.parametrize("name", ["crash-range-auto/run-1", "join-cooperative-auto/run-21"])
def test_one_prediction_uses_the_mean_latency(capture, name):
    """Half of the messages take longer than the median, and some of them much longer."""
    run = capture(name)
    constant, drawn = (rebuild(run, seed).scenario.network.latency for seed in (None, 1))

    assert drawn.lognormal.median < constant.constant
    assert constant.constant <= mean_us(drawn) + 500


def test_the_answer_with_a_member_id_is_not_held_until_the_join_phase_ends(capture):
    """It may come later than the real one, behind the time at which the member really joined."""
    run = capture("crash-range-auto/run-1")
    held = {act.id: act for act in acts_of(run, noise_of(run), None)}
    member_id, answer = held["id-m1.1"], held["join-answer-m1.1"]

    assert member_id.until + 100_000 < answer.at < answer.until


def test_polls_of_kafka_python_end_less_late_than_its_heartbeats_are_sent(capture):
    """A join that ends behind them is dropped; without a seed, none does."""
    run = capture("rolling-kafka-python/run-1")
    rebuilt = rebuild(run, 1)
    polls, usual = rebuilt.replay().poll_lateness, rebuilt.scenario.group[0].lateness

    assert Constant(constant=0) == rebuild(run).replay().poll_lateness
    assert polls is not None
    assert 0 < 3 * mean_us(polls) < mean_us(usual)
