"""The group of an incident as a scenario that its explanations complete."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from operator import attrgetter
from statistics import median
from typing import Any

from assignors.values import dataclass
from emulator.blaming.arrivals import BUSY, arrivals, arrivals_behind, caught_up_us, is_busy
from emulator.blaming.evidence import Evidence, Work, grouped
from emulator.blaming.ranges import PIECE_US
from emulator.blaming.symptoms import Symptoms

LONGEST_WARM_UP_US = 40_000_000
SHORTEST_WARM_UP_US = 12_000_000
SECOND_US = 1_000_000
_FORMING_US = 4_000_000
"""How long a group takes from its first process to its first record."""

_FORMED_US = 7_000_000
"""By then a group has formed in the runs that are tried."""

_HEARTBEATS = 2
"""Members of the consumer protocol hear with a heartbeat that they own less, and with another that they own more."""

_USUAL_CONSUMER_HEARTBEAT_MS, _SHORTEST_HEARTBEAT_MS = 5_000, 1_000

SHORTEST_SESSION_MS, LONGEST_SESSION_MS = 3_000, 40_000
"""Times from a stop to a new group epoch that are taken for a session timeout other than 45 s."""

HEARTBEAT = "group.consumer.heartbeat.interval.ms"

USUAL_SESSION_MS, USUAL_HEARTBEAT_MS = 45_000, 3_000

DENSE = 20
"""Rows of one consumer over which the time of a record is measured if rows do not have theirs."""

Table = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the offsets log says about the group; None: its records do not say it."""

    group: str
    protocol: str
    """``classic`` or ``consumer``; of a group that migrated, the first one."""

    assignor: str | None
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    is_static: bool = False
    """Whether its members have a ``group.instance.id``."""

    migrated_to: str | None = None
    """The protocol that the group has at the end, if it is not the first one."""

    client_ids: tuple[str, ...] = ()
    """The ``client.id`` of its members, each once."""

    carries_epochs: bool | None = None
    """Whether its commits have leader epochs; None: not known, or some have."""

    @property
    def protocols(self) -> frozenset[str]:
        """The protocols that its members had."""
        return frozenset(filter(None, (self.protocol, self.migrated_to)))


def warm_up_us(evidence: Evidence, symptoms: Symptoms) -> int:
    """Return when the incident begins in the runs that are tried: as seen, within bounds."""
    seen_us = symptoms.onset_us - evidence.work[0].began_us + _FORMING_US
    return min(max(seen_us, SHORTEST_WARM_UP_US), LONGEST_WARM_UP_US)


def formed_us(base: Table) -> int:
    """Return when a group has formed in runs of a scenario of :func:`scenario_of`."""
    return _formed_us(base["group"][0]["settings"]["group.protocol"], base["cluster"]["settings"])


def _formed_us(protocol: str, cluster: Table) -> int:
    if protocol == "classic":
        return _FORMED_US
    every_ms: int = cluster.get(HEARTBEAT, _USUAL_CONSUMER_HEARTBEAT_MS)
    return max(_FORMED_US, SECOND_US + _HEARTBEATS * every_ms * 1_000)


def scenario_of(setup: Setup, evidence: Evidence, symptoms: Symptoms) -> Table:
    """Return the scenario of the group without a commit policy and without a fault.

    Rates and work times are those of the time before the incident.
    """
    quiet = [done for done in evidence.work if done.ended_us <= symptoms.onset_us]
    joined = dict(symptoms.joined)
    members = sorted({done.consumer for done in evidence.work})
    cluster = _cluster_settings(setup, symptoms)
    topics = [_topic(evidence, symptoms, name) for name in _topics(evidence)]
    if setup.protocol != "classic":
        topics = [_from_when_formed(topic, _formed_us(setup.protocol, cluster)) for topic in topics]
    return {
        "title": f"what happened to {setup.group}",
        "cluster": {"settings": cluster},
        "run_for": f"{(warm_up_us(evidence, symptoms) + symptoms.ended_us - symptoms.onset_us) / 1e6:.1f}s",
        "topic": topics,
        "group": [
            {
                "id": setup.group,
                "topics": _topics(evidence),
                "work": f"{_work_us(quiet, evidence.work)}us",
                "settings": _settings(setup),
                "member": [_member(setup, name, late=name in joined) for name in members],
            }
        ],
    }


def work_us_of(scenario: Table) -> int:
    """Return the time of a record in a scenario of :func:`scenario_of`, in microseconds."""
    return int(str(scenario["group"][0]["work"]).removesuffix("us"))


def _topics(evidence: Evidence) -> list[str]:
    return sorted({done.partition.topic for done in evidence.work})


def _topic(evidence: Evidence, symptoms: Symptoms, name: str) -> Table:
    mine = [done for done in evidence.work if done.partition.topic == name]
    gone = (each.gone_us for each in symptoms.recreated if each.topic == name)
    until_us = min(gone, default=symptoms.ended_us)
    seen = [done for done in mine if done.ended_us <= until_us]
    table: Table = {
        "name": name,
        "partitions": max(done.partition.partition for done in mine) + 1,
    }
    if is_busy(evidence, symptoms):
        return table | arrivals_behind(seen, caught_up_us(evidence.work), _FORMING_US)
    begun_us = dict(symptoms.appeared).get(name, evidence.work[0].began_us)
    return table | arrivals(seen, begun_us, until_us)


def _from_when_formed(topic: Table, at_us: int) -> Table:
    """Return a topic whose producer starts when the group has formed.

    Members that hear of their partitions two heartbeats later would begin with a backlog, which the log
    does not show.
    """
    if "backlog" in topic:
        return topic
    return topic | {"produce_from": seconds_text(at_us - SECOND_US)}


def _work_us(quiet: Sequence[Work], work: Sequence[Work]) -> int:
    """Return the median time of a record before the incident; where it is not known, a bound of it."""
    times = [
        (done.ended_us - done.began_us) / max(1, done.next_offset - done.first)
        for done in quiet or work
    ]
    return max(1, round(median(times) or _densest_us(work)))


def _densest_us(work: Sequence[Work]) -> float:
    """Return the time of a record where some consumer processed most in a time: it took no longer.

    For logs that only say when records were finished. A consumer that is never faster than records
    arrive on average only waits for them, as far as the log shows: it is taken for half idle.
    """
    edge_us = PIECE_US if any(done.next_offset - done.first > 1 for done in work) else 0
    found = [
        _least_and_usual_us(each, edge_us)
        for each in grouped(work, attrgetter("consumer")).values()
    ]
    min_us, usual_us = (min(each) for each in zip(*found, strict=True))
    if usual_us == inf:
        return 0.0
    return float(min_us if min_us < BUSY * usual_us else usual_us / 2)


def _least_and_usual_us(work: Sequence[Work], edge_us: int) -> tuple[float, float]:
    """Return the time of a record of one consumer: the least over some rows, and the mean.

    *edge_us*: how long a row may have begun before another one ended; such rows are not counted.
    """
    finished = Counter[int]()
    for done in work:
        finished[done.ended_us] += done.next_offset - done.first
    ends, records = [*finished], [*accumulate(finished.values(), initial=0)]
    min_us = inf
    for place in range(DENSE, len(ends)):
        from_us = min(ends[place - DENSE], ends[place] - DENSE * edge_us)
        begin = bisect_right(ends, from_us + edge_us)
        number = records[place + 1] - records[begin]
        min_us = min(min_us, (ends[place] - from_us) / max(1, number))
    usual_us = (ends[-1] - ends[0]) / (records[-1] - records[1]) if len(ends) > 1 else inf
    return min_us, usual_us


def session_ms_of(setup: Setup) -> int:
    """Return the session timeout of a classic group (ms)."""
    return setup.session_timeout_ms or USUAL_SESSION_MS


def heartbeat_ms(setup: Setup) -> int:
    """Return the heartbeat interval of a classic group (ms): the default, or a third of its session."""
    return min(USUAL_HEARTBEAT_MS, max(1, session_ms_of(setup) // 3))


def _settings(setup: Setup) -> Table:
    settings: Table = {"auto.offset.reset": "earliest", "group.protocol": setup.protocol}
    if setup.protocol == "classic":
        settings["session.timeout.ms"] = session_ms_of(setup)
        settings["heartbeat.interval.ms"] = heartbeat_ms(setup)
        if setup.assignor:
            settings["partition.assignment.strategy"] = setup.assignor
    if setup.rebalance_timeout_ms:
        settings["max.poll.interval.ms"] = setup.rebalance_timeout_ms
    return settings


def _cluster_settings(setup: Setup, symptoms: Symptoms) -> Table:
    """Return the brokers' session timeout, which the log of the consumer protocol does not have.

    It is the time from the first stop to the next group epoch, if that is one, and not that of a member
    that polls too late: such a member leaves with its next heartbeat, half an interval later on average.
    """
    if setup.protocol == "classic":
        return {}
    next_us = symptoms.next_generation_us
    seen_ms = 0 if next_us is None else (next_us - symptoms.onset_us) // 1_000
    late_ms = seen_ms - (setup.rebalance_timeout_ms or 0)
    if setup.rebalance_timeout_ms and 0 < late_ms < _USUAL_CONSUMER_HEARTBEAT_MS:
        return _heartbeats(max(_SHORTEST_HEARTBEAT_MS, 2 * late_ms))
    if not SHORTEST_SESSION_MS <= seen_ms <= LONGEST_SESSION_MS:
        return {}
    key = "group.consumer.{}session.timeout.ms"
    sessions = {key.format(least): seen_ms for least in ("", "min.")}
    return sessions | _heartbeats(seen_ms // 3)


def _heartbeats(every_ms: int) -> Table:
    """Return the brokers' heartbeat interval (ms), no longer than Kafka's default."""
    value = min(_USUAL_CONSUMER_HEARTBEAT_MS, every_ms)
    return {f"group.consumer.{least}heartbeat.interval.ms": value for least in ("", "min.")}


def _member(setup: Setup, name: str, *, late: bool) -> Table:
    member: Table = {"name": name}
    if setup.is_static:
        member["settings"] = {"group.instance.id": name}
    if late:
        member["start"] = "by act"
    return member


def seconds_text(time_us: int) -> str:
    """Return microseconds as a scenario file has a time."""
    return f"{time_us / 1e6:.3f}s"
