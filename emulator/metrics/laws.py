"""Check laws on the events of a run.

A broken law is an internal error of the emulator (or a fault of a real cluster). A finding about
what a scenario does on purpose, such as committing ahead of processing, is a warning. Laws about the
state of a protocol machine are checked in ``emulator/world``.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.events.run import records_between
from emulator.ledger.cluster import Coordinators
from emulator.ledger.entries import EntryKind, Ledger
from emulator.metrics.readings import Handler, Reader, readers_with, readers_without

if TYPE_CHECKING:
    from emulator.events.offsets import Removed
    from emulator.metrics.grants import Grants

RETENTION_RESET = ev.ResetReason.OUT_OF_RANGE
"""The reason of a position reset after retention removed the records, without any fault."""

BEFORE_RESTART = -1
"""The generation of epochs that were opened before the group's generation restarted."""


class Law(enum.StrEnum):
    """A rule that must hold, or the subject of a warning."""

    ONE_OWNER = "one owner of a partition in one generation"
    GENERATIONS_RISE = "generations never fall"
    NO_GAPS = "an owner processes without gaps or repeats"
    SUMS_AGREE = "entries and causes add up to the totals"
    QUIET_IS_EMPTY = "an undisturbed run has an empty ledger"
    COMMIT_AHEAD = "commit ahead of processing"
    GIVEN_TWICE = "a partition assigned twice"
    TAKEN_UNHEARD = "a partition taken from a member that was about to own it"
    FAULT_MISSED = "a fault that did not fire"
    ACT_REFUSED = "an action that was refused"


class Severity(enum.StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken law or a warning."""

    law: Law
    """Which invariant is violated, or which warning it is."""

    severity: Severity
    message: str
    event: int | None = None
    """The id of the event at which it was found."""

    at_us: int | None = None
    times: int = 1
    """Number of occurrences; event and time are of the first."""


class LawChecker:
    """Checks the laws; pass every event to ``feed``, then call ``close`` once.

    *shared_assignors*: names of assignors that intentionally assign a partition to several members.
    """

    def __init__(self, shared_assignors: Collection[str] = ()) -> None:
        self._disturbed = False
        self._findings: dict[tuple[Law, str], Finding] = {}
        self._generations: dict[str, int] = {}
        self._started_us: dict[str, int] = {}
        self._instances: dict[str, str | None] = {}
        self._coordinators = Coordinators()
        self._may_restart: set[str] = set()
        """Groups that became empty or whose coordinator moved: their generation may restart."""

        self._protocols: dict[str, str] = {}
        self._gaps: dict[tuple[str, str], ev.OffsetGaps] = {}
        """The topics with offsets that hold no record."""

        self._removed: dict[TopicPartition, Removed] = {}
        """The records that compaction removed."""

        self._grants: Grants | None = None
        """What the coordinator gives to members of the consumer protocol; None: there are none."""

        self._readers = defaultdict[str, dict[TopicPartition, tuple[Reader, ...]]](dict)
        """The open epochs of each group's partitions, one a consumer."""

        self._shared = frozenset(shared_assignors)
        self._working = False
        """Whether the group was stable, or a member has begun to read."""

        self._warned: set[tuple[str, int, TopicPartition]] = set()
        self.handlers: Final = self._coordinators.before(self._table())
        """What checks an event, by its type."""

    def feed(self, event: ev.Event) -> None:
        """Check one event."""
        for handler in self.handlers.get(type(event.what), ()):
            handler(event, event.what)

    def close(self, ledger: Ledger, *, mistaken_policy: bool = False) -> tuple[Finding, ...]:
        """Return all findings, errors first, then in order of the first event.

        *mistaken_policy*: a commit policy of the run reprocesses or loses records by itself.
        """
        try:
            ledger.check()
        except AssertionError as broken:
            self._find(None, Law.SUMS_AGREE, Severity.ERROR, "", f"totals differ: {broken}")
        counted = ledger.total(EntryKind.REPROCESSED) + ledger.total(EntryKind.LOST)
        if counted and not self._disturbed and not mistaken_policy:
            text = f"the run was undisturbed, but {counted} records are in the ledger"
            self._find(None, Law.QUIET_IS_EMPTY, Severity.ERROR, "", text)
        found = self._findings.values()
        return tuple(sorted(found, key=lambda f: (f.severity, f.at_us or 0, f.law, f.message)))

    def _table(self) -> dict[type, Handler]:
        return {
            ev.FaultBegan: self._on_disturbance,
            ev.FaultMissed: self._on_missed,
            ev.ActRefused: self._on_refused,
            ev.MessageLost: self._on_disturbance,
            ev.OffsetsDropped: self._on_disturbance,
            ev.StoreRestored: self._on_disturbance,
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.TopicCreated: self._on_change,
            ev.OffsetGaps: self._on_gaps,
            ev.RecordsCompacted: self._on_compacted,
            ev.PartitionsAdded: self._on_change,
            ev.MemberAdded: self._on_change,
            ev.MemberMoved: self._on_moved,
            ev.MemberRemoved: self._on_removed,
            ev.RebalanceStarted: self._on_change,
            ev.TargetComputed: self._on_change,
            ev.JoinPhaseEnded: self._on_joined,
            ev.AssignmentWarning: self._on_assignment_warning,
            ev.GroupStabilised: self._on_stabilised,
            ev.GroupConverted: self._on_converted,
            ev.GroupEmptied: self._on_emptied,
            ev.CoordinatorMoved: self._on_generation_reset,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed_out_of_order,
            ev.NotProcessed: self._on_not_processed,
            ev.CommitSent: self._on_sent,
            ev.CommitsCounted: self._on_counted,
        }

    def _find(
        self, event: ev.Event | None, law: Law, severity: Severity, subject: str, message: str
    ) -> None:
        """Add a finding, or count it if the same law has a finding about the same subject."""
        old = self._findings.get((law, subject))
        if old is not None:
            new = Finding(law, severity, old.message, old.event, old.at_us, old.times + 1)
        elif event is None:
            new = Finding(law, severity, message)
        else:
            new = Finding(law, severity, message, event.id, event.at_us)
        self._findings[law, subject] = new

    # -- disturbances ------------------------------------------------------------------------

    def _on_disturbance(self, _: ev.Event, _what: object) -> None:
        self._disturbed = True

    def _on_missed(self, _: ev.Event, what: ev.FaultMissed) -> None:
        text = f"did not fire: {what.fault}, {what.target}: {what.why}"
        self._find(None, Law.FAULT_MISSED, Severity.WARNING, what.fault, text)

    def _on_refused(self, event: ev.Event, what: ev.ActRefused) -> None:
        reason = ": ".join(part for part in (what.error, what.why) if part)
        text = f"refused: {what.fault}, {what.target}: {reason}"
        self._find(event, Law.ACT_REFUSED, Severity.WARNING, what.fault, text)

    def _on_change(self, _: ev.Event, _what: object) -> None:
        """Count a change as a disturbance unless it came before the group began to work.

        Not each comes from a fault: a member whose request times out joins again.
        """
        self._disturbed |= self._working

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._started_us[what.consumer] = event.at_us
        self._disturbed |= self._working
        self._instances[what.consumer] = what.instance_id

    def _on_stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._disturbed |= self._working
        for of_group in self._readers.values():
            for partition, readers in of_group.items():
                of_group[partition] = readers_without(readers, what.consumer)

    # -- generations and owners --------------------------------------------------------------

    def _on_joined(self, _: ev.Event, what: ev.JoinPhaseEnded) -> None:
        self._protocols[what.group] = what.protocol

    def _on_generation_reset(self, _: ev.Event, what: ev.CoordinatorMoved) -> None:
        self._may_restart.add(what.group)

    def _on_emptied(self, _: ev.Event, what: ev.GroupEmptied) -> None:
        """Allow the generation to restart: an empty group without offsets is deleted."""
        self._may_restart.add(what.group)
        self._set_back_readers(what.group)

    def _on_converted(self, _: ev.Event, what: ev.GroupConverted) -> None:
        """Allow an empty group's generation to restart; with members, the count continues."""
        self._protocols.pop(what.group, None)
        if what.members:
            return
        self._may_restart.add(what.group)
        self._set_back_readers(what.group)

    def _set_back_readers(self, group: str) -> None:
        """Note that the open epochs of a group without members belong to no later generation."""
        for readers in self._readers[group].values():
            for reading in readers:
                reading.generation = BEFORE_RESTART

    def _on_assignment_warning(self, event: ev.Event, what: ev.AssignmentWarning) -> None:
        self._disturbed = True
        self._warned.add((what.group, what.generation, what.partition))
        text = (
            f"{what.assignor} assigned {what.partition} to {', '.join(what.consumers)} "
            f"without declaring exclusive = False"
        )
        self._find(event, Law.GIVEN_TWICE, Severity.WARNING, what.assignor, text)

    def _on_stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        self._working = True
        if not ev.by_replaced_coordinator(what):
            self._check_generation(event, what)
        if not self._may_share(what.group):
            self._check_assignment(event, what)

    def _check_generation(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        """Check the count of the group's own coordinator; a replaced one has a count of its own."""
        before = self._generations.get(what.group, what.generation)
        if what.generation < before and what.group not in self._may_restart:
            text = f"{what.group} went from generation {before} to {what.generation}"
            self._find(event, Law.GENERATIONS_RISE, Severity.ERROR, what.group, text)
        self._generations[what.group] = what.generation
        self._may_restart.discard(what.group)

    def _split(self, group: str) -> bool:
        """Return whether two coordinators count the generations of a group separately."""
        return self._coordinators.of(group).split is not None

    def _may_share(self, group: str) -> bool:
        return self._protocols.get(group, "") in self._shared

    def _check_assignment(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        owners: dict[TopicPartition, str] = {}
        for name, partitions in what.assignment:
            for partition in partitions:
                other = owners.setdefault(partition, name)
                if other != name and (what.group, what.generation, partition) not in self._warned:
                    text = f"generation {what.generation} assigns {partition} to {other} and {name}"
                    self._find(event, Law.ONE_OWNER, Severity.ERROR, what.group, text)

    def _on_moved(self, _: ev.Event, what: ev.MemberMoved) -> None:
        if self._grants is None:
            from emulator.metrics.grants import Grants  # noqa: PLC0415  classic groups have none

            self._grants = Grants()
        self._grants.move(what)

    def _on_removed(self, _: ev.Event, what: ev.MemberRemoved) -> None:
        self._disturbed |= self._working  # such as a member whose batch takes too long
        if self._grants is not None:
            self._grants.remove(what)

    # -- processing and commits --------------------------------------------------------------

    def _on_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        self._working = True
        self._disturbed |= what.why == RETENTION_RESET
        of_group = self._readers[what.group]
        readers = of_group.get(what.partition, ())
        for other in readers:
            if self._collide(what, other):
                self._two_owners(event, what, other.consumer)
        gaps = self._gaps_of(what.group, what.partition)
        reader = Reader(what.consumer, what.generation, what.offset, gaps=gaps)
        of_group[what.partition] = readers_with(readers, reader)

    def _two_owners(self, event: ev.Event, what: ev.EpochOpened, name: str) -> None:
        text = f"{name} and {what.consumer} both own {what.partition} in one generation"
        for each in (name, what.consumer):
            if self._grants and self._grants.is_taken(what.group, each, what.partition):
                text += f"; the coordinator took it from {each}, which was about to own it"
                self._find(event, Law.TAKEN_UNHEARD, Severity.WARNING, each, text)
                return
        self._find(event, Law.ONE_OWNER, Severity.ERROR, what.consumer, text)

    def _collide(self, what: ev.EpochOpened, other: Reader) -> bool:
        """Return whether two owners break the law; a replaced static instance does not."""
        name = other.consumer
        if name == what.consumer or other.generation != what.generation or what.generation < 0:
            return False
        if (what.group, what.generation, what.partition) in self._warned:
            return False
        instance = self._instances.get(name)
        replaced = instance is not None and instance == self._instances.get(what.consumer)
        return not (replaced or self._may_share(what.group) or self._split(what.group))

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        if self._grants is not None:
            self._grants.close(what)
        of_group = self._readers[what.group]
        left = readers_without(of_group.get(what.partition, ()), what.consumer)
        of_group[what.partition] = left

    def _reader(self, what: ev.Work | ev.NotProcessed) -> Reader | None:
        """Return the open epoch of a consumer."""
        for each in self._readers[what.group].get(what.partition, ()):
            if each.consumer == what.consumer:
                return each
        return None

    def _on_processed(self, event: ev.Event, what: ev.Processed | ev.ProgressCounted) -> None:
        reading = self._reader(what)
        if reading is None or what.began_us < self._started_us.get(what.consumer, 0):
            return  # a database has committed the work of an earlier process
        at, first = reading.cursor, what.first
        if at != first and self._records(what.group, what.partition, at, first):
            text = f"{what.consumer} was at {at} of {what.partition}, then {first}"
            self._find(event, Law.NO_GAPS, Severity.ERROR, what.consumer, text)
        reading.move(what.next_offset)

    def _records(self, group: str, partition: TopicPartition, first: int, end: int) -> int:
        """Return the number of records in a range of offsets; below 0 if it goes backwards."""
        return records_between(self._gaps_of(group, partition), first, end)

    def _gaps_of(self, group: str, tp: TopicPartition) -> ev.OffsetGaps | Removed | None:
        known = self._gaps.get((group, tp.topic)) or self._gaps.get(("", tp.topic))
        return known or self._removed.get(tp)

    def _on_compacted(self, _: ev.Event, what: ev.RecordsCompacted) -> None:
        """Note removed records; a consumer that had fetched some of them still has these."""
        from emulator.events.offsets import Removed  # noqa: PLC0415  few runs have one

        tp, gone = what.partition, Removed.of(what.ranges)
        self._removed[tp] = self._removed.get(tp, Removed()).plus(gone.ranges)
        fetched = {consumer: (first, end) for consumer, first, end in what.fetched}
        for of_group in self._readers.values():
            for reading in of_group.get(tp, ()):
                left = gone.minus(*fetched.get(reading.consumer, (0, 0)))
                known = reading.gaps if isinstance(reading.gaps, Removed) else Removed()
                reading.gaps = known.plus(left.ranges)

    def _on_gaps(self, _: ev.Event, what: ev.OffsetGaps) -> None:
        self._gaps[what.group, what.topic] = what

    def _on_processed_out_of_order(self, _: ev.Event, what: ev.ProcessedOutOfOrder) -> None:
        reading = self._reader(what)
        if reading is not None and not what.earlier_epoch:
            if reading.out_of_order is None:
                reading.out_of_order = {}
            reading.out_of_order[what.first] = what.next_offset

    def _on_not_processed(self, _: ev.Event, what: ev.NotProcessed) -> None:
        reading = self._reader(what)
        if reading is not None:
            reading.move(what.next_offset)

    def _on_sent(self, event: ev.Event, what: ev.CommitSent) -> None:
        for (partition, offset), done in zip(what.offsets, what.processed, strict=True):
            if offset > done >= 0 and self._records(what.group, partition, done, offset):
                risk = f"has not processed all records from {done} on: a crash now loses those"
                text = f"{what.consumer} commits offset {offset} of {partition} and {risk}"
                self._find(event, Law.COMMIT_AHEAD, Severity.WARNING, what.consumer, text)
                return

    def _on_counted(self, _: ev.Event, what: ev.CommitsCounted) -> None:
        """Count commits ahead of processing: the first one of the consumer had an event of its own."""
        if what.ahead:
            key = Law.COMMIT_AHEAD, what.consumer
            found = self._findings[key]
            self._findings[key] = replace(found, times=found.times + what.ahead)
