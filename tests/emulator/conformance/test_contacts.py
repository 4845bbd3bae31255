"""Heartbeats of the consumer protocol are in no log; indirect evidence of them agrees."""

import pytest

from emulator.conformance.prediction.contacts import (
    CONSUMER_HEARTBEAT,
    heartbeat_interval_us,
    heartbeats,
    last_contact,
)
from emulator.conformance.prediction.faults import acts_of
from emulator.conformance.prediction.noise import noise_of

MOST_LATE_US = 20_000


def lateness(run):
    """Return how late each of the faulted member's last heartbeats was, on average."""
    known = heartbeats(run, run.actions[0].member)
    lasted_us = known.last_us - known.enabled_us
    return lasted_us // round(lasted_us / known.interval_us) - known.interval_us


@pytest.mark.parametrize("name", ["kip848-crash/run-1", "kip848-interval-batch/run-8"])
def test_a_session_runs_out_a_session_after_one_of_the_heartbeats(capture, name):
    """Heartbeats follow the last acknowledgement an interval apart, each a few ms late."""
    assert 0 <= lateness(capture(name)) < MOST_LATE_US


@pytest.mark.long
def test_every_session_expires_a_session_timeout_after_a_heartbeat(comparable_capture):
    """The same holds on every capture at hand whose member was killed or stopped."""
    run = comparable_capture
    if run.has_epochs and run.actions and run.actions[0].do in ("sigkill", "sigstop"):
        assert 0 <= lateness(run) < MOST_LATE_US


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
