"""The explanations that are tried: commit policies, and what happened to the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from assignors.values import dataclass
from emulator.blaming.evidence import Evidence
from emulator.blaming.figures import usual_interval_s
from emulator.blaming.setup import Table
from emulator.blaming.symptoms import Stop, Symptoms

SECOND = 1_000_000

_JOIN_US = 2_500_000
"""From the start of a process to its first record, in the runs that are tried."""


LONGEST_INTERVAL_MS = 600_000
"""Longer times between commits are not taken for an interval."""

KAFKAS_INTERVAL_MS = 5_000

_BEYOND_THE_END_US = 600 * SECOND
"""A consumer that never resumes is not to resume in the runs either."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A commit policy: its name, the key ``commit`` of a group, and further settings."""

    name: str
    commit: str | Table
    settings: tuple[tuple[str, object], ...] = ()
    trace: str = "other calls in the application's code"
    """What it leaves elsewhere than in the two logs."""

    unusual: float = 0.0
    """Added to its distance: of two that fit as well, the more usual one comes first."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that may have happened: its name, its words, and its faults and acts."""

    name: str
    words: str
    trace: str
    """What it leaves elsewhere than in the two logs."""

    faults: tuple[Table, ...] = ()
    """As in a scenario file; ``at`` is the time since the onset, in microseconds."""

    acts: tuple[Table, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    """Of topics that had another number of partitions before it."""

    unusual: float = 0.0
    """Added to its distance: of two that fit as well, the more usual one comes first."""


NOTHING = Happening("nothing", "nothing happened to a member or a broker", "nothing")


# -- commit policies -------------------------------------------------------------------------------


def policies(evidence: Evidence) -> list[Policy]:
    """Return the policies that are tried; intervals are those seen between commits."""
    every_ms = interval_ms(evidence)
    at_interval: Table = {"call": "sync", "when": "every", "every": f"{every_ms}ms"}
    return [
        Policy(
            "automatic commits",
            "auto",
            (("auto.commit.interval.ms", every_ms),),
            "enable.auto.commit=true in its settings",
        ),
        Policy("commitSync after each batch", "sync"),
        Policy("commitAsync after each batch", "async"),
        Policy("commitSync after each record", "sync per record"),
        Policy("commitAsync after each record", "async per record"),
        Policy("commitSync before the work", "sync before"),
        Policy("commitSync at an interval", at_interval, unusual=0.05),
        Policy("no commits", "none"),
    ]


def interval_ms(evidence: Evidence) -> int:
    """Return the usual time between two commits of one partition, to two digits."""
    usual_ms = usual_interval_s(evidence.commits) * 1_000
    if usual_ms > LONGEST_INTERVAL_MS:
        return KAFKAS_INTERVAL_MS
    digits: int = 10 ** max(0, len(str(int(usual_ms))) - 2)
    return max(10, int(usual_ms / digits) * digits)


# -- what happened ---------------------------------------------------------------------------------


def happenings(symptoms: Symptoms, group: str) -> list[Happening]:
    """Return what may have happened, with the times that were seen."""
    found = [NOTHING, *_of_brokers(group)]
    if symptoms.stops:
        returned = any(stop.resumed_us is not None for stop in symptoms.stops)
        found += _with_return(symptoms) if returned else _without_return(symptoms)
        found += _alive(symptoms)
    if symptoms.added:
        found.append(_expansion(symptoms))
    if symptoms.joined:
        found.append(_joins(symptoms))
    return found


_LEFT = "“sending LeaveGroup request” in the client's log"
_KILLED = "the exit of the process, without a LeaveGroup request in its log"


def _with_return(symptoms: Symptoms) -> Iterator[Happening]:
    names = _names(symptoms)

    def back(stop: Stop, away: str) -> Table:
        return {} if stop.resumed_us is None else {"restart_after": away}

    def crash(stop: Stop, away: str) -> Table:
        return {"crash": stop.consumer} | back(stop, away)

    def close(stop: Stop, away: str) -> Table:
        return {"close": stop.consumer} | back(stop, away)

    def close_in_batch(stop: Stop, away: str) -> Table:
        return close(stop, away) | {"mid_batch": True}

    crashed = _each(symptoms, crash, away=True)
    yield Happening("crash and return", f"{names} crashed and came back", _KILLED, crashed)
    closed = _each(symptoms, close, away=True)
    yield Happening("restart", f"{names} closed and came back", _LEFT, (), closed)
    closed = _each(symptoms, close_in_batch, away=True)
    words = f"{names} closed in mid-batch and came back"
    yield Happening("restart in mid-batch", words, _LEFT, (), closed)


def _without_return(symptoms: Symptoms) -> Iterator[Happening]:
    names = _names(symptoms)
    crashed = _each(symptoms, lambda stop, _: {"crash": stop.consumer})
    yield Happening("crash", f"{names} crashed", _KILLED, crashed)
    closed = _each(symptoms, lambda stop, _: {"close": stop.consumer})
    yield Happening("close", f"{names} closed", _LEFT, (), closed)
    closed = _each(symptoms, lambda stop, _: {"close": stop.consumer, "mid_batch": True})
    yield Happening("close in mid-batch", f"{names} closed in mid-batch", _LEFT, (), closed)


def _alive(symptoms: Symptoms) -> Iterator[Happening]:
    """Yield what stops a consumer whose process lives on."""
    names = _names(symptoms)
    paused = _each(symptoms, lambda stop, lasting: {"pause": stop.consumer, "for": lasting})
    words = f"the process of {names} was paused (SIGSTOP, garbage collection)"
    yield Happening(
        "pause", words, "a pause in the garbage collection log or of the node", paused, unusual=0.03
    )
    hung = _each(symptoms, lambda stop, lasting: {"hang": stop.consumer, "for": lasting})
    words = f"the handler of {names} hung on a record"
    trace = "“consumer poll timeout has expired” in the client's log, if it lasts that long"
    yield Happening("hang", words, trace, hung)
    cut = _each(symptoms, lambda stop, lasting: {"cut": [stop.consumer, "brokers"], "for": lasting})
    words = f"the network of {names} was cut"
    trace = "disconnections and request timeouts in the client's log"
    yield Happening("cut", words, trace, cut, unusual=0.05)


def _of_brokers(group: str) -> Iterator[Happening]:
    coordinator = f"coordinator of {group}"
    trace = "“Group coordinator … is unavailable or invalid” in the logs of all clients"
    crash: Table = {"crash_broker": coordinator, "at": 0}
    yield Happening("coordinator crash", "the coordinator's broker crashed", trace, (crash,))
    pause: Table = {"pause_broker": coordinator, "for": "10s", "at": 0}
    words = "the coordinator's broker was paused for 10 s"
    yield Happening("coordinator pause", words, trace, (pause,))


def _joins(symptoms: Symptoms) -> Happening:
    names = ", ".join(name for name, _ in symptoms.joined)
    acts = tuple(
        {"start": name, "at": max(0, at_us - symptoms.onset_us - _JOIN_US)}
        for name, at_us in symptoms.joined
    )
    return Happening("join", f"{names} joined", "the start of a process", (), acts)


def _expansion(symptoms: Symptoms) -> Happening:
    counts: dict[str, int] = {}
    earlier: dict[str, int] = {}
    for (topic, number), _ in symptoms.added:
        counts[topic] = max(counts.get(topic, 0), number + 1)
        earlier[topic] = min(earlier.get(topic, number), number)
    acts = tuple({"add_partitions": topic, "to": to, "at": 0} for topic, to in counts.items())
    words = f"partitions were added to {', '.join(counts)}"
    return Happening("partitions added", words, "the creation of the partitions", (), acts, earlier)


def _names(symptoms: Symptoms) -> str:
    return ", ".join(dict.fromkeys(stop.consumer for stop in symptoms.stops))


def _each(
    symptoms: Symptoms, make: Callable[[Stop, str], Table], *, away: bool = False
) -> tuple[Table, ...]:
    """Return a fault or act for each stop, which lasts as long; *away*: less the time of a join."""
    tables = []
    for stop in symptoms.stops:
        lasting_us = stop.lasted_us(symptoms.ended_us) - (_JOIN_US if away else 0)
        lasting_us += 0 if stop.resumed_us else _BEYOND_THE_END_US
        table = make(stop, _seconds(max(SECOND // 10, lasting_us)))
        tables.append(table | {"at": stop.stopped_us - symptoms.onset_us})
    return tuple(tables)


# -- scenarios -------------------------------------------------------------------------------------


def completed(base: Table, policy: Policy, happening: Happening, onset_us: int) -> Table:
    """Return the scenario of a policy and of a happening that begins at *onset_us*."""
    group = base["group"][0]
    settings: Mapping[str, object] = group["settings"] | dict(policy.settings)
    topics = [
        topic | {"partitions": happening.partitions.get(topic["name"], topic["partitions"])}
        for topic in base["topic"]
    ]
    return base | {
        "topic": topics,
        "group": [group | {"commit": policy.commit, "settings": settings}],
        "fault": [_from(onset_us, each) for each in happening.faults],
        "act": [_from(onset_us, each) for each in happening.acts],
    }


def _from(onset_us: int, table: Table) -> Table:
    """Return a fault or act with its time in the run instead of the one since the onset."""
    return table | {"at": _seconds(onset_us + table["at"])}


def _seconds(time_us: int) -> str:
    return f"{time_us / SECOND:.3f}s"
