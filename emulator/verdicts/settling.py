"""Decide during a run whether it has settled, so that it can end.

A run has settled when all faults have ended, every group is stable with living members only, has
processed and committed the records that had been produced when this became so, and lags no more than
before the first fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.recovery import BASELINE_SAMPLES
from emulator.verdicts.facts_meter import FactsMeter

Ends = dict[TopicPartition, int]


class Settling:
    """Follows a run after a :class:`FactsMeter`; pass every event to ``feed``.

    *faults*: the ids of all faults and acts. *committing*: the groups that commit offsets; of other
    groups, only what they processed counts. *not_before_us*: when the last member starts, the last
    topic is created and the last fault begins.
    """

    def __init__(
        self,
        facts: FactsMeter,
        *,
        groups: Iterable[str],
        committing: Collection[str],
        faults: Iterable[str],
        not_before_us: int,
    ) -> None:
        self._facts = facts
        self._committing = committing
        self._pending = set(faults)
        self._not_before_us = not_before_us
        self._groups = tuple(groups)
        self._sampled: dict[str, ev.LagSampled] = {}
        self._disturbed = False
        self._lags: dict[str, deque[int]] = {}
        """Group: its last lags before the first fault."""

        self._ends: dict[str, Ends] | None = None
        """The ends of the logs when the groups became stable after the last fault."""

        self._now_us = 0

    def feed(self, event: ev.Event) -> None:
        """Follow one event."""
        self._now_us = event.at_us
        what = event.what
        if isinstance(what, ev.LagSampled):
            self._sampled[what.group] = what
            if not self._disturbed:
                lags = self._lags.setdefault(what.group, deque(maxlen=BASELINE_SAMPLES))
                lags.append(_lag(what))
        elif isinstance(what, ev.FaultBegan):
            self._disturbed = True
        elif isinstance(what, ev.FaultEnded):
            self._pending.discard(what.fault)

    def is_far(self) -> bool:
        """Return whether a fault has not ended: the run goes on until it has."""
        return bool(self._pending)

    def settled(self) -> bool:
        """Return whether the run may end; call it after the samples of all groups."""
        if self._pending or self._now_us < self._not_before_us or not self._calm():
            self._ends = None
            return False
        if self._ends is None:
            self._ends = {name: _ends(self._sampled[name]) for name in self._groups}
            return False
        return all(self._reached(name, self._ends[name]) for name in self._groups)

    def _calm(self) -> bool:
        """Return whether every group is stable and has no members without a process."""
        groups = {group.group: group for group in self._facts.close().groups}
        return all(
            name in groups
            and name in self._sampled
            and groups[name].rebalancing_since_us is None
            and not groups[name].absent
            for name in self._groups
        )

    def _reached(self, group: str, ends: Ends) -> bool:
        """Return whether a group has reached *ends*, and lags no more than before the faults."""
        sampled = self._sampled[group]
        if _lag(sampled) > max(self._lags.get(group, (0,))) + len(sampled.partitions):
            return False
        reached = sampled.committed if group in self._committing else sampled.processed
        return all(
            offset >= ends.get(partition, 0) or not ends.get(partition, 0)
            for partition, offset in zip(sampled.partitions, reached, strict=True)
        )


def _lag(sampled: ev.LagSampled) -> int:
    """Return the records of a group that were produced and not processed."""
    behind = zip(sampled.log_ends, sampled.processed, strict=True)
    return sum(max(end - max(processed, 0), 0) for end, processed in behind)


def _ends(sampled: ev.LagSampled) -> Ends:
    return dict(zip(sampled.partitions, sampled.log_ends, strict=True))
