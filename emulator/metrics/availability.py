"""Measure how long failed brokers kept groups from reading new records or from committing.

A partition is unreadable while its high watermark cannot advance: its leader is down, or an in-sync
replica is down that the leader has not removed from the ISR yet. A group cannot commit while that
holds for its offsets partition, or while no coordinator has loaded it. Owners keep their partitions
meanwhile, so this is not downtime; the time that consumers need to recover afterwards is not
included either.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.metrics.downtime import Spell
from emulator.metrics.readings import Handler, Reading, in_seconds, longest, seconds


class AvailabilityMeter:
    """Watches topic partitions, and each group's partition of the offsets topic."""

    def __init__(self) -> None:
        self._spells: dict[TopicPartition, Spell] = {}
        self._groups: dict[str, TopicPartition] = {}
        """Group: its partition of the offsets topic."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Appended: self._appended,
            ev.PartitionStalled: self._stalled,
            ev.PartitionResumed: self._resumed,
            ev.TopicDeleted: self._topic_deleted,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the unavailability of partitions and groups in a run that ended at *ended_us*."""
        for spell in self._spells.values():
            spell.end(ended_us)
        read = {
            str(tp): spell
            for tp, spell in sorted(self._spells.items())
            if tp.topic != OFFSETS_TOPIC
        }
        committed = {
            group: self._spells.get(tp, Spell()) for group, tp in sorted(self._groups.items())
        }
        return Reading(
            values={**_values("unreadable", read), **_values("commits_unavailable", committed)},
            tables={
                "unreadable.by_partition": _table(read),
                "commits_unavailable.by_group": _table(committed),
            },
        )

    def _appended(self, _: ev.Event, what: ev.Appended) -> None:
        self._groups[what.group] = TopicPartition(OFFSETS_TOPIC, what.log_partition)

    def _stalled(self, event: ev.Event, what: ev.PartitionStalled) -> None:
        self._spells.setdefault(what.partition, Spell()).begin(event.at_us)

    def _resumed(self, event: ev.Event, what: ev.PartitionResumed) -> None:
        self._spells.setdefault(what.partition, Spell()).end(event.at_us)

    def _topic_deleted(self, event: ev.Event, what: ev.TopicDeleted) -> None:
        for tp, spell in self._spells.items():
            if tp.topic == what.topic:
                spell.end(event.at_us)


def _values(name: str, spells: Mapping[str, Spell]) -> dict[str, int | float]:
    return {
        f"{name}_total_s": seconds(sum(spell.total_us for spell in spells.values())),
        f"{name}_max_s": longest(spell.longest_us for spell in spells.values()),
    }


def _table(spells: Mapping[str, Spell]) -> dict[str, int | float]:
    return in_seconds({name: spell.total_us for name, spell in spells.items() if spell.total_us})
