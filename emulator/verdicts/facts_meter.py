"""Follow a run: faults, processes, the members of each group, and its progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.members import EVICTIONS
from emulator.metrics.readings import Handler
from emulator.verdicts.facts import (
    LEFT_BY_ITSELF,
    OF_POSITIONS,
    POLL_TOO_LATE,
    Facts,
    FoundLate,
    GroupEnd,
    Lasting,
    Missed,
    OfDeleted,
    Repeated,
    Skipped,
    StoppedDeploy,
)
from emulator.verdicts.group import Failure, GroupFacts, Killed, Process, Refusals
from emulator.verdicts.switching import BY_COORDINATOR

CLOSES = frozenset({"close", "restart"})
"""The verbs that close a member."""

DEPLOY = "rolling_restart"
"""The verb of a deploy: a rolling restart."""

GIVE_UP = "give_up"
"""The verb of a rolling restart that stops before its end."""

POISON = "poison"
"""The verb of a record that takes long or fails, which has no end."""

UNKNOWN_TOPIC = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"})
"""The errors of commits that name a deleted topic, by protocol; clients repeat them."""


class FactsMeter:
    """Follows a run; pass every event of its ``kinds`` to ``feed``, then call ``close`` once."""

    def __init__(self) -> None:
        self._groups = defaultdict[str, GroupFacts](GroupFacts)
        self._incarnations: dict[str, int] = {}
        self._running: set[Process] = set()
        self._ended_us: dict[Process, int] = {}
        self._killed: dict[Process, bool] = {}
        """The processes that were killed, and whether their group rebalanced then."""

        self._missed: list[Missed] = []
        self._refused: dict[int | None, Missed] = {}
        self._refused_seeks: dict[int | None, Missed] = {}
        """Acts ``seek`` of which a part was refused and no part took effect, by their first event."""

        self._stopped_deploys: list[StoppedDeploy] = []
        self._lasting: dict[str, Lasting] = {}
        self._paused: set[str] = set()
        self._closing: set[str] = set()
        self._assigning: dict[str, int] = {}
        self._slow_records: dict[str, None] = {}
        self._created_us: dict[str, int] = {}
        """Topic: when it was created or got partitions after the start of the run."""

        self._found: dict[tuple[str, str], int] = {}
        self._log_starts: dict[str, tuple[int, ...]] = {}
        self._skipped: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        """Group and partition: the first offset, and the one at which the first owner started."""

        self._deleted: set[str] = set()
        self._log_ends: dict[TopicPartition, int] = {}
        self._lag_unit = "record"
        self._disturbed_us = 0
        """When the last fault began or ended."""

        self._now_us = 0
        self._handlers = self._handlers_by_event()
        self.kinds: Final = frozenset(self._handlers)

    def _handlers_by_event(self) -> dict[type, Handler]:
        return {
            ev.FaultBegan: self._on_fault_began,
            ev.FaultEnded: self._on_fault_ended,
            ev.FaultMissed: self._on_fault_missed,
            ev.ActRefused: self._on_refused,
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.MemberAdded: self._on_added,
            ev.MemberRemoved: self._on_removed,
            ev.RebalanceStarted: self._on_rebalance,
            ev.GroupEpochRaised: self._on_rebalance,
            ev.JoinPhaseEnded: self._on_joined,
            ev.GroupStabilised: self._on_stable,
            ev.GroupEmptied: self._on_emptied,
            ev.GroupConverted: self._on_converted,
            ev.CoordinatorMoved: self._on_moved,
            ev.ConsumerPaused: lambda _, what: self._paused.add(what.consumer),
            ev.ConsumerResumed: lambda _, what: self._paused.discard(what.consumer),
            ev.AssignorRan: self._on_assignor,
            ev.ClientDropped: self._on_dropped,
            ev.ListenerThrew: self._on_threw,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.LagSampled: self._on_sampled,
            ev.TopicCreated: self._on_created,
            ev.PartitionsAdded: self._on_created,
            ev.TopicDeleted: lambda _, what: self._deleted.add(what.topic),
            ev.CommitRefused: self._on_commit_refused,
            ev.OffsetGaps: self._on_gaps,
            ev.RecordsCompacted: self._on_gaps,
            ev.RunEnded: self._on_ended,
        }

    def feed(self, event: ev.Event) -> None:
        """Follow one event."""
        self._now_us = event.at_us
        handler = self._handlers.get(type(event.what))
        if handler is not None and not ev.by_replaced_coordinator(event.what):
            handler(event, event.what)

    def close(self) -> Facts:
        """Return the facts of a finished run."""
        return Facts(
            ended_us=self._now_us,
            groups=tuple(self._end_of(name) for name in sorted(self._groups)),
            missed=(*self._refused_seeks.values(), *self._missed),
            refused=tuple(self._refused.values()),
            lasting=tuple(self._lasting.values()),
            found=(*self._found_late(), *self._never_found()),
            stopped_deploys=tuple(self._stopped_deploys),
            skipped=tuple(
                Skipped(group, partition.topic, start - first)
                for (group, partition), (first, start) in sorted(self._skipped.items())
            ),
            slow_records=tuple(self._slow_records),
            lag_unit=self._lag_unit,
        )

    def _found_late(self) -> Iterator[FoundLate]:
        """Yield the new topics and partitions that got owners."""
        for key, after_us in sorted(self._found.items()):
            yield FoundLate(*key, after_us)

    def _never_found(self) -> Iterator[FoundLate]:
        """Yield the new topics and partitions that running groups read, and that got no owner."""
        for name, group in sorted(self._groups.items()):
            sampled, starts = group.progress.sampled, group.progress.starts
            if sampled is None or not any(
                each.consumer in group.consumers for each in self._running
            ):
                continue
            missing = {each.topic for each in sampled.partitions if each not in starts}
            for topic in sorted(missing & self._created_us.keys()):
                yield FoundLate(name, topic, self._now_us - self._created_us[topic], is_found=False)

    def _end_of(self, name: str) -> GroupEnd:
        group = self._groups[name]
        absent = {
            process.consumer
            for process in group.members.values()
            if process.consumer and process not in self._running
        }
        return GroupEnd(
            group=name,
            rebalancing_since_us=group.rebalancing_since_us,
            absent=tuple(sorted(absent)),
            consumers=len(group.consumers),
            running=self._running_of(group),
            failures=tuple(group.failures),
            removed_in_close=tuple(group.removed_in_close),
            killed=tuple(group.killed),
            by_heartbeat=frozenset(group.by_heartbeat),
            removed_assigning=tuple(group.removed_assigning),
            thrown=tuple(Repeated(*key, times) for key, times in group.thrown.items()),
            loops=tuple(Repeated(*key, times) for key, times in group.loops.most_common()),
            of_deleted=tuple(
                OfDeleted(*key, found.error, found.most, found.longest_us)
                for key, found in group.of_deleted.items()
            ),
            stuck=tuple(group.progress.stuck(self._disturbed_us)),
            stalled=tuple(group.progress.stalled()),
            growth=group.progress.growth(self._disturbed_us),
            waiting=group.progress.waiting(self._log_ends),
            longest_wait=group.waits.longest,
            interrupted=group.interruptions.interrupted(
                (self._created_us.keys() | self._deleted)
                & {partition.topic for partition in group.progress.starts}
            ),
            switched=group.switching.switched,
        )

    # -- faults ------------------------------------------------------------------------------

    def _on_fault_began(self, event: ev.Event, what: ev.FaultBegan) -> None:
        """Note a fault that ends; the steps of a rolling restart have a cause."""
        self._disturbed_us = event.at_us
        if what.verb in CLOSES:
            self._closing.add(what.target)
        if what.verb == DEPLOY and event.cause is None:
            deployed = self._deployed(what.target)
            deployed.switching.deploy(self._running_of(deployed))
        if what.verb == GIVE_UP:
            group, _, why = what.target.partition(" stops: ")
            self._stopped_deploys.append(StoppedDeploy(group, why))
        if what.verb == POISON:
            self._slow_records.setdefault(what.target.partition(" at ")[0])
        elif event.cause is None:
            self._lasting[what.fault] = Lasting(what.fault, what.verb, what.target)

    def _deployed(self, target: str) -> GroupFacts:
        """Return the group of a deploy; its *target* may end in changed settings, in parentheses."""
        names = [name for name in self._groups if f"{target} (".startswith(f"{name} (")]
        return self._groups[max(names, key=len, default=target)]

    def _running_of(self, group: GroupFacts) -> int:
        return sum(process.consumer in group.consumers for process in self._running)

    def _on_fault_ended(self, event: ev.Event, what: ev.FaultEnded) -> None:
        self._disturbed_us = event.at_us
        self._lasting.pop(what.fault, None)

    def _on_fault_missed(self, _: ev.Event, what: ev.FaultMissed) -> None:
        self._missed.append(Missed(what.fault, what.why, what.needless))

    def _on_refused(self, event: ev.Event, what: ev.ActRefused) -> None:
        refused = self._refused_seeks if what.verb in OF_POSITIONS else self._refused
        refused.setdefault(event.cause, Missed(what.fault, what.why or what.error))

    # -- processes and members ---------------------------------------------------------------

    def _on_started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        self._incarnations[what.consumer] = what.incarnation
        self._running.add(Process(what.consumer, what.incarnation))
        self._paused.discard(what.consumer)
        self._closing.discard(what.consumer)
        self._groups[what.group].consumers.add(what.consumer)

    def _on_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        process = self._process(what.consumer)
        self._running.discard(process)
        self._ended_us[process] = event.at_us
        self._closing.discard(what.consumer)
        if what.how == ev.End.KILLED:
            since_us = self._groups[what.group].rebalancing_since_us
            self._killed[process] = since_us is not None
        elif what.how == ev.End.FAILED:
            self._groups[what.group].failures.append(Failure(what.consumer, what.reason))

    def _on_assignor(self, event: ev.Event, what: ev.AssignorRan) -> None:
        self._assigning[what.consumer] = event.at_us + what.takes_us

    def _process(self, consumer: str) -> Process:
        return Process(consumer, self._incarnations.get(consumer, 0))

    def _on_added(self, _: ev.Event, what: ev.MemberAdded) -> None:
        group = self._groups[what.group]
        if what.protocol == "consumer" and not group.by_coordinator:
            group.by_coordinator = True
            group.switching.assign(BY_COORDINATOR)
        joins = (
            group.by_heartbeat.add if what.protocol == "consumer" else group.by_heartbeat.discard
        )
        joins(what.consumer)
        group.members.pop(what.replaced, None)
        group.members[what.member_id] = self._process(what.consumer)

    def _on_removed(self, event: ev.Event, what: ev.MemberRemoved) -> None:
        group = self._groups[what.group]
        process = group.members.pop(what.member_id, None)
        ended_us = self._ended_us.get(process) if process else None
        group.waits.remove(event.at_us, what.consumer, what.why, ended_us)
        if process in self._killed and what.why in EVICTIONS:
            assert ended_us is not None, "a killed process has ended"
            group.killed.append(
                Killed(
                    what.consumer,
                    what.why,
                    waited_us=event.at_us - ended_us,
                    restarted=self._process(what.consumer) != process,
                    rebalancing=self._killed[process],
                )
            )
        living = process in self._running and what.consumer not in self._paused
        if what.why not in EVICTIONS or not living:
            return
        if what.consumer in self._closing:
            group.removed_in_close.append(Failure(what.consumer, what.why))
        elif self._assigning.get(what.consumer, 0) > event.at_us:
            group.removed_assigning.append(Failure(what.consumer, what.why))
        else:
            group.loops[what.consumer, what.why] += 1

    def _on_threw(self, _: ev.Event, what: ev.ListenerThrew) -> None:
        self._groups[what.group].thrown[what.consumer, what.call] += 1

    def _on_dropped(self, _: ev.Event, what: ev.ClientDropped) -> None:
        if what.reason in LEFT_BY_ITSELF:
            self._groups[what.group].loops[what.consumer, POLL_TOO_LATE] += 1

    def _on_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        group = self._groups[what.group]
        topic = what.partition.topic
        if topic in self._created_us and what.partition not in group.progress.starts:
            self._found[what.group, topic] = event.at_us - self._created_us[topic]
        self._note_skipped(what, is_first=what.partition not in group.progress.starts)
        group.progress.open(event.at_us, what.partition, what.offset, what.consumer)
        group.interruptions.open(what.partition, what.consumer)
        if what.source == ev.PositionSource.SEEK:
            self._refused_seeks.pop(event.cause, None)

    def _note_skipped(self, what: ev.EpochOpened, *, is_first: bool) -> None:
        """Note what a first owner skips that starts at the end; one that goes back reads it."""
        key = what.group, what.partition
        if is_first and what.source == ev.PositionSource.LATEST:
            starts = self._log_starts.get(what.partition.topic, ())
            first = (
                starts[what.partition.partition] if what.partition.partition < len(starts) else 0
            )
            self._skipped[key] = first, what.offset
        elif key in self._skipped and what.offset < self._skipped[key][1]:
            self._skipped[key] = self._skipped[key][0], max(what.offset, self._skipped[key][0])

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        if what.why == ev.End.REVOKED:
            group = self._groups[what.group]
            group.waits.revoke(what.consumer)
            group.interruptions.revoke(what.partition, what.consumer)

    def _on_ended(self, _: ev.Event, what: ev.RunEnded) -> None:
        self._log_ends = dict(what.log_ends)

    def _on_gaps(self, _: ev.Event, _what: ev.OffsetGaps | ev.RecordsCompacted) -> None:
        self._lag_unit = "offset"

    def _on_created(self, event: ev.Event, what: ev.TopicCreated | ev.PartitionsAdded) -> None:
        if isinstance(what, ev.TopicCreated):
            self._log_starts[what.topic] = what.log_starts
            self._deleted.discard(what.topic)
        if event.at_us:
            self._created_us[what.topic] = event.at_us

    def _on_commit_refused(self, event: ev.Event, what: ev.CommitRefused) -> None:
        if what.error not in UNKNOWN_TOPIC:
            return
        of_deleted = self._groups[what.group].of_deleted
        for topic in sorted({partition.topic for partition, _ in what.offsets} & self._deleted):
            first = Refusals(what.error, event.at_us, event.at_us)
            of_deleted.setdefault((what.consumer, topic), first).add(event.at_us)

    def _on_sampled(self, event: ev.Event, what: ev.LagSampled) -> None:
        self._groups[what.group].progress.sample(event.at_us, what)

    # -- groups ------------------------------------------------------------------------------

    def _on_rebalance(
        self, event: ev.Event, what: ev.RebalanceStarted | ev.GroupEpochRaised
    ) -> None:
        group = self._groups[what.group]
        if group.rebalancing_since_us is None:
            group.rebalancing_since_us = event.at_us
        group.interruptions.begin(what.reason)
        if isinstance(what, ev.RebalanceStarted):
            group.waits.begin(event.at_us, what.consumer)

    def _on_joined(self, event: ev.Event, what: ev.JoinPhaseEnded) -> None:
        """Begin a classic generation with the members of the event."""
        group = self._groups[what.group]
        group.keep(what.consumers)
        group.waits.join(event.at_us)
        group.interruptions.join()
        group.switching.assign(what.protocol)

    def _on_stable(self, _: ev.Event, what: ev.GroupStabilised | ev.GroupEmptied) -> None:
        group = self._groups[what.group]
        group.rebalancing_since_us = None
        group.waits.syncing = False

    def _on_emptied(self, event: ev.Event, what: ev.GroupEmptied) -> None:
        self._groups[what.group].members.clear()
        self._on_stable(event, what)

    def _on_converted(self, _: ev.Event, what: ev.GroupConverted) -> None:
        group = self._groups[what.group]
        group.by_coordinator = what.protocol == "consumer"
        group.rebalancing_since_us = None
        if group.by_coordinator:
            group.switching.assign(BY_COORDINATOR)

    def _on_moved(self, _: ev.Event, what: ev.CoordinatorMoved) -> None:
        """Apply a load: a loaded classic group is in the generation of its record."""
        group = self._groups[what.group]
        group.waits.syncing = False
        if not group.by_coordinator:
            group.rebalancing_since_us = None
