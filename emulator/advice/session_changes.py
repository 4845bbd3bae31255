"""Changes of session timeouts, heartbeats and instance ids."""

from __future__ import annotations

from typing import Final

from emulator.advice.batch_limits import HEARTBEAT
from emulator.advice.drafts import MARGIN, Draft, also_of_brokers, consumer
from emulator.advice.situation import Situation, milliseconds, round_down
from emulator.report.hints.downtime import LONGEST_SESSION_MS
from emulator.report.wording import counted, duration
from emulator.scenario.resolution import topics_of
from emulator.scenario.units import US_PER_MS, US_PER_S

MIN_HEARTBEATS: Final = 4
"""Heartbeats of a session that a change asks for: Kafka recommends at least three."""

SESSION: Final = "session.timeout.ms"


def shorter_session(situation: Situation) -> Draft | None:
    """A session of four heartbeats, but longer than pauses and, with instance ids, restarts."""
    heartbeat_s = situation.seconds(HEARTBEAT)
    outages = [situation.pause_s, (situation.down_s or 0) if situation.facts.static else 0]
    wanted = milliseconds(max(MIN_HEARTBEATS * heartbeat_s, *(each * MARGIN for each in outages)))
    value = max(wanted, int(situation.brokers["group.min.session.timeout.ms"]))
    if value >= situation.value(SESSION):
        return None
    why = (
        f"A dead member is removed after {duration(situation.seconds(SESSION))}; heartbeats come "
        f"every {duration(heartbeat_s)}, and {_longest_outage(situation)}."
    )
    return consumer(situation, SESSION, value, why)


def _longest_outage(situation: Situation) -> str:
    if not situation.pause_s:
        return "no running member pauses in this scenario"
    return f"the longest pause or cut here is {duration(situation.pause_s)}"


def _session_above(situation: Situation, min_s: float, because: str) -> Draft | None:
    """A session that outlasts something, with a margin, and the brokers' limit if it is shorter."""
    value = milliseconds(min_s * MARGIN)
    if value <= situation.value(SESSION):
        return None
    session = duration(situation.seconds(SESSION))
    return _session_of(situation, value, f"{because}, and the session times out after {session}.")


def _session_of(situation: Situation, value: int, why: str) -> Draft | None:
    """A session timeout (ms), with the limit of the brokers that is below it; none above half an hour."""
    kind = "group.consumer" if situation.facts.by_coordinator else "group"
    limit = f"{kind}.max.{SESSION}"
    longest = int(situation.brokers[limit])
    if value <= longest:
        return consumer(situation, SESSION, value, why)
    if value > LONGEST_SESSION_MS:
        return None
    why = f"{why} Brokers refuse one above {limit}, now {duration(longest / 1_000)}: raise that first."
    draft = consumer(situation, SESSION, value, why)
    if draft is None or situation.facts.by_coordinator:
        return draft
    return also_of_brokers(draft, limit, value)


def longer_session(situation: Situation) -> Draft | None:
    """A session above the longest pause or cut."""
    pause_s = situation.pause_s
    return _session_above(situation, pause_s, f"The longest pause or cut is {duration(pause_s)}")


def session_above_restarts(situation: Situation) -> Draft | None:
    """A session that outlasts the restart of a static member."""
    down_s = situation.down_s or 0
    return _session_above(situation, down_s, f"99 of 100 restarts take {duration(down_s)} at most")


def session_above_close(situation: Situation) -> Draft | None:
    """A session that outlasts the rebalance listener: in close() no heartbeats are sent meanwhile."""
    call_s = situation.listener_s
    return _session_above(situation, call_s, f"A call of the listener takes {duration(call_s)}")


def shorter_listener(situation: Situation) -> Draft | None:
    """A rebalance listener that ends within a session: what it does in close() sends no heartbeats."""
    session_s, call_s = situation.seconds(SESSION), situation.listener_s
    value = round_down(session_s * US_PER_S / US_PER_MS / MARGIN)
    if not 0 < value < call_s * US_PER_S / US_PER_MS:
        return None
    shorter, group = duration(value / 1_000), situation.group
    return Draft(
        f"A call of the listener takes {duration(call_s)}, and the session times out after "
        f"{duration(session_s)}.",
        (f"flush before close(), or more often (played: calls of the listener take {shorter})",),
        (f"group[{group.id}].listener={value}ms",),
    )


def session_above_assignor(situation: Situation) -> Draft | None:
    """A session and a request timeout above the time of the assignor."""
    time = situation.group.assignor_time
    if time is None:
        return None
    partitions = sum(each.partitions for each in topics_of(situation.group, situation.scenario))
    taken_s = time.us(situation.facts.members, partitions) / US_PER_S
    because = (
        f"The assignor of {counted(situation.facts.members, 'member')} takes {duration(taken_s)}"
    )
    longer = _session_above(situation, taken_s, because)
    request = milliseconds(taken_s * MARGIN)
    if longer is None or request <= situation.value("request.timeout.ms"):
        return longer
    answer = consumer(situation, "request.timeout.ms", request, longer.why)
    if answer is None:
        return longer
    return Draft(longer.why, longer.settings + answer.settings, longer.overrides + answer.overrides)


def session_above_commits(situation: Situation) -> Draft | None:
    """A session that outlasts a commit that times out at a coordinator without followers."""
    commit_s = int(situation.brokers["offsets.commit.timeout.ms"]) / 1_000
    interval_s = situation.seconds("auto.commit.interval.ms")
    because = f"A commit times out after {duration(commit_s)}, the next is made {duration(interval_s)} later"
    return _session_above(situation, commit_s + interval_s, because)


def more_heartbeats(situation: Situation) -> Draft | None:
    """Heartbeats at least three times a session."""
    value = round_down(situation.value(SESSION) / MIN_HEARTBEATS)
    if not 0 < value < situation.value(HEARTBEAT):
        return None
    beat, session = situation.seconds(HEARTBEAT), situation.seconds(SESSION)
    why = f"A heartbeat every {duration(beat)}, and a session of {duration(session)}."
    return consumer(situation, HEARTBEAT, value, why)


def static_membership(situation: Situation) -> Draft | None:
    """An instance id for each member; where restarts take longer, a session that outlasts them."""
    down_s, group = situation.down_s, situation.group
    if situation.facts.static or situation.facts.names_change or down_s is None:
        return None
    session_s = situation.seconds(SESSION)
    why = f"Members are back {duration(down_s)} after they end, and a session lasts {duration(session_s)}."
    ids = Draft(
        why, ("group.instance.id: one for each process",), (f"group[{group.id}].static=true",)
    )
    if down_s * MARGIN <= session_s:
        return ids
    longer = _session_of(situation, milliseconds(down_s * MARGIN), why)
    if longer is None:
        return None
    return Draft(longer.why, ids.settings + longer.settings, ids.overrides + longer.overrides)
