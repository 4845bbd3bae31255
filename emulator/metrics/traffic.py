"""Count requests, records of the offsets log, running time of members, and evictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from emulator import events as ev
from emulator.metrics.readings import Handler, Reading, seconds

EVICTIONS = (
    "session expired",
    "did not rejoin in time",
    "did not sync in time",
    "did not give partitions up in time",
)
"""Removals of a member by the coordinator's decision, as in ``MemberRemoved.why``."""

HOUR_S = 3_600


class TrafficMeter:
    """Counts requests and the records of the offsets log."""

    def __init__(self) -> None:
        self._bytes = 0
        self._peaks: dict[str, float] = {}
        self._records = Counter[str]()
        self._requests = Counter[str]()

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {ev.RequestsCounted: self._counted, ev.Appended: self._appended}

    def read(self, ended_us: int) -> Reading:
        """Return the traffic of a run that ended at *ended_us*."""
        ran_s = seconds(ended_us) or 1.0
        rates = {kind: count / ran_s for kind, count in sorted(self._requests.items())}
        return Reading(
            values={
                "requests": self._requests.total(),
                "requests_per_s": self._requests.total() / ran_s,
                "log_records": self._records.total(),
                "log_bytes": self._bytes,
            },
            tables={
                "requests_per_s.by_kind": {**rates},
                "requests_per_s_peak.by_kind": {**dict(sorted(self._peaks.items()))},
                "log_records.by_type": {**dict(sorted(self._records.items()))},
            },
        )

    def _counted(self, event: ev.Event, what: ev.RequestsCounted) -> None:
        lasted_s = seconds(event.at_us - what.since_us)
        for kind, count in what.counts:
            self._requests[kind] += count
            if lasted_s > 0:
                self._peaks[kind] = max(self._peaks.get(kind, 0.0), count / lasted_s)

    def _appended(self, _: ev.Event, what: ev.Appended) -> None:
        self._bytes += what.size
        for kind, count in what.records:
            self._records[kind] += count


class MemberMeter:
    """Measures members' running time and counts evictions."""

    def __init__(self) -> None:
        self._evictions = Counter[str]()
        self._evicted_living = 0
        self._dropped = Counter[str]()
        self._paused: set[str] = set()
        self._entered_us: dict[str, int] = {}
        """Member id: start of the process that joined with it."""

        self._ran_us = Counter[str]()
        self._since_us: dict[str, int] = {}
        self._processed = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: self._stopped,
            ev.ConsumerPaused: self._on_paused,
            ev.ConsumerResumed: self._on_resumed,
            ev.MemberAdded: self._added,
            ev.MemberRemoved: self._removed,
            ev.ClientDropped: self._on_dropped,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the hours and evictions of a run that ended at *ended_us*."""
        for name in list(self._since_us):
            self._end(name, ended_us)
        hours = {name: seconds(us) / HOUR_S for name, us in sorted(self._ran_us.items())}
        return Reading(
            values={
                "member_hours": sum(hours.values()),
                "evictions": self._evictions.total(),
                "evictions_living": self._evicted_living,
                "drop_outs": self._dropped.total(),
            },
            tables={
                "member_hours.by_member": {**hours},
                "evictions.by_reason": {**dict(sorted(self._evictions.items()))},
                "drop_outs.by_reason": {**dict(sorted(self._dropped.items()))},
            },
        )

    def _started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._end(what.consumer, event.at_us)
        self._since_us[what.consumer] = event.at_us
        self._paused.discard(what.consumer)

    def _stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        self._end(what.consumer, event.at_us)

    def _end(self, name: str, at_us: int) -> None:
        since_us = self._since_us.pop(name, None)
        if since_us is not None:
            self._ran_us[name] += at_us - since_us

    def _on_paused(self, _: ev.Event, what: ev.ConsumerPaused) -> None:
        self._paused.add(what.consumer)

    def _on_resumed(self, _: ev.Event, what: ev.ConsumerResumed) -> None:
        self._paused.discard(what.consumer)

    def _removed(self, _: ev.Event, what: ev.MemberRemoved) -> None:
        if what.why in EVICTIONS:
            self._evictions[what.why] += 1
            self._evicted_living += self._alive(what.consumer, what.member_id)

    def _added(self, _: ev.Event, what: ev.MemberAdded) -> None:
        since_us = self._since_us.get(what.consumer)
        if since_us is not None:
            self._entered_us[what.member_id] = since_us

    def _alive(self, name: str, member_id: str) -> bool:
        """Return whether the process that joined as this member runs, and not only a later one."""
        since_us = self._since_us.get(name)
        if since_us is None or name in self._paused:
            return False
        return self._entered_us.get(member_id, since_us) == since_us

    def _on_dropped(self, _: ev.Event, what: ev.ClientDropped) -> None:
        self._dropped[what.reason] += 1
