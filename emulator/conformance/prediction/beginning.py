"""How members of the consumer protocol began: what they waited for, and their first listener calls."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import LogLine, first_answer, positions, times_of
from emulator.conformance.captured.traces import Listened, Trace
from emulator.conformance.prediction.contacts import CONSUMER_HEARTBEAT
from emulator.conformance.prediction.facts import joined_epochs
from emulator.scenario import model

RETRY_US = 100_000
"""Minimum time between requests of one kind that are not answered at once."""

STEP_US = 500_000
"""Half the captured cluster's interval: a heartbeat up to that much earlier is the same one."""


# -- listener calls --------------------------------------------------------------------------------


def listener_ends(capture: Capture) -> dict[str, tuple[int, ...]]:
    """Return the ends of the listener calls that are replayed, by process."""
    return {
        trace.name: tuple(call.at_us for call in _replayed(capture, trace))
        for trace in capture.traces
        if trace.protocol == "consumer"
    }


def listener_begins(capture: Capture) -> dict[str, tuple[int, ...]]:
    """Return the begins of the same calls, for Java clients, whose application calls between waits."""
    return {
        trace.name: tuple(call.began_us for call in _replayed(capture, trace))
        for trace in capture.traces
        if trace.protocol == "consumer" and "lib" not in trace.conf
    }


def _replayed(capture: Capture, trace: Trace) -> list[Listened]:
    """Return a process's listener calls before the fault; of a later process, the first one."""
    calls = [entry for entry in trace.entries if isinstance(entry, Listened)]
    if trace.started_us >= capture.fault_us:
        return calls[:1]
    return [call for call in calls if call.began_us < capture.fault_us]


# -- what members waited for -----------------------------------------------------------------------


def beginning(capture: Capture, trace: Trace) -> Iterator[model.Fault]:
    """Delay what a member waited for before the fault; only the start of one that starts later."""
    joined = joined_epochs(capture, trace)
    if joined:
        yield _held(trace, CONSUMER_HEARTBEAT, trace.started_us, joined[0], "join", "request")
    log = [line for line in capture.client_logs[trace.name] if line.at_us < capture.fault_us]
    heard = first_answer(log)
    if heard is not None:
        yield _held(trace, CONSUMER_HEARTBEAT, trace.started_us, heard.at_us, "heard")
    found = times_of(log, "Discovered group coordinator")
    if found and joined and found[0] < joined[0]:
        yield _held(trace, "FindCoordinator", trace.started_us, found[0], "coordinator")
    known = times_of(log, "Cluster ID")
    if known and _joined_without_topics(capture, trace):
        yield _held(trace, "Metadata", trace.started_us, known[0], "topics")
    before_us = 0
    for number, when_us in enumerate(_steps(capture, trace), start=1):
        from_us = max((before_us + when_us) // 2, when_us - STEP_US)
        yield _held(trace, CONSUMER_HEARTBEAT, from_us, when_us, f"step-{number}", "request")
        before_us = when_us
    for number, (begun_us, done_us) in enumerate(_commits(log), start=1):
        yield _held(trace, "OffsetCommit", begun_us - RETRY_US, done_us, f"commit-{number}")
    for number, (begun_us, done_us) in enumerate(_positions(log), start=1):
        yield _held(trace, "OffsetFetch", begun_us - RETRY_US, done_us, f"position-{number}")


def _joined_without_topics(capture: Capture, trace: Trace) -> bool:
    """Return whether a member's first heartbeat named no topics: it knew none that match its pattern.

    The first poll after the metadata response finds them; the coordinator logs topics before it
    moves the member.
    """
    lines = (line.text for line in capture.coordinator_log)
    own = (text for text in lines if any(member_id in text for member_id in trace.member_ids))
    said = ("updated its subscribed topics", " new assignment state")
    first = next((text for text in own if any(word in text for word in said)), said[0])
    return said[1] in first


def _steps(capture: Capture, trace: Trace) -> Iterator[int]:
    """Yield the times of heartbeats by which a member took a step, in the real order."""
    ids = trace.member_ids
    tick_us = rank = 0
    for line in capture.coordinator_log:
        rank = rank + 1 if line.at_us == tick_us else 0
        tick_us = line.at_us
        step = " new assignment state" in line.text and line.at_us < capture.fault_us
        if step and any(member_id in line.text for member_id in ids):
            yield line.at_us + rank


def _commits(log: list[LogLine]) -> Iterator[tuple[int, int]]:
    """Yield the beginning of each reconciliation that commits offsets, and the end of that commit."""
    enqueued = times_of(log, "Enqueuing OffsetCommit request")
    begun = times_of(log, "Reconciling assignment with local epoch")
    for begun_us, done_us in zip(
        begun, times_of(log, "Auto-commit before reconciling"), strict=False
    ):
        if any(begun_us <= at_us <= done_us for at_us in enqueued):
            yield begun_us, done_us


def _positions(log: list[LogLine]) -> Iterator[tuple[int, int]]:
    """Yield when committed offsets were requested, and when the client received them."""
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
