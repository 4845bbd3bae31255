"""Measure members: their running time, and how they are removed from their groups or leave by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from emulator import events as ev
from emulator.metrics.readings import Handler, Number, Reading, Row, seconds

EVICTIONS = (
    ev.Departure.EXPIRED,
    ev.Departure.DID_NOT_REJOIN,
    ev.Departure.DID_NOT_SYNC,
    ev.Departure.DID_NOT_REVOKE,
)
"""Removals of a member by the coordinator after a timeout, as in ``MemberRemoved.why``."""

HOUR_S = 3_600


class MemberMeter:
    """Measures members' running time and counts evictions."""

    def __init__(self) -> None:
        self._evictions: list[Row] = []
        self._drop_outs: list[Row] = []
        self._failures = Counter[str]()
        """Processes that ended with an error, by its reason."""

        self._paused: set[str] = set()
        self._entered_us: dict[str, int] = {}
        """Member id: start of the process that joined with it."""

        self._ran_us = Counter[str]()
        self._since_us: dict[str, int] = {}
        self._group_of: dict[str, str] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.ConsumerPaused: self._on_paused,
            ev.ConsumerResumed: self._on_resumed,
            ev.MemberAdded: self._on_added,
            ev.MemberRemoved: self._on_removed,
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
                "evictions": len(self._evictions),
                "evictions_living": sum(row["living"] for row in self._evictions),
                "drop_outs": len(self._drop_outs),
                "consumers_failed": self._failures.total(),
            },
            tables={
                "member_hours.by_member": {**hours},
                "evictions.by_reason": _by_reason(self._evictions),
                "drop_outs.by_reason": _by_reason(self._drop_outs),
                "consumers_failed.by_reason": {**dict(sorted(self._failures.items()))},
            },
            listings={
                "evictions": tuple(self._evictions),
                "drop_outs": tuple(self._drop_outs),
            },
        )

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._end(what.consumer, event.at_us)
        self._since_us[what.consumer] = event.at_us
        self._group_of[what.consumer] = what.group
        self._paused.discard(what.consumer)

    def _on_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        self._end(what.consumer, event.at_us)
        if what.how == ev.End.FAILED:
            self._failures[what.reason] += 1

    def _end(self, name: str, at_us: int) -> None:
        since_us = self._since_us.pop(name, None)
        if since_us is not None:
            self._ran_us[name] += at_us - since_us

    def _on_paused(self, _: ev.Event, what: ev.ConsumerPaused) -> None:
        self._paused.add(what.consumer)

    def _on_resumed(self, _: ev.Event, what: ev.ConsumerResumed) -> None:
        self._paused.discard(what.consumer)

    def _on_removed(self, event: ev.Event, what: ev.MemberRemoved) -> None:
        if what.why in EVICTIONS:
            row = _removal(event, what.group, what.consumer, what.why)
            living = self._alive(what.consumer, what.member_id)
            heirs = self._heirs(what.group, what.consumer, what.member_id)
            self._evictions.append({**row, "living": living, "heirs": heirs})

    def _on_added(self, _: ev.Event, what: ev.MemberAdded) -> None:
        since_us = self._since_us.get(what.consumer)
        if since_us is not None:
            self._entered_us[what.member_id] = since_us

    def _alive(self, name: str, member_id: str) -> bool:
        """Return whether the process that joined as this member runs, and not only a later one."""
        since_us = self._since_us.get(name)
        return since_us is not None and name not in self._paused and self._is(name, member_id)

    def _is(self, name: str, member_id: str) -> bool:
        """Return whether the process of a consumer that runs is the one that joined as this member."""
        since_us = self._since_us[name]
        return self._entered_us.get(member_id, since_us) == since_us

    def _heirs(self, group: str, name: str, member_id: str) -> int:
        """Return how many processes of a group run that may get the partitions of a removed member."""
        running = [each for each in self._since_us if self._group_of[each] == group]
        return sum(each != name or not self._is(name, member_id) for each in running)

    def _on_dropped(self, event: ev.Event, what: ev.ClientDropped) -> None:
        self._drop_outs.append(_removal(event, what.group, what.consumer, what.reason))


def _removal(event: ev.Event, group: str, consumer: str, reason: str) -> Row:
    return {"group": group, "consumer": consumer, "reason": reason, "at_s": seconds(event.at_us)}


def _by_reason(rows: Iterable[Row]) -> dict[str, Number]:
    counts = Counter[str](row["reason"] for row in rows)
    return {**dict(sorted(counts.items()))}


def busy_shares(
    tables: Mapping[str, Mapping[str, Number]],
    times_us: Mapping[str, float],
    times_by_topic_us: Mapping[tuple[str, str], float],
) -> dict[str, float]:
    """Return the share of its running time that each member worked on records, from a run's *tables*.

    *times_us*: of a record, by member. *times_by_topic_us*: by member and topic, where they differ.
    """
    hours, processed = tables["member_hours.by_member"], tables["processed.by_member"]
    worked_us = {name: processed.get(name, 0) * us for name, us in times_us.items()}
    by_topic = tables["processed.by_member_and_topic"]
    if times_by_topic_us and by_topic:
        worked_us = dict.fromkeys(times_us, 0.0)
        for (name, topic), us in times_by_topic_us.items():
            worked_us[name] += by_topic.get(f"{name}/{topic}", 0) * us
    return {
        name: min(seconds(round(us)) / (hours[name] * HOUR_S), 1.0)
        for name, us in worked_us.items()
        if hours.get(name)
    }
