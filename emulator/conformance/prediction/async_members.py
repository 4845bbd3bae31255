"""Members of the consumer protocol: the beginning of their group, so that it is the real one.

Java processes are slow at first, and a group of this protocol is on its way from the first
member's first heartbeat on: who sends the next one decides who is told what. So what the young
processes waited for is held up until they had it, up to the fault: the answers to their first
heartbeats, the commits before their reconciliations, their first positions; and their listener
calls end when the real ones did. What members do then, and in which order, is predicted.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.conformance.captured.async_client_logs import first_answer
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import LogLine, positions, times_of
from emulator.conformance.captured.traces import Listened, Trace
from emulator.conformance.prediction.contacts import (
    CONSUMER_HEARTBEAT,
    CONSUMER_INTERVAL_US,
    CONSUMER_SESSION_US,
)
from emulator.conformance.prediction.facts import joined_epochs
from emulator.scenario import model

RETRY_US = 100_000
"""Requests of one kind follow one another no faster, where they are not answered at once."""

STEP_US = 500_000
"""Half the captured cluster's interval: a heartbeat sent no earlier than that is the same one."""


def broker_settings(capture: Capture) -> dict[str, object]:
    """Return what the coordinator tells members of the consumer protocol to mind."""
    if not capture.has_epochs:
        return {}
    answers = (first_answer(log) for log in capture.client_logs.values())
    told = next((answer.interval_us for answer in answers if answer), CONSUMER_INTERVAL_US)
    session_ms, interval_ms = CONSUMER_SESSION_US // 1000, told // 1000
    return {
        "group.consumer.session.timeout.ms": session_ms,
        "group.consumer.min.session.timeout.ms": session_ms,
        "group.consumer.heartbeat.interval.ms": interval_ms,
        "group.consumer.min.heartbeat.interval.ms": interval_ms,
    }


def listener_ends(capture: Capture) -> dict[str, tuple[int, ...]]:
    """Return when the listener calls ended that began before the fault, by process."""
    return {
        trace.name: tuple(
            call.at_us
            for call in trace.entries
            if isinstance(call, Listened) and call.began_us < capture.fault_us
        )
        for trace in capture.traces
        if trace.protocol == "consumer"
    }


def beginning(capture: Capture, trace: Trace) -> Iterator[model.Fault]:
    """Hold up what a member waited for before the fault; one that starts later, only its start."""
    joined = joined_epochs(capture, trace)
    if joined:
        yield _held(trace, CONSUMER_HEARTBEAT, trace.started_us, joined[0], "join", "request")
    log = [line for line in capture.client_logs[trace.name] if line.at_us < capture.fault_us]
    heard = first_answer(log)
    if heard is not None:
        yield _held(trace, CONSUMER_HEARTBEAT, trace.started_us, heard.at_us, "heard")
    before_us = 0
    for number, when_us in enumerate(_steps(capture, trace), start=1):
        from_us = max((before_us + when_us) // 2, when_us - STEP_US)
        yield _held(trace, CONSUMER_HEARTBEAT, from_us, when_us, f"step-{number}", "request")
        before_us = when_us
    for number, (begun_us, done_us) in enumerate(_commits(log), start=1):
        yield _held(trace, "OffsetCommit", begun_us - RETRY_US, done_us, f"commit-{number}")
    for number, (begun_us, done_us) in enumerate(_positions(log), start=1):
        yield _held(trace, "OffsetFetch", begun_us - RETRY_US, done_us, f"position-{number}")


def _steps(capture: Capture, trace: Trace) -> Iterator[int]:
    """Yield when the heartbeats came by which a member took a step, in the real order."""
    ids = trace.member_ids()
    tick_us = rank = 0
    for line in capture.coordinator_log:
        rank = rank + 1 if line.at_us == tick_us else 0
        tick_us = line.at_us
        step = " new assignment state" in line.text and line.at_us < capture.fault_us
        if step and any(member_id in line.text for member_id in ids):
            yield line.at_us + rank


def _commits(log: list[LogLine]) -> Iterator[tuple[int, int]]:
    """Yield when reconciliations that had something to commit began, and when they had."""
    enqueued = times_of(log, "Enqueuing OffsetCommit request")
    begun = times_of(log, "Reconciling assignment with local epoch")
    for begun_us, done_us in zip(
        begun, times_of(log, "Auto-commit before reconciling"), strict=False
    ):
        if any(begun_us <= at_us <= done_us for at_us in enqueued):
            yield begun_us, done_us


def _positions(log: list[LogLine]) -> Iterator[tuple[int, int]]:
    """Yield when committed offsets were asked for, and when the client had them."""
    found = [position.at_us for position in positions(log)]
    found += times_of(log, "Found no committed offset")
    for asked_us in times_of(log, "Enqueuing offset fetch request"):
        later = [at_us for at_us in found if at_us >= asked_us]
        if later:
            yield asked_us, min(later)


def _held(
    trace: Trace, kind: str, from_us: int, until_us: int, name: str, part: str = "response"
) -> model.DelayMessage:
    match = model.MessageMatch.model_validate({"kind": kind, "part": part, "member": trace.member})
    name = f"{name}-{trace.name}"
    return model.DelayMessage(id=name, at=max(0, from_us), message=match, until=until_us)
