"""Measure when brokers make partitions unreadable and commits unavailable.

A partition is *unreadable* while its high watermark cannot advance: its leader is down, or an
in-sync replica is down that the leader has not removed from the ISR yet. *Commits are unavailable*
to a group while that holds for its offsets partition, or while no coordinator has loaded it. Owners
keep their partitions meanwhile, so this is not downtime; the time that consumers need to recover
afterwards is not included either.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.metrics.readings import Handler, Reading, Stopwatch, in_seconds, longest, seconds


class AvailabilityMeter:
    """Measures when partitions were unreadable and when commits were unavailable."""

    def __init__(self) -> None:
        self._stopwatches: dict[TopicPartition, Stopwatch] = {}
        self._groups: dict[str, TopicPartition] = {}
        """Group: its partition of the offsets topic."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Appended: self._on_appended,
            ev.PartitionStalled: self._on_stalled,
            ev.PartitionResumed: self._on_resumed,
            ev.TopicDeleted: self._on_topic_deleted,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the unavailability of partitions and groups in a run that ended at *ended_us*."""
        for stopwatch in self._stopwatches.values():
            stopwatch.end(ended_us)
        read = {
            str(tp): stopwatch
            for tp, stopwatch in sorted(self._stopwatches.items())
            if tp.topic != OFFSETS_TOPIC
        }
        committed = {
            group: self._stopwatches.get(tp, Stopwatch())
            for group, tp in sorted(self._groups.items())
        }
        return Reading(
            values={**_values("unreadable", read), **_values("commits_unavailable", committed)},
            tables={
                "unreadable.by_partition": _table(read),
                "commits_unavailable.by_group": _table(committed),
            },
        )

    def _on_appended(self, _: ev.Event, what: ev.Appended) -> None:
        self._groups[what.group] = TopicPartition(OFFSETS_TOPIC, what.log_partition)

    def _on_stalled(self, event: ev.Event, what: ev.PartitionStalled) -> None:
        self._stopwatches.setdefault(what.partition, Stopwatch()).begin(event.at_us)

    def _on_resumed(self, event: ev.Event, what: ev.PartitionResumed) -> None:
        self._stopwatches.setdefault(what.partition, Stopwatch()).end(event.at_us)

    def _on_topic_deleted(self, event: ev.Event, what: ev.TopicDeleted) -> None:
        for tp, stopwatch in self._stopwatches.items():
            if tp.topic == what.topic:
                stopwatch.end(event.at_us)


def _values(name: str, stopwatches: Mapping[str, Stopwatch]) -> dict[str, int | float]:
    return {
        f"{name}_total_s": seconds(sum(stopwatch.total_us for stopwatch in stopwatches.values())),
        f"{name}_max_s": longest(stopwatch.longest_us for stopwatch in stopwatches.values()),
    }


def _table(stopwatches: Mapping[str, Stopwatch]) -> dict[str, int | float]:
    return in_seconds(
        {name: stopwatch.total_us for name, stopwatch in stopwatches.items() if stopwatch.total_us}
    )
