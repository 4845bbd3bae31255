"""Measure lag: its peak, its sum over time, and the time of lag recovery after a fault.

*Committed* lag is the end of the log minus the committed offset, as monitors see it; *processed*
lag is the end minus the offset up to which the present or last owner has processed. Both are sums
over the partitions of a group. Between samples, lag is taken to be that of the last sample. If
nothing is committed, or a partition never had an owner, its whole log counts. A consumer whose
position is beyond the end of a truncated log has no lag.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import sub

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.readings import Handler, Number, Reading, Row, longest, seconds

BASELINE_SAMPLES = 10
"""The level before a fault is the maximum of this many samples, plus one record per partition."""


@dataclass(slots=True)
class Curve:
    """A quantity sampled over time."""

    now: int = 0
    at_us: int | None = None
    peak: int = 0
    peak_partition: int = 0
    area: int = 0
    """Unit: record-microseconds."""

    def sample(self, lags: list[int], at_us: int) -> None:
        """Add a sample: the lag of each partition at *at_us*."""
        self.close(at_us)
        self.now = sum(lags)
        self.peak = max(self.peak, self.now)
        self.peak_partition = max(self.peak_partition, max(lags, default=0))

    def close(self, at_us: int) -> None:
        """Extend the last sample to *at_us*."""
        if self.at_us is not None:
            self.area += self.now * (at_us - self.at_us)
        self.at_us = at_us


@dataclass(slots=True)
class LagRecovery:
    """The lag recovery after one fault: from the fault until lag is back at its previous level."""

    fault: str
    group: str
    began_us: int
    level: int
    recovered_us: int | None = None
    rose: bool = False

    def lasted_us(self, ended_us: int) -> int:
        """Return the duration of the recovery, up to the end of the run if it did not complete."""
        return (ended_us if self.recovered_us is None else self.recovered_us) - self.began_us


@dataclass(slots=True)
class GroupLag:
    """The lag of one group."""

    committed: Curve = field(default_factory=Curve)
    processed: Curve = field(default_factory=Curve)
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=BASELINE_SAMPLES))


class LagMeter:
    """Measures the lag of every group from its samples."""

    def __init__(self) -> None:
        self._recoveries: list[LagRecovery] = []
        self._groups: dict[str, GroupLag] = {}
        self._log_starts: dict[str, tuple[int, ...]] = {}
        self._pending: list[LagRecovery] = []
        """Recoveries that have not completed."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.TopicCreated: self._on_topic_created,
            ev.FaultBegan: self._on_fault_began,
            ev.LagSampled: self._on_sampled,
        }

    def read(self, ended_us: int) -> Reading:
        """Return lag over a run that ended at *ended_us*."""
        for lag in self._groups.values():
            lag.committed.close(ended_us)
            lag.processed.close(ended_us)
        values: dict[str, Number] = {}
        tables: dict[str, dict[str, Number]] = {}
        for kind in ("committed", "processed"):
            curves: dict[str, Curve] = {
                name: getattr(lag, kind) for name, lag in sorted(self._groups.items())
            }
            peaks = {name: curve.peak for name, curve in curves.items()}
            tables[f"lag_{kind}_peak.by_group"] = {**peaks}
            values[f"lag_{kind}_peak"] = max(peaks.values(), default=0)
            values[f"lag_{kind}_peak_partition"] = max(
                (curve.peak_partition for curve in curves.values()), default=0
            )
            values[f"lag_{kind}_area"] = seconds(sum(curve.area for curve in curves.values()))
        rose = [recovery for recovery in self._recoveries if recovery.rose]
        values["lag_recovery_max_s"] = longest(recovery.lasted_us(ended_us) for recovery in rose)
        values["lag_unrecovered"] = sum(recovery.recovered_us is None for recovery in rose)
        rows = tuple(_row(recovery, ended_us) for recovery in rose)
        return Reading(values, tables, {"lag_recoveries": rows})

    def _on_topic_created(self, _: ev.Event, what: ev.TopicCreated) -> None:
        self._log_starts[what.topic] = what.log_starts

    def _on_fault_began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        self._pending = [recovery for recovery in self._pending if recovery.rose]
        for name, lag in self._groups.items():
            recovery = LagRecovery(what.fault, name, event.at_us, max(lag.recent, default=0))
            self._recoveries.append(recovery)
            self._pending.append(recovery)

    def _on_sampled(self, event: ev.Event, what: ev.LagSampled) -> None:
        lag = self._groups.setdefault(what.group, GroupLag())
        lag.committed.sample(self._lags(what, what.committed), event.at_us)
        lag.processed.sample(self._lags(what, what.processed), event.at_us)
        lag.recent.append(lag.processed.now)
        if self._pending:
            noise = len(what.partitions)
            self._update_recoveries(what.group, lag.processed.now - noise, event.at_us)

    def _lags(self, what: ev.LagSampled, reached: tuple[int, ...]) -> list[int]:
        if min(reached, default=0) < 0:
            reached = tuple(
                self._log_start(partition) if offset < 0 else offset
                for partition, offset in zip(what.partitions, reached, strict=True)
            )
        behind = map(sub, what.log_ends, reached)
        return [max(lag, 0) for lag in behind]

    def _log_start(self, partition: TopicPartition) -> int:
        starts = self._log_starts.get(partition.topic, ())
        return starts[partition.partition] if partition.partition < len(starts) else 0

    def _update_recoveries(self, group: str, lag: int, at_us: int) -> None:
        """End the recoveries whose level *lag* has reached, if lag rose since their fault."""
        for recovery in [each for each in self._pending if each.group == group]:
            if lag > recovery.level:
                recovery.rose = True
            elif recovery.rose:
                recovery.recovered_us = at_us
                self._pending.remove(recovery)


def _row(recovery: LagRecovery, ended_us: int) -> Row:
    return {
        "fault": recovery.fault,
        "group": recovery.group,
        "level": recovery.level,
        "recovery_s": seconds(recovery.lasted_us(ended_us)),
        "recovered": recovery.recovered_us is not None,
    }
