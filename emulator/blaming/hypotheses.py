"""What may have happened to a group: the faults and acts that are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from statistics import median

from emulator.blaming.happening import (
    BUT_REFUSED,
    IN_BATCH,
    MID_BATCH,
    NO_GRACE,
    NOTHING,
    Happening,
)
from emulator.blaming.setup import Setup, Table, heartbeat_ms, seconds_text, session_ms_of
from emulator.blaming.symptoms import Stop, Symptoms
from emulator.blaming.topic_causes import of_topics, overtaken

SECOND = 1_000_000

_JOIN_US = 2_500_000
"""From the start of a process to its first record, in the runs that are tried."""


FOR_GOOD = 0.07
"""How unusual it is that a pause or a cut lasts up to the end of the log, as a crash does."""

UNEVEN_US = 3 * SECOND
"""The members of one rolling restart follow at times that differ by no more than this."""

USUAL_PAUSE_US = 10 * SECOND
SHORTEST_GRACE_US, LONGEST_GRACE_US = 4 * SECOND, 300 * SECOND

_BEYOND_THE_END_US = 600 * SECOND
"""A consumer that never resumes is not to resume in the runs either."""


# -- what happened ---------------------------------------------------------------------------------


def happenings(symptoms: Symptoms, setup: Setup) -> list[Happening]:
    """Return what may have happened, with the times that were seen.

    Consumers that begin later start in each of those in which others stop.
    """
    found = [NOTHING, *_of_brokers(setup.group, symptoms.halted_us)]
    if symptoms.stops:
        returned = any(stop.resumed_us is not None for stop in symptoms.stops)
        stopped = [
            *(
                _with_return(symptoms, setup.group)
                if returned
                else _without_return(symptoms, setup)
            ),
            *_migrations(symptoms, setup),
            *_killed_late(symptoms, setup),
            *_alive(symptoms),
        ]
        if symptoms.retentions:
            stopped += [overtaken(each, symptoms) for each in stopped]
        found += [_with_starts(each, symptoms) for each in stopped]
    found += of_topics(symptoms, setup)
    if setup.is_static:
        found += _of_static_members(symptoms, setup)
    if symptoms.joined:
        found.append(_joins(symptoms))
    return found


SOME_KILLS = " with some kills"
_LEFT = "“sending LeaveGroup request” in the client's log"
_SCALED_IN = f"{_LEFT}; if an autoscaler did it, its event (SuccessfulRescale of an HPA)"
_SCALED_OUT = (
    "the start of a process; if an autoscaler did it, its event (SuccessfulRescale of an HPA)"
)
_SOME_KILLED = (
    "the exit of some processes (code 137 of a SIGKILL), and LeaveGroup requests of the others"
)
_REFUSED = "UnreleasedInstanceIdException in the log of the second process"
_AT_ONCE = "1s"
_KILLED = "the exit of the process (code 137 of a SIGKILL), without a LeaveGroup request in its log"


def _with_return(symptoms: Symptoms, group: str) -> Iterator[Happening]:
    names = _names(symptoms)
    if is_deploy(symptoms):
        words = f"a deploy killed {names} and started them again"
        killed = _deploy(symptoms, group, NO_GRACE)
        yield Happening("deploy with kills", words, _KILLED, (), killed)
        for ending, how in (("", {}), (MID_BATCH, IN_BATCH)):
            words = f"a deploy closed {names}{ending} and started them again"
            acts = _deploy(symptoms, group, how)
            yield Happening(f"deploy{ending}", words, _LEFT, (), acts)
        if _some_killed(symptoms):
            words = f"a deploy {_killed_and_closed(symptoms)}, and started them again"
            some = _each(symptoms, _close_or_kill, away=True)
            yield Happening(f"deploy{SOME_KILLS}", words, _SOME_KILLED, (), some)
        return
    crashed = _each(symptoms, _crash, away=True)
    yield Happening("crash and return", f"{names} crashed and came back", _KILLED, crashed)
    closed = _each(symptoms, _close, away=True)
    yield Happening("restart", f"{names} closed and came back", _LEFT, (), closed)
    closed = _each(symptoms, _close_in_batch, away=True)
    words = f"{names} closed in mid-batch and came back"
    yield Happening(f"restart{MID_BATCH}", words, _LEFT, (), closed)


def _without_return(symptoms: Symptoms, setup: Setup) -> Iterator[Happening]:
    names = _names(symptoms)
    crashed = tuple(
        crash | {"at": crash["at"] + _idle_us(symptoms, setup)} for crash in _each(symptoms, _crash)
    )
    yield Happening("crash", f"{names} crashed", _KILLED, crashed)
    closed = _each(symptoms, _close)
    yield Happening("close", f"{names} closed", _SCALED_IN, (), closed)
    closed = _each(symptoms, _close_in_batch)
    yield Happening(f"close{MID_BATCH}", f"{names} closed in mid-batch", _SCALED_IN, (), closed)
    if _some_killed(symptoms):
        words = f"a deploy {_killed_and_closed(symptoms)}"
        some = _each(symptoms, _close_or_kill)
        yield Happening(f"deploy{SOME_KILLS}", words, _SOME_KILLED, (), some)


def _some_killed(symptoms: Symptoms) -> bool:
    """Return whether some consumers ended like a kill and others not: their records were repeated."""
    return len({stop.repeated for stop in symptoms.stops}) > 1


def _killed_and_closed(symptoms: Symptoms) -> str:
    killed = replace(symptoms, stops=tuple(stop for stop in symptoms.stops if stop.repeated))
    closed = replace(symptoms, stops=tuple(stop for stop in symptoms.stops if not stop.repeated))
    return f"killed {_names(killed)} and closed {_names(closed)}"


def _close_or_kill(stop: Stop, away: str) -> Table:
    return _close(stop, away) | (NO_GRACE if stop.repeated else {})


def _idle_us(symptoms: Symptoms, setup: Setup) -> int:
    """Return how long a consumer lived after its last record, where records are rare.

    Its session ends so much later. It began with the last heartbeat, half an interval before the crash
    on average, and the others join with their next heartbeats, within an interval of its end: together,
    the next generation comes half an interval later than a session after the crash.
    """
    (first, *_), next_us = symptoms.stops, symptoms.next_generation_us
    if setup.protocol != "classic" or next_us is None or first.usual_us < SECOND:
        return 0
    half_us = heartbeat_ms(setup) * 1_000 // 2
    idle_us = next_us - symptoms.onset_us - session_ms_of(setup) * 1_000 - half_us
    return max(0, min(idle_us, 2 * first.usual_us))


def _crash(stop: Stop, away: str) -> Table:
    return {"crash": stop.consumer} | _back(stop, away)


def _close(stop: Stop, away: str) -> Table:
    return {"close": stop.consumer} | _back(stop, away)


def _close_in_batch(stop: Stop, away: str) -> Table:
    return _close(stop, away) | IN_BATCH


def _back(stop: Stop, away: str) -> Table:
    return {} if stop.resumed_us is None else {"restart_after": away}


# -- deploys ---------------------------------------------------------------------------------------


def is_deploy(symptoms: Symptoms) -> bool:
    """Return whether several consumers stopped once each, and came back."""
    stops = symptoms.stops
    return (
        len(stops) > 1
        and len({stop.consumer for stop in stops}) == len(stops)
        and all(stop.resumed_us is not None for stop in stops)
    )


def _deploy(symptoms: Symptoms, group: str, how: Table) -> tuple[Table, ...]:
    """Return a rolling restart; its single acts where its members followed at uneven times.

    *how*: the keys with which it ends a member.
    """
    stops = symptoms.stops
    away = [_away_us(stop, symptoms.ended_us) for stop in stops]
    gaps = [
        max(0, two.stopped_us - one.stopped_us - away_us)
        for (one, two), away_us in zip(pairwise(stops), away, strict=False)
    ]
    if max(gaps) - min(gaps) > UNEVEN_US or max(away) - min(away) > UNEVEN_US:
        return _each(symptoms, lambda stop, back: _close(stop, back) | how, away=True)
    act: Table = {
        "rolling_restart": group,
        "order": [stop.consumer for stop in stops],
        "down_time": seconds_text(int(median(away))),
        "gap": seconds_text(int(median(gaps))),
        "at": 0,
    }
    return (act | how,)


MIGRATION = "migration"
CLASSIC_ONLY = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")
"""Settings that the consumer protocol refuses."""


def _migrations(symptoms: Symptoms, setup: Setup) -> Iterator[Happening]:
    """Yield the deploys after which the consumers have the protocol that the group has at the end."""
    if setup.migrated_to is None:
        return
    names = _names(symptoms)
    words = f"a deploy closed {names} and started them with group.protocol={setup.migrated_to}"
    closed = tuple(_migrated(symptoms, setup, _close))
    yield Happening(MIGRATION, words, _LEFT, (), closed)
    if _some_killed(symptoms):
        words = f"a deploy {_killed_and_closed(symptoms)}, and started them with group.protocol={setup.migrated_to}"
        some = tuple(_migrated(symptoms, setup, _close_or_kill))
        yield Happening(f"{MIGRATION}{SOME_KILLS}", words, _SOME_KILLED, (), some)


def _migrated(
    symptoms: Symptoms, setup: Setup, end: Callable[[Stop, str], Table]
) -> Iterator[Table]:
    """Yield the end and the start of each process; a consumer's last one has the other protocol."""
    last = {stop.consumer: stop for stop in symptoms.stops}
    refused = CLASSIC_ONLY if setup.migrated_to == "consumer" else ()
    settings: Table = {"group.protocol": setup.migrated_to}
    for stop in symptoms.stops:
        at_us = stop.stopped_us - symptoms.onset_us
        yield end(replace(stop, resumed_us=None), "") | {"at": at_us}
        if stop.resumed_us is None:
            continue
        back: Table = {"start": stop.consumer, "at": at_us + _away_us(stop, symptoms.ended_us)}
        changed: Table = {"settings": settings, "unset": [*refused]}
        yield back | (changed if last[stop.consumer] is stop else {})


def _killed_late(symptoms: Symptoms, setup: Setup) -> Iterator[Happening]:
    """Yield a kill after a grace period: it heartbeats that long, and processes nothing more.

    The period is the time by which the group notices the end later than after a session.
    """
    if setup.protocol != "classic" or symptoms.next_generation_us is None:
        return
    session_us = session_ms_of(setup) * 1_000
    grace_us = symptoms.next_generation_us - symptoms.onset_us - session_us
    if not SHORTEST_GRACE_US <= grace_us <= LONGEST_GRACE_US or len(symptoms.stops) > 1:
        return
    (stop,) = symptoms.stops
    lasting_us = max(SECOND // 10, _away_us(stop, symptoms.ended_us) - grace_us)
    hung: Table = {"hang": stop.consumer, "for": seconds_text(grace_us + SECOND), "at": 0}
    killed = _close(stop, seconds_text(lasting_us)) | {
        "grace": seconds_text(grace_us),
        "at": SECOND // 20,
    }
    words = (
        f"{stop.consumer} did not exit on SIGTERM, and was killed after {seconds_text(grace_us)}"
    )
    yield Happening("kill after a grace period", words, _KILLED, (hung,), (killed,), unusual=0.03)


def _with_starts(happening: Happening, symptoms: Symptoms) -> Happening:
    """Return it with the starts of the consumers that begin later: those of a deploy, say."""
    if not symptoms.joined:
        return happening
    joins = _joins(symptoms)
    words = f"{happening.words}; {joins.words}"
    return replace(happening, words=words, acts=(*happening.acts, *joins.acts))


# -- processes that live on ------------------------------------------------------------------------


def _alive(symptoms: Symptoms) -> Iterator[Happening]:
    """Yield what stops a consumer whose process lives on."""
    names = _names(symptoms)
    for_good = all(stop.resumed_us is None for stop in symptoms.stops)
    rare = FOR_GOOD if for_good else 0.0
    paused = _each(symptoms, lambda stop, lasting: {"pause": stop.consumer, "for": lasting})
    words = f"the process of {names} was paused (SIGSTOP, garbage collection)"
    yield Happening(
        "pause",
        words,
        "a pause in the garbage collection log or of the node",
        paused,
        unusual=0.03 + rare,
    )
    hung = _each(symptoms, lambda stop, lasting: {"hang": stop.consumer, "for": lasting})
    words = f"the handler of {names} hung on a record"
    trace = "“consumer poll timeout has expired” in the client's log, if it lasts that long"
    yield Happening("hang", words, trace, hung)
    cut = _each(symptoms, lambda stop, lasting: {"cut": [stop.consumer, "brokers"], "for": lasting})
    words = f"the network of {names} was cut"
    trace = "disconnections and request timeouts in the client's log"
    yield Happening("cut", words, trace, cut, unusual=0.05 + rare)


def _of_brokers(group: str, halted_us: int) -> Iterator[Happening]:
    coordinator = f"coordinator of {group}"
    trace = "“Group coordinator … is unavailable or invalid” in the logs of all clients"
    crash: Table = {"crash_broker": coordinator, "at": 0}
    yield Happening("coordinator crash", "the coordinator's broker crashed", trace, (crash,))
    lasting = f"{(halted_us or USUAL_PAUSE_US) / SECOND:.1f}s"
    pause: Table = {"pause_broker": coordinator, "for": lasting, "at": 0}
    words = f"the coordinator's broker was paused for {lasting.removesuffix('s')} s"
    yield Happening("coordinator pause", words, trace, (pause,))


def _joins(symptoms: Symptoms) -> Happening:
    names = ", ".join(name for name, _ in symptoms.joined)
    acts = tuple(_started(name, at_us, symptoms) for name, at_us in symptoms.joined)
    return Happening("join", f"{names} joined", _SCALED_OUT, (), acts)


def _of_static_members(symptoms: Symptoms, setup: Setup) -> Iterator[Happening]:
    """Yield processes that start with the instance id of a member that runs."""
    for each in symptoms.replaced:
        yield Happening(
            "static member replaced",
            f"{each.successor} started with the group.instance.id of {each.former}, which was fenced",
            "FencedInstanceIdException in the log of the former process",
            acts=(_started(each.successor, each.at_us, symptoms),),
            members={each.successor: {"group.instance.id": each.former}},
        )
    if setup.protocol != "consumer":
        return
    if symptoms.stops and all(stop.resumed_us is None for stop in symptoms.stops):
        yield _crash_but_refused(symptoms)
    if symptoms.present:
        twin = symptoms.present[0]
        yield Happening(
            NOTHING.name + BUT_REFUSED,
            "a second process with the group.instance.id of a member was refused",
            _REFUSED,
            acts=({"start": f"{twin}+", "at": 0},),
            members={f"{twin}+": {"group.instance.id": twin}},
        )


def _crash_but_refused(symptoms: Symptoms) -> Happening:
    """Return crashes whose next processes come before the sessions end, and exit for good."""
    names = _names(symptoms)
    crashed = tuple(each | {"restart_after": _AT_ONCE} for each in _each(symptoms, _crash))
    words = f"{names} crashed, and the next process was refused before the session had expired"
    return Happening(f"crash{BUT_REFUSED}", words, f"{_KILLED}; {_REFUSED}", crashed)


def _started(name: str, at_us: int, symptoms: Symptoms) -> Table:
    """Return the start of a consumer that began its first record at an instant."""
    return {"start": name, "at": max(0, at_us - symptoms.onset_us - _JOIN_US)}


def _names(symptoms: Symptoms) -> str:
    return ", ".join(dict.fromkeys(stop.consumer for stop in symptoms.stops))


def _each(
    symptoms: Symptoms, make: Callable[[Stop, str], Table], *, away: bool = False
) -> tuple[Table, ...]:
    """Return a fault or act for each stop, which lasts as long; *away*: less the time of a join."""
    tables = []
    for stop in symptoms.stops:
        lasting_us = stop.lasted_us(symptoms.ended_us)
        if stop.resumed_us is None:
            lasting_us += _BEYOND_THE_END_US
        elif away:
            lasting_us = _away_us(stop, symptoms.ended_us)
        table = make(stop, seconds_text(max(SECOND // 10, lasting_us)))
        tables.append(table | {"at": stop.stopped_us - symptoms.onset_us})
    return tuple(tables)


def _away_us(stop: Stop, ended_us: int) -> int:
    """Return the time from the end of a process to the start of the next one."""
    return max(SECOND // 10, stop.lasted_us(ended_us) - _JOIN_US)
