"""Measure lag, how long it lasts, and how fast groups recover from faults.

*Committed* lag is the end of the log minus the committed offset, as monitors see it; *processed*
lag is the end minus the offset up to which the current or last owner has processed. Both are sums
over the partitions of a group. Between samples, lag is taken to be that of the last sample. If
nothing is committed, or a partition never had an owner, its whole log counts. A consumer whose
position is beyond the end of a truncated log has no lag.

A *takeover* is measured for each partition that a faulted member owned when the fault began: the
time until another incarnation (of any consumer) began the first record it processed of that
partition. If the action starts a member, all owned partitions are observed, and those that move
count. The next owner ends the observation: if it loses the partition before its first record, in a
rebalance or with its process, the takeover ends when it became owner. A later fault replaces an
earlier one for the same partition. A partition is no longer observed once its owner has survived the
fault and committed again.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from operator import sub

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.metrics.readings import Handler, Key, Number, Reading, Row, longest, seconds

BASELINE_SAMPLES = 10
"""The level before a fault is the maximum of this many samples, plus one record per partition."""


DRAINED = 10
"""A backlog is drained when lag is its peak divided by this."""


@dataclass(slots=True)
class Curve:
    """A quantity sampled over time."""

    now: int = 0
    at_us: int | None = None
    peak: int = 0
    peak_us: int = 0
    peak_partition: int = 0
    drained_us: int | None = None
    """When it was a tenth of its peak again, or a record per partition; None: not since the peak."""

    area: int = 0
    """Unit: record-microseconds."""

    def sample(self, lags: list[int], at_us: int) -> None:
        """Add a sample: the lag of each partition at *at_us*."""
        self.close(at_us)
        self.now = sum(lags)
        if self.now > self.peak:
            self.peak, self.peak_us, self.drained_us = self.now, at_us, None
        elif self.drained_us is None and self.now <= max(self.peak // DRAINED, len(lags)):
            self.drained_us = at_us
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
        rows = tuple(_recovery_row(recovery, ended_us) for recovery in rose)
        backlogs = tuple(_backlogs(self._groups))
        drained_s = [row["drained_s"] for row in backlogs]
        values["lag_drain_max_s"] = max((each for each in drained_s if each is not None), default=0)
        return Reading(
            values,
            tables,
            {"lag_recoveries": rows, "backlogs": backlogs},
            frozenset({"lag_drain_max_s"} if None in drained_s else ()),
        )

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


def _backlogs(groups: Mapping[str, GroupLag]) -> Iterator[Row]:
    """Yield the highest processed lag of each group that had any, and how long it lasted."""
    for name, lag in sorted(groups.items()):
        curve = lag.processed
        if curve.peak:
            drained = curve.drained_us
            yield {
                "group": name,
                "peak": curve.peak,
                "peak_s": seconds(curve.peak_us),
                "drained_s": None if drained is None else seconds(drained - curve.peak_us),
            }


def _recovery_row(recovery: LagRecovery, ended_us: int) -> Row:
    return {
        "fault": recovery.fault,
        "group": recovery.group,
        "level": recovery.level,
        "recovery_s": seconds(recovery.lasted_us(ended_us)),
        "recovered": recovery.recovered_us is not None,
    }


WITHOUT_TAKEOVER = frozenset({"takeover_first_s", "takeover_last_s"})
"""The metrics that have no value if nothing was taken over."""

_WORDS = re.compile(r"[^\s,|<>()\[\]]+")

Incarnation = tuple[str, int]


@dataclass(slots=True)
class FaultTakeover:
    """One fault: how many partitions it affects, and the time until each was taken over."""

    fault: str
    at_us: int
    partitions: int
    ended: ev.Instant | None = None
    taken_us: list[int] = field(default_factory=list)


@dataclass(slots=True)
class PendingPartition:
    """A partition that is observed until another incarnation processes its records."""

    takeover: FaultTakeover
    owner: Incarnation
    next_owner: Incarnation | None = None
    owned_us: int = 0
    """When the next owner became the owner."""

    previous: PendingPartition | None = None
    """The takeover of the previous fault, if its new owner has not processed a record yet."""

    def is_taken_by(self, worker: Incarnation, began_us: int) -> bool:
        """Return whether work that began at *began_us* ends this takeover."""
        return worker != self.owner and began_us >= self.takeover.at_us

    def owned_by(self, owner: Incarnation, at_us: int) -> None:
        """Note the next owner, and when it became the owner."""
        for each in (self, self.previous):
            if each is not None and each.next_owner is None and each.owner != owner:
                each.next_owner, each.owned_us = owner, at_us


class TakeoverMeter:
    """Measures the time until other incarnations process a faulted member's partitions."""

    def __init__(self) -> None:
        self._takeovers: list[FaultTakeover] = []
        self._owned: dict[str, dict[Key, None]] = {}
        self._incarnations: dict[str, int] = {}
        self._pending: dict[Key, PendingPartition] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.FaultBegan: self._on_began,
            ev.FaultEnded: self._on_ended,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
            ev.CommitAccepted: self._on_accepted,
            ev.OffsetsStored: self._on_accepted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the takeovers of each fault that had any."""
        takeovers = [takeover for takeover in self._takeovers if takeover.taken_us]
        return Reading(
            values={
                "takeover_first_s": longest(min(takeover.taken_us) for takeover in takeovers),
                "takeover_last_s": longest(max(takeover.taken_us) for takeover in takeovers),
            },
            listings={"takeovers": tuple(_takeover_row(takeover) for takeover in takeovers)},
            without_value=frozenset() if takeovers else WITHOUT_TAKEOVER,
        )

    def _on_started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        self._incarnations[what.consumer] = what.incarnation
        self._owned.setdefault(what.consumer, {}).clear()

    def _on_stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        for key in list(self._owned.setdefault(what.consumer, {})):
            self._lose(what.consumer, key)

    def _on_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        key = (what.group, what.partition)
        self._owned.setdefault(what.consumer, {})[key] = None
        pending = self._pending.get(key)
        if pending is not None:
            pending.owned_by(self._incarnation(what.consumer), event.at_us)

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        self._lose(what.consumer, (what.group, what.partition))

    def _incarnation(self, consumer: str) -> Incarnation:
        return consumer, self._incarnations.get(consumer, 0)

    def _lose(self, consumer: str, key: Key) -> None:
        """End an owner, and the takeovers in which it was the next owner and processed no record yet."""
        self._owned.setdefault(consumer, {}).pop(key, None)
        newest, owner = self._pending.get(key), self._incarnation(consumer)
        if newest is None:
            return
        older = newest.previous
        if older is not None and older.next_owner == owner:
            older.takeover.taken_us.append(older.owned_us - older.takeover.at_us)
            newest.previous = None
        if newest.next_owner == owner:
            newest.takeover.taken_us.append(newest.owned_us - newest.takeover.at_us)
            del self._pending[key]

    def _on_began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        targets = [word for word in _WORDS.findall(what.target) if word in self._owned]
        affected = list(self._owned) if what.verb == "start" else targets
        takeover = FaultTakeover(what.fault, event.at_us, 0)
        for name in affected:
            owner = self._incarnation(name)
            for key in self._owned[name]:
                self._observe(key, PendingPartition(takeover, owner))
                takeover.partitions += 1
        if takeover.partitions:
            self._takeovers.append(takeover)

    def _observe(self, key: Key, pending: PendingPartition) -> None:
        """Observe a partition; for the previous fault, too, if its owner has changed since."""
        known = self._pending.get(key)
        if known is not None and known.owner != pending.owner:
            known.previous, pending.previous = None, known
        elif known is not None:
            pending.previous = known.previous
        self._pending[key] = pending

    def _on_ended(self, event: ev.Event, what: ev.FaultEnded) -> None:
        for pending in self._pending.values():
            if pending.takeover.fault == what.fault:
                pending.takeover.ended = event.instant

    def _on_processed(self, _: ev.Event, what: ev.Work) -> None:
        if not self._pending:
            return
        key, worker = (what.group, what.partition), self._incarnation(what.consumer)
        newest = self._pending.get(key)
        if newest is None:
            return
        older, began_us = newest.previous, what.began_us
        if older is not None and older.is_taken_by(worker, began_us):
            older.takeover.taken_us.append(began_us - older.takeover.at_us)
            newest.previous = None
        if newest.is_taken_by(worker, began_us):
            newest.takeover.taken_us.append(began_us - newest.takeover.at_us)
            del self._pending[key]

    def _on_accepted(self, event: ev.Event, what: ev.CommitAccepted | ev.OffsetsStored) -> None:
        if not self._pending:
            return
        sender = self._incarnation(what.consumer)
        for partition, _offset in what.offsets:
            pending = self._pending.get((what.group, partition))
            if pending is None or pending.owner != sender:
                continue
            ended = pending.takeover.ended
            if ended is not None and event.instant > ended:
                del self._pending[what.group, partition]


def _takeover_row(takeover: FaultTakeover) -> Row:
    return {
        "fault": takeover.fault,
        "at_s": seconds(takeover.at_us),
        "partitions": takeover.partitions,
        "taken_over": len(takeover.taken_us),
        "first_s": seconds(min(takeover.taken_us)),
        "last_s": seconds(max(takeover.taken_us)),
    }
