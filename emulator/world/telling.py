"""What machines tell, as events: with names of consumers for member ids, and with causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from emulator import events
from emulator.scenario.model import Poison
from emulator.world.consumer.handler import Ending
from emulator.world.epoch_telling import EpochEventWriter
from protocols import facts
from protocols.consumer.fetching import Handed
from protocols.machine import Send, Step
from protocols.messages import Envelope, JoinGroupRequest, SyncGroupRequest
from protocols.messages.errors import ErrorCode

if TYPE_CHECKING:
    from emulator.world.cluster.hosts import Host
    from emulator.world.consumer.process import Process
    from emulator.world.run import Run


def commit_name(process: str, correlation_id: int) -> str:
    """Return what a commit is called in events."""
    return f"{process}#{correlation_id}"


class EventWriter:
    """Turns facts into events."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._causes = run.causes
        self._names: dict[str, str] = {}
        self._poisoned: dict[Poison, int] = {}
        epochs = EpochEventWriter(run, self.consumer)
        self._clients: dict[type, Callable[[Process, Any], None]] = {
            facts.PositionSet: self._position_set,
            facts.CommitSent: self._commit_sent,
            facts.CommitEnded: self._commit_ended,
            facts.AssignorFailed: self._assignor_failed,
            facts.PartitionGivenTwice: self._given_twice,
            facts.Dropped: self._dropped,
        }
        self._coordinators: dict[type, Callable[[Host, Any], None]] = {
            facts.MemberAdded: self._member_added,
            facts.MemberRemoved: self._member_removed,
            facts.RebalanceStarted: self._rebalance_started,
            facts.JoinPhaseEnded: self._join_phase_ended,
            facts.GroupStabilised: self._stabilised,
            facts.GroupEmptied: self._emptied,
            facts.OffsetsAccepted: self._accepted,
            facts.OffsetsRefused: self._refused,
            facts.OffsetsDropped: self._offsets_dropped,
            facts.GroupConverted: epochs.converted,
            facts.GroupEpochRaised: epochs.epoch_raised,
            facts.TargetComputed: epochs.target_computed,
            facts.MemberMoved: epochs.member_moved,
        }

    def client(self, process: Process, fact: facts.Fact) -> None:
        """Write what a process's client tells."""
        tell = self._clients.get(type(fact))
        if tell is not None:
            tell(process, fact)

    def coordinator(self, host: Host, fact: facts.Fact) -> None:
        """Write what a coordinator tells."""
        tell = self._coordinators.get(type(fact))
        if tell is not None:
            tell(host, fact)

    def consumer(self, member_id: str) -> str:
        """Return the consumer a member id was given to."""
        return self._names.get(member_id, member_id)

    def _write(self, what: events.What, cause: int | None = None) -> int:
        return self._run.recorder.write(what, cause)

    # -- clients ---------------------------------------------------------------------------------

    def _position_set(self, process: Process, fact: facts.PositionSet) -> None:
        generation = process.client.state.generation.id
        group = process.blueprint.group.id
        why = fact.why
        if why == "no offset":
            why = self._run.shard_of(group).why_missing(group, fact.partition)
        cause = self._causes.called.get(process.blueprint.name)
        process.progress.open(fact, generation, why, cause)

    def _commit_sent(self, process: Process, fact: facts.CommitSent) -> None:
        process.settle()
        name = commit_name(process.name, fact.correlation_id)
        partitions = [entry.partition for entry in fact.offsets]
        process.progress.write_all(partitions)
        done = [process.progress.done(tp) for tp in partitions]
        sent = events.CommitSent(
            consumer=process.blueprint.name,
            group=process.blueprint.group.id,
            generation=fact.generation,
            commit=name,
            kind=fact.kind,
            offsets=tuple((entry.partition, entry.offset) for entry in fact.offsets),
            processed=tuple(-1 if end is None else end for end in done),
        )
        self._causes.commits[name] = self._write(sent)

    def _commit_ended(self, process: Process, fact: facts.CommitEnded) -> None:
        name = commit_name(process.name, fact.correlation_id)
        consumer, group = process.blueprint.name, process.blueprint.group.id
        cause = self._causes.commits.pop(name, None)
        if fact.refused_locally:
            refused = events.CommitRefused(
                consumer=consumer,
                group=group,
                generation=process.client.state.generation.id,
                commit=name,
                error=fact.error.name,
                by="client",
                offsets=tuple((entry.partition, entry.offset) for entry in fact.offsets),
            )
            behind = self._causes.behind_refusal(consumer, group) or cause
            self._causes.refused[consumer] = self._write(refused, behind)
        else:
            answered = events.CommitAnswered(
                consumer=consumer, group=group, commit=name, error=fact.error.name
            )
            self._write(answered, cause)
        self._run.triggers.reached(consumer, "commit answered")
        if fact.kind == "async" and fact.error is not ErrorCode.NONE:
            process.application.commits.async_failed(fact.offsets)

    def _assignor_failed(self, process: Process, fact: facts.AssignorFailed) -> None:
        failed = events.AssignorFailed(
            group=process.blueprint.group.id,
            consumer=process.blueprint.name,
            assignor=fact.name,
            message=fact.message,
        )
        self._write(failed, self._causes.joined.get(process.blueprint.group.id))

    def _given_twice(self, process: Process, fact: facts.PartitionGivenTwice) -> None:
        warning = events.AssignmentWarning(
            group=process.blueprint.group.id,
            generation=fact.generation,
            assignor=fact.assignor,
            partition=fact.partition,
            consumers=tuple(self.consumer(member) for member in fact.member_ids),
        )
        self._write(warning, self._causes.joined.get(process.blueprint.group.id))

    def _dropped(self, process: Process, fact: facts.Dropped) -> None:
        consumer = process.blueprint.name
        dropped = events.ClientDropped(
            consumer=consumer, group=process.blueprint.group.id, reason=fact.reason
        )
        cause = self._causes.removed.get(consumer, self._causes.disturbed.get(consumer))
        self._causes.dropped[consumer] = self._write(dropped, cause)

    def handed(self, process: Process, ranges: tuple[Handed, ...]) -> None:
        """Write that a poisoned record is about to be worked on: the root of what follows.

        Whoever else gets the record later is disturbed by the same event.
        """
        consumer = process.blueprint.name
        for number, poison in enumerate(process.blueprint.group.poison, 1):
            tp = TopicPartition(poison.topic, poison.partition)
            for part in ranges:
                if part.partition == tp and part.first <= poison.offset < part.next_offset:
                    self._causes.disturbed[consumer] = self._met(poison, number, consumer)

    def _met(self, poison: Poison, number: int, consumer: str) -> int:
        event = self._poisoned.get(poison)
        if event is None:
            record = f"record {poison.offset} of {poison.topic}-{poison.partition}"
            event = self._poisoned[poison] = self._write(
                events.FaultBegan(
                    fault=f"poison-{number}", verb="poison", target=f"{record} at {consumer}"
                )
            )
        return event

    def listened(self, process: Process, heard: events.ListenerCalled) -> int:
        """Write a listener call; return its event."""
        causes = self._causes
        by_epochs = process.blueprint.settings.group_protocol == "consumer"
        if heard.call != "lost" and (by_epochs or heard.consumer in causes.moved):
            cause = causes.moved.get(heard.consumer)
        elif heard.call == "assigned":
            cause = causes.stable.get(heard.group)
        elif heard.call == "revoked":
            cause = causes.rebalance.get(heard.group)
        else:
            cause = causes.dropped.get(heard.consumer)
        if process.application.ending is Ending.BEGUN:
            cause = causes.disturbed.get(heard.consumer)
        event = self._write(heard, cause)
        causes.called[heard.consumer] = event
        return event

    # -- coordinators ----------------------------------------------------------------------------

    def handled(self, envelope: Envelope, step: Step[Any]) -> None:
        """Note that a coordinator lets a JoinGroup or SyncGroup wait, where a fault is aimed so."""
        triggers = self._run.triggers
        if triggers.idle or not isinstance(envelope.body, JoinGroupRequest | SyncGroupRequest):
            return
        if any(
            isinstance(effect, Send) and effect.to == envelope.header for effect in step.effects
        ):
            return
        kind = type(envelope.body).__name__.removesuffix("Request")
        triggers.reached_later(self._sender(envelope.header.client), f"{kind} parked")

    def _member_added(self, _: Host, fact: facts.MemberAdded) -> None:
        consumer = self._sender(fact.client)
        self._names[fact.member_id] = consumer
        added = events.MemberAdded(
            group=fact.group,
            consumer=consumer,
            member_id=fact.member_id,
            replaced=fact.replaced or "",
            protocol=fact.protocol,
        )
        event = self._write(added, self._causes.behind_arrival(consumer))
        self._causes.membership[fact.group] = event

    def _member_removed(self, _: Host, fact: facts.MemberRemoved) -> None:
        consumer = self.consumer(fact.member_id)
        why = str(fact.why)
        removed = events.MemberRemoved(
            group=fact.group, consumer=consumer, member_id=fact.member_id, why=why
        )
        event = self._write(removed, self._causes.behind_departure(consumer))
        self._causes.removed[consumer] = event
        self._causes.membership[fact.group] = event

    def _rebalance_started(self, _: Host, fact: facts.RebalanceStarted) -> None:
        started = events.RebalanceStarted(
            group=fact.group,
            generation=fact.generation,
            reason=fact.reason,
            consumer=self.consumer(fact.member_id),
        )
        cause = self._causes.behind_rebalance(fact.group, fact.reason)
        self._causes.rebalance[fact.group] = self._write(started, cause)

    def _join_phase_ended(self, _: Host, fact: facts.JoinPhaseEnded) -> None:
        ended = events.JoinPhaseEnded(
            group=fact.group,
            generation=fact.generation,
            protocol=fact.protocol or "",
            leader=self.consumer(fact.leader or ""),
            consumers=tuple(self.consumer(member) for member in fact.members),
        )
        cause = self._causes.rebalance.get(fact.group)
        self._causes.joined[fact.group] = self._write(ended, cause)
        for consumer in ended.consumers:
            self._run.triggers.reached_later(consumer, "join phase ended")

    def _stabilised(self, _: Host, fact: facts.GroupStabilised) -> None:
        stable = events.GroupStabilised(
            group=fact.group,
            generation=fact.generation,
            assignment=tuple(
                (self.consumer(member), partitions) for member, partitions in fact.assignment
            ),
        )
        self._causes.stable[fact.group] = self._write(stable, self._causes.joined.get(fact.group))
        for consumer, _given in stable.assignment:
            self._run.triggers.reached_later(consumer, "group stable")

    def _emptied(self, _: Host, fact: facts.GroupEmptied) -> None:
        emptied = events.GroupEmptied(group=fact.group, generation=fact.generation)
        self._write(emptied, self._causes.membership.get(fact.group))

    def _accepted(self, host: Host, fact: facts.OffsetsAccepted) -> None:
        name = commit_name(fact.header.client, fact.header.correlation_id)
        accepted = events.CommitAccepted(
            consumer=self._sender(fact.header.client),
            group=fact.group,
            generation=fact.generation,
            commit=name,
            offsets=tuple((entry.partition, entry.offset) for entry in fact.offsets),
            log_offset=host.log_end,
            high_watermark=host.log.high_watermark,
            leader_epoch=host.log.epoch,
            broker=host.broker,
            log_partition=host.log_partition,
        )
        event = self._write(accepted, self._causes.commits.get(name))
        self._remember(fact.header.client, name, event)
        self._run.triggers.reached_later(accepted.consumer, "commit appended")

    def _refused(self, _: Host, fact: facts.OffsetsRefused) -> None:
        self.refused(fact)

    def refused(self, fact: facts.OffsetsRefused) -> None:
        """Write that a commit was refused, by a coordinator or where there is none."""
        name = commit_name(fact.header.client, fact.header.correlation_id)
        consumer = self._sender(fact.header.client)
        refused = events.CommitRefused(
            consumer=consumer,
            group=fact.group,
            generation=fact.generation,
            commit=name,
            error=fact.error.name,
            by="coordinator",
            offsets=tuple((entry.partition, entry.offset) for entry in fact.offsets),
        )
        cause = self._causes.behind_refusal(consumer, fact.group)
        event = self._write(refused, cause or self._causes.commits.get(name))
        self._causes.refused[consumer] = event
        self._remember(fact.header.client, name, event)

    def _remember(self, client: str, commit: str, event: int) -> None:
        if self._run.consumers.process(client) is None:
            self._causes.commits.pop(commit, None)
        else:
            self._causes.commits[commit] = event

    def _sender(self, client: str) -> str:
        return client.rpartition(".")[0]

    def _offsets_dropped(self, host: Host, fact: facts.OffsetsDropped) -> None:
        dropped = events.OffsetsDropped(
            group=fact.group,
            partitions=fact.partitions,
            why=fact.why,
            members=_members(host, fact.group),
        )
        self._write(dropped, self._causes.behind_drop(fact.group, fact.why))


def _members(host: Host, group: str) -> int:
    """Return how many members a group has now; none if it is gone."""
    known = host.coordinator.state.groups.get(group)
    return 0 if known is None else len(known.members)
