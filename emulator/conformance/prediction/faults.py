"""Return the actions of a captured run, and delays that reproduce the beginning of the real run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.conformance.captured.actions import Action
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import first_answer
from emulator.conformance.captured.coordinator_log import offset_lines
from emulator.conformance.captured.traces import (
    Hung,
    MemberSettings,
    member_settings,
)
from emulator.conformance.prediction import facts
from emulator.conformance.prediction.beginning import beginning
from emulator.conformance.prediction.contacts import (
    CONSUMER_HEARTBEAT,
    CONSUMER_INTERVAL_US,
    HEARTBEAT,
    heartbeat_interval_us,
    last_contact,
)
from emulator.conformance.prediction.facts import start_us
from emulator.conformance.prediction.noise import (
    LATE_WARM_UP_US,
    RESUMED_P99_US,
    RESUMED_US,
    Noise,
    drawn,
    is_first,
    warm_up_us,
)
from emulator.scenario import model
from emulator.scenario.resolution import COORDINATOR_OF
from emulator.world.draws import draw, stream_key

_UNKNOWN_TOPIC = "Received unknown topic or partition error in fetch"

_NEW_TOPIC = "since the associated topicId changed"

SILENCED = ("sigkill", "sigstop")


def acts_of(capture: Capture, noise: Noise, seed: int | None) -> tuple[model.Fault, ...]:
    """Return the faults and actions of the emulated run."""
    return (
        *_formation(capture),
        *_delay_new_processes(capture, noise, seed),
        *_last_contact(capture),
        *_delay_resumed_processes(capture, seed),
        *_last_metadata(capture),
        *_actions(capture, seed),
    )


# -- the beginning ---------------------------------------------------------------------------------


def _formation(capture: Capture) -> Iterator[model.Fault]:
    """Delay each member's first requests until the real ones were sent and answered."""
    for trace in capture.traces:
        if trace.protocol == "consumer":
            yield from beginning(capture, trace)
    for up in facts.start_ups(capture):
        if _uses_epochs(capture, up):
            continue
        name = f"{up.member}.{up.incarnation}"
        trace = next(trace for trace in capture.traces if trace.name == name)
        sent = facts.join_requests(capture, trace)
        if "lib" in trace.conf:
            sent = sent[:1]  # without a log of the client, later requests are predicted
        first = is_first(capture, up)
        if sent:
            yield _delay(up.member, "JoinGroup", "request", up.started_us, sent[0], f"join-{name}")
        if len(sent) > 1 and (first or facts.got_an_id(capture, trace)):
            yield _delay(up.member, "JoinGroup", "response", up.started_us, sent[1], f"id-{name}")
        if len(sent) > 1 and first and up.joined_us is not None:
            between_us = (sent[1] + up.joined_us) // 2
            yield _delay(
                up.member, "JoinGroup", "response", between_us, up.joined_us, f"join-answer-{name}"
            )
        if first and up.assigned_us is not None:
            yield _delay(
                up.member, "SyncGroup", "response", up.started_us, up.assigned_us, f"sync-{name}"
            )


def _uses_epochs(capture: Capture, up: facts.StartUp) -> bool:
    """Return whether an incarnation is a member of the consumer protocol."""
    name = f"{up.member}.{up.incarnation}"
    return any(trace.protocol == "consumer" for trace in capture.traces if trace.name == name)


def _delay_new_processes(capture: Capture, noise: Noise, seed: int | None) -> Iterator[model.Fault]:
    """Delay new processes: their first SyncGroup, and finding their first position."""
    for up in facts.start_ups(capture):
        name = f"{up.member}.{up.incarnation}"
        if _uses_epochs(capture, up):
            if not is_first(capture, up):
                slow = drawn(LATE_WARM_UP_US, 2 * LATE_WARM_UP_US, "warm-up", name, seed)
                yield _slow(up, "OffsetFetch", "response", slow, f"warm-{name}")
            continue
        if not is_first(capture, up):
            slow = drawn(noise.first_sync, noise.first_sync_p99, "first sync", name, seed)
            yield _slow(up, "SyncGroup", "request", slow, f"sync-{name}")
        warm = warm_up_us(capture, up)
        slow = drawn(warm, warm + warm // 2, "warm-up", name, seed)
        yield _slow(up, "OffsetFetch", "response", slow, f"warm-{name}")


def _delay_resumed_processes(capture: Capture, seed: int | None) -> Iterator[model.Fault]:
    """Delay the first heartbeat response of a process that continues after a pause."""
    for number, action in enumerate(capture.actions):
        if action.do != "sigcont" or action.member is None:
            continue
        trace = facts.trace_at(capture, action.member, action.at_us)
        if trace is not None and trace.protocol == "consumer" and "lib" not in trace.conf:
            slow = drawn(RESUMED_US, RESUMED_P99_US, "resumed", f"{trace.name}-{number}", seed)
            match = {"kind": CONSUMER_HEARTBEAT, "part": "response", "member": action.member}
            heard = model.MessageMatch.model_validate(match)
            name = f"resumed-{number}"
            yield model.DelayMessage(id=name, at=action.at_us, message=heard, by=slow)


def _slow(up: facts.StartUp, kind: str, part: str, by_us: int, name: str) -> model.DelayMessage:
    match = model.MessageMatch.model_validate({"kind": kind, "part": part, "member": up.member})
    return model.DelayMessage(id=name, at=up.started_us, message=match, by=by_us)


def _delay(
    member: str, kind: str, part: str, from_us: int, until_us: int, name: str
) -> model.DelayMessage:
    match = model.MessageMatch.model_validate({"kind": kind, "part": part, "member": member})
    return model.DelayMessage(id=name, at=from_us, message=match, until=until_us)


# -- the last contact ----------------------------------------------------------------------------


def _last_contact(capture: Capture) -> Iterator[model.Fault]:
    """Delay the silenced member's last heartbeat before the fault to its real time.

    The heartbeats that it had not sent before the fault are lost. A paused member of the consumer
    protocol sends its next heartbeat when it continues, so that one arrives at that time.
    """
    first = capture.actions[0] if capture.actions else None
    if first is None or first.do not in SILENCED or first.member is None:
        return
    contact = last_contact(capture, first.member, first.at_us)
    if contact is None or contact.by not in (HEARTBEAT, CONSUMER_HEARTBEAT):
        return
    trace = facts.trace_at(capture, first.member, first.at_us)
    assert trace is not None, "a member with a contact has a trace"
    interval = heartbeat_interval_us(capture, trace)
    earliest = max(0, contact.at_us - interval - 20_000)
    match = {"kind": contact.by, "part": "request", "member": first.member}
    held = model.MessageMatch.model_validate({**match, "before": contact.at_us})
    yield model.DelayMessage(id="last-heartbeat", at=earliest, message=held, until=contact.at_us)
    later = model.MessageMatch.model_validate({**match, "before": first.at_us})
    if contact.by == CONSUMER_HEARTBEAT and first.do == "sigstop":
        resumed = _until(capture, "sigcont", first)
        yield model.DelayMessage(id="next", at=contact.at_us, message=later, until=resumed)
        return
    for number in (1, 2):
        yield model.LoseMessage(id=f"no-heartbeat-{number}", at=contact.at_us, message=later)


def _settings(capture: Capture, member: str) -> MemberSettings:
    return next(m for m in facts.members(capture) if m.member == member)


# -- the last metadata refresh -----------------------------------------------------------------


def _last_metadata(capture: Capture) -> Iterator[model.Fault]:
    """Delay the leader's last metadata before the fault to its real times.

    Subscribers to a pattern refresh theirs together, while they join, so all have the leader's.
    """
    led = facts.group_leaders(capture)
    before = [up.member for up in facts.start_ups(capture) if is_first(capture, up)]
    if not led or led[min(led)] not in before:
        return
    leader = led[min(led)]
    trace = facts.trace_at(capture, leader, capture.fault_us)
    last = facts.last_metadata_refresh(capture, leader, capture.fault_us)
    if trace is None or last is None or last <= capture.formed_us:
        return
    from_us = last - facts.metadata_max_age_us(trace)
    patterned = any(member.pattern for member in facts.members(capture))
    for member in before if patterned else [leader]:
        yield _delay(member, "Metadata", "response", from_us, last, f"metadata-{member}")


# -- actions -------------------------------------------------------------------------------------


def _actions(capture: Capture, seed: int | None) -> Iterator[model.Fault]:
    for number, action in enumerate(capture.actions):
        name = f"{action.do}-{number}"
        if action.do == "maketopic":
            at = _created_us(capture, action, name, seed)
            yield model.CreateTopic(id=name, at=at, topic=action.topic or "")
            continue
        act = _act(capture, action, name)
        if act is not None:
            yield act


def _created_us(capture: Capture, action: Action, name: str, seed: int | None) -> int:
    """Return when the brokers know a topic: after it was requested, before records are produced.

    No log shows it; members may ask in between. A member that has seen an earlier topic of this name
    says when it sees the new one, and the coordinator accepts offsets of it.
    """
    starts = [made.start_us for made in capture.productions if made.topic == action.topic]
    signs = [at_us for at_us in _signs_of_new_topic(capture) if at_us > action.at_us]
    within_us = max(0, min([*starts, *signs], default=action.at_us) - action.at_us)
    share = 0.5 if seed is None else draw(stream_key(seed, "topic created", name), 0)
    return action.at_us + int(share * within_us)


def _deleted_us(capture: Capture, action: Action) -> int:
    """Return when the brokers no longer knew a topic: a client with a fetch under way hears it then."""
    return min(
        (
            line.at_us
            for log in capture.client_logs.values()
            for line in log
            if line.at_us >= action.at_us and _UNKNOWN_TOPIC in line.text
        ),
        default=action.at_us,
    )


def _signs_of_new_topic(capture: Capture) -> Iterator[int]:
    """Yield when members saw a topic that had been created again, and when its offsets were accepted."""
    if not capture.formers:
        return
    for log in capture.client_logs.values():
        yield from (line.at_us for line in log if _NEW_TOPIC in line.text)
    topics = [produced.topic for produced in capture.productions]
    yield from (line.at_us for line in offset_lines(capture.coordinator_log, topics)[0])


def _act(capture: Capture, action: Action, name: str) -> model.Fault | None:
    at = action.at_us
    match action.do:
        case "sigkill":
            return model.Crash(id=name, at=at, member=_named(action))
        case "sigterm":
            leaves = _settings(capture, _named(action)).stops_in_batch
            return model.Close(id=name, at=at, member=_named(action), mid_batch=leaves)
        case "sigstop":
            lasting = _until(capture, "sigcont", action) - at
            return model.Pause.model_validate(
                {"verb": "pause", "id": name, "at": at, "member": action.member, "for": lasting}
            )
        case "hang":
            hang = _hang_us(capture, action)
            return model.Hang.model_validate(
                {"verb": "hang", "id": name, "at": at, "member": action.member, "for": hang}
            )
        case "start":
            return _start(capture, action, name)
        case "addparts":
            return _add_partitions(capture, action, name)
        case "deltopic":
            deleted = _deleted_us(capture, action)
            return model.DeleteTopic(id=name, at=deleted, topic=action.topic or "")
        case _:
            return _act_on_broker(capture, action, name)


def _act_on_broker(capture: Capture, action: Action, name: str) -> model.Fault | None:
    broker = COORDINATOR_OF + capture.group
    if action.broker is not None:
        broker = f"broker-{action.broker}"
    lasting = _broker_back(capture, action) - action.at_us
    match action.verb:
        case "crash_broker":
            return model.CrashBroker(id=name, at=action.at_us, broker=broker, restart_after=lasting)
        case "pause_broker":
            pause = {"verb": "pause_broker", "id": name, "at": action.at_us, "broker": broker}
            return model.PauseBroker.model_validate({**pause, "for": lasting})
        case _:
            return None


def _broker_back(capture: Capture, begun: Action) -> int:
    """Return when a killed or stopped broker ran again; else the end of the run."""
    ends = [
        action.at_us
        for action in capture.actions
        if action.verb == f"{begun.verb} ends"
        and action.broker in (begun.broker, None)
        and action.at_us > begun.at_us
    ]
    return min(ends, default=capture.end_us)


def _named(action: Action) -> str:
    assert action.member is not None, f"{action.do} concerns a member"
    return action.member


def _until(capture: Capture, do: str, begun: Action) -> int:
    """Return when an action was ended; at the end of the run if it never was."""
    ends = [a.at_us for a in capture.actions if a.do == do and a.at_us > begun.at_us]
    return min(ends, default=capture.end_us)


def _start(capture: Capture, action: Action, name: str) -> model.Start:
    """Start a process at the time at which it begins to look for its coordinator."""
    member = _named(action)
    ups = [up for up in facts.start_ups(capture) if up.member == member]
    up = next((up for up in ups if up.started_us >= action.at_us), None)
    at = action.at_us if up is None else start_us(capture, up)
    changed = {} if up is None else _changed_settings(capture, up)
    return model.Start(id=name, at=at, member=member, **changed)


def _changed_settings(capture: Capture, up: facts.StartUp) -> dict[str, Any]:
    """Return what a process sets and unsets; nothing if that is what the one before it did."""
    settings = [
        facts.kafka_settings(capture, member_settings(trace))
        for trace in capture.traces
        if trace.member == up.member and trace.incarnation <= up.incarnation
    ]
    written, before, now = settings[0], settings[max(0, up.incarnation - 2)], settings[-1]
    if now == before:
        return {}
    return {"settings": now, "unset": tuple(name for name in written if name not in now)}


def _hang_us(capture: Capture, action: Action) -> int:
    """Return the requested duration of the handler's hang."""
    trace = facts.trace_at(capture, _named(action), action.at_us)
    assert trace is not None, "a hanging member has a trace"
    hung = (e.lasting_us for e in trace.entries if isinstance(e, Hung))
    return next(hung, int(trace.conf.get("hang", "0")) * 1_000)


def _add_partitions(capture: Capture, action: Action, name: str) -> model.AddPartitions:
    addition = next(a for a in capture.additions if a.topic == action.topic)
    return model.AddPartitions(id=name, at=action.at_us, topic=addition.topic, to=addition.to)


def broker_settings(capture: Capture) -> dict[str, object]:
    """Return the group settings that the coordinator sends to members of the consumer protocol."""
    if not capture.has_epochs:
        return {}
    answers = (first_answer(log) for log in capture.client_logs.values())
    interval_us = next((answer.interval_us for answer in answers if answer), CONSUMER_INTERVAL_US)
    session_ms, interval_ms = capture.consumer_session_us // 1000, interval_us // 1000
    return {
        "group.consumer.session.timeout.ms": session_ms,
        "group.consumer.min.session.timeout.ms": session_ms,
        "group.consumer.heartbeat.interval.ms": interval_ms,
        "group.consumer.min.heartbeat.interval.ms": interval_ms,
    }
