"""Groups that migrate: members of both protocols, each as late as its own threads were."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import Capture, read_capture
from emulator.conformance.prediction.contacts import steps_us
from emulator.conformance.prediction.noise import background_noise_of, noise_of
from emulator.conformance.prediction.rebuild import rebuild
from emulator.events import Event, MemberAdded, MemberMoved
from emulator.world.build import play

RUNS = Path(__file__).parents[2] / "captures-more" / "migration-back"
MS = 1_000
JOINS = "joins the consumer group using the classic protocol"


@cache
def run(number: int) -> tuple[Capture, tuple[Event, ...]]:
    """Return a captured way back to the classic protocol, and the events of its prediction."""
    captured = read_capture(RUNS / f"run-{number}")
    rebuilt, events = rebuild(captured), list[Event]()
    play(rebuilt.scenario, 0, (events.append,), replay=rebuilt.replay())
    return captured, tuple(events)


@pytest.mark.long
@pytest.mark.parametrize("number", [2, 3, 4])
def test_heartbeats_come_when_they_really_did_after_twenty_of_them(number):
    """So the prediction knows whether a member hears of a rebalance before it is killed.

    With the lateness of the classic members, 6 to 10 ms each, they would be 0.1 s late.
    """
    captured, events = run(number)
    killed = next(act for act in captured.actions if act.do == "sigkill")
    trace = next(trace for trace in captured.traces if trace.name == f"{killed.member}.1")
    real = [at_us for at_us in steps_us(captured, trace) if at_us < killed.at_us]
    emulated = [
        event.at_us
        for event in events
        if isinstance(event.what, MemberMoved)
        and event.what.consumer == killed.member
        and event.at_us < killed.at_us
    ]

    assert len(real) == len(emulated)
    assert all(abs(a - b) < 60 * MS for a, b in zip(real, emulated, strict=True))


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_new_classic_member_joins_when_it_really_did(number):
    """Its first JoinGroup only brings it an id; the second one starts the rebalance."""
    captured, events = run(number)
    joined = {
        member_id: line.at_us
        for line in reversed(captured.coordinator_log)
        for trace in captured.traces
        for member_id in trace.member_ids[:1]
        if JOINS in line.text and member_id in line.text
    }
    added = {
        event.what.member_id: event.at_us
        for event in events
        if isinstance(event.what, MemberAdded) and event.what.member_id in joined
    }

    assert joined
    assert joined.keys() == added.keys()
    assert all(abs(added[name] - at_us) < 10 * MS for name, at_us in joined.items())


@pytest.mark.parametrize("number", [2, 3, 4])
def test_threads_in_the_background_are_counted_apart(number):
    captured, _ = run(number)
    background = background_noise_of(captured)

    assert background is not None
    assert background.late_mean < 2 * MS < noise_of(captured).late_mean


def test_a_group_of_one_protocol_has_one_lateness(capture):
    assert background_noise_of(capture("kip848-crash/run-1")) is None
    assert background_noise_of(capture("crash-range-auto/run-1")) is None
