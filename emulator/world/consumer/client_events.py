"""Write the facts of clients and the actions of applications as events with causes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from emulator import events
from emulator.world.cluster.coordinator_events import commit_name
from emulator.world.cluster.shards import OffsetsTopic
from emulator.world.consumer.handling.handler import Ending
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.run import Run
from protocols import facts
from protocols.consumer.fetch_buffer import Handed
from protocols.messages.errors import ErrorCode
from protocols.values import recorded

if TYPE_CHECKING:
    from emulator.scenario.model import Poison
    from emulator.world.consumer.handling.poison import Rule


class ClientEvents:
    """Writes the events of clients."""

    def __init__(self, run: Run, offsets_topic: OffsetsTopic) -> None:
        self._run = run
        self._causes = run.causes
        self._offsets_topic = offsets_topic
        self._poisoned: dict[Poison, int] = {}
        self._writers: dict[type, Callable[[ConsumerProcess, Any], None]] = {
            facts.EpochOpened: self._epoch_opened,
            facts.CommitSent: self._commit_sent,
            facts.CommitAnswered: self._commit_answered,
            facts.CommitRefused: self._commit_refused,
            facts.AssignorFailed: self._assignor_failed,
            facts.AssignmentWarning: self._given_twice,
            facts.ClientDropped: self._dropped,
        }

    def write(self, process: ConsumerProcess, fact: facts.Fact) -> None:
        """Write a fact of a process's client, if it is an event."""
        writer = self._writers.get(type(fact))
        if writer is not None:
            writer(process, fact)

    def _write(self, what: events.ControlEvent, cause: int | None = None) -> int:
        return self._run.recorder.write(what, cause)

    def _epoch_opened(self, process: ConsumerProcess, fact: facts.EpochOpened) -> None:
        consumer, group = process.blueprint.name, process.blueprint.group.id
        why = fact.why
        if why == "no offset":
            why = self._offsets_topic.shard_of(group).why_missing(group, fact.partition)
        generation = process.client.state.generation.id
        opened = recorded(fact, consumer=consumer, group=group, generation=generation, why=why)
        cause = self._causes.called.get(consumer)
        if process.application.busy and process.blueprint.group.is_serial:
            # a client in the background resets positions beside the work on what it handed out
            process.settle()
            process.progress.retire(fact.partition, "reopened", cause)
        process.progress.open(opened, cause)

    def _commit_sent(self, process: ConsumerProcess, fact: facts.CommitSent) -> None:
        process.settle()
        name = commit_name(process.name, fact.correlation_id)
        process.progress.write_all([partition for partition, _ in fact.offsets])
        sent = recorded(
            fact,
            consumer=process.blueprint.name,
            group=process.blueprint.group.id,
            commit=name,
            kind=str(fact.kind),
            processed=_processed(process, fact.offsets),
        )
        self._run.recorder.write_data(sent)

    def _commit_answered(self, process: ConsumerProcess, fact: facts.CommitAnswered) -> None:
        name = commit_name(process.name, fact.correlation_id)
        consumer, group = process.blueprint.name, process.blueprint.group.id
        cause = self._causes.commits.pop(name, None)
        answered = recorded(fact, consumer=consumer, group=group, commit=name)
        if events.is_data_event(answered):
            self._run.recorder.write_data(answered)
        else:
            self._write(answered, cause)
        self._on_outcome(process, fact)

    def _commit_refused(self, process: ConsumerProcess, fact: facts.CommitRefused) -> None:
        name = commit_name(process.name, fact.correlation_id)
        consumer, group = process.blueprint.name, process.blueprint.group.id
        cause = self._causes.commits.pop(name, None)
        refused = recorded(fact, consumer=consumer, group=group, commit=name)
        behind = self._causes.behind_refusal(consumer, group) or cause
        self._causes.refused[consumer] = self._write(refused, behind)
        self._on_outcome(process, fact)

    def _on_outcome(
        self, process: ConsumerProcess, fact: facts.CommitAnswered | facts.CommitRefused
    ) -> None:
        self._run.triggers.reached(process.blueprint.name, "commit answered")
        if fact.kind == facts.CommitKind.ASYNC and fact.error != ErrorCode.NONE.name:
            process.application.commits.async_failed(fact.requested)
        store = self._run.stores.get(process.blueprint.group.id)
        if store is not None and fact.error == ErrorCode.NONE.name:
            store.accepted(process, fact.requested)

    def _assignor_failed(self, process: ConsumerProcess, fact: facts.AssignorFailed) -> None:
        group = process.blueprint.group.id
        failed = recorded(fact, group=group, consumer=process.blueprint.name)
        self._write(failed, self._causes.joined.get(group))

    def _given_twice(self, process: ConsumerProcess, fact: facts.AssignmentWarning) -> None:
        group = process.blueprint.group.id
        consumers = tuple(map(self._run.consumer, fact.member_ids))
        warning = recorded(fact, group=group, consumers=consumers)
        self._write(warning, self._causes.joined.get(group))

    def _dropped(self, process: ConsumerProcess, fact: facts.ClientDropped) -> None:
        consumer = process.blueprint.name
        dropped = recorded(fact, consumer=consumer, group=process.blueprint.group.id)
        cause = self._causes.removed.get(consumer, self._causes.disturbed.get(consumer))
        self._causes.dropped[consumer] = self._write(dropped, cause)

    def poison_met(self, process: ConsumerProcess, ranges: Iterable[Handed]) -> None:
        """Write that work on a poisoned record is about to begin: the root of what follows.

        Every consumer that gets the record later is disturbed by the same event.
        """
        consumer = process.blueprint.name
        for rule in process.blueprint.poison.rules if process.blueprint.poison else ():
            for part in ranges:
                offset = rule.first_in(part)
                if offset is not None:
                    record = f"record {offset} of {part.partition}"
                    self._causes.disturbed[consumer] = self._met(rule, record, consumer)

    def _met(self, rule: Rule, record: str, consumer: str) -> int:
        event = self._poisoned.get(rule.poison)
        if event is None:
            event = self._poisoned[rule.poison] = self._write(
                events.FaultBegan(
                    fault=f"poison-{rule.number}", verb="poison", target=f"{record} at {consumer}"
                )
            )
        return event

    def started(self, process: ConsumerProcess, incarnation: int, cause: int | None) -> None:
        """Write that a process has started."""
        consumer = process.blueprint.name
        started = events.ConsumerStarted(
            consumer=consumer,
            group=process.blueprint.group.id,
            incarnation=incarnation,
            instance_id=process.blueprint.settings.group_instance_id,
        )
        self._causes.started[consumer] = self._write(started, cause)

    def polled(self, process: ConsumerProcess, records: Iterable[Handed]) -> None:
        """Write a poll that returned records."""
        polled = events.Polled(
            consumer=process.blueprint.name,
            group=process.blueprint.group.id,
            generation=process.client.state.generation.id,
            ranges=tuple((part.partition, part.first, part.next_offset) for part in records),
        )
        self._run.recorder.write_data(polled)

    def subscribed(self, process: ConsumerProcess, topics: tuple[str, ...]) -> None:
        """Write that a running consumer subscribes to other topics."""
        consumer, group = process.blueprint.name, process.blueprint.group.id
        changed = events.SubscriptionChanged(consumer=consumer, group=group, topics=topics)
        self._causes.membership[group] = self._write(changed, self._causes.disturbed.get(consumer))

    def listened(self, process: ConsumerProcess, call: events.ListenerCalled) -> int:
        """Write a listener call; return its event."""
        causes = self._causes
        by_epochs = process.blueprint.settings.group_protocol == "consumer"
        if call.call != "lost" and (by_epochs or call.consumer in causes.moved):
            cause = causes.moved.get(call.consumer)
        elif call.call == "assigned":
            cause = causes.stable.get(call.group)
        elif call.call == "revoked":
            cause = causes.rebalance.get(call.group)
        else:
            cause = causes.dropped.get(call.consumer)
        if process.application.ending is Ending.BEGUN:
            cause = causes.disturbed.get(call.consumer)
        event = self._write(call, cause)
        causes.called[call.consumer] = event
        return event


def _processed(process: ConsumerProcess, offsets: events.Offsets) -> tuple[int, ...]:
    """Return the end of what was processed when a commit was made, of each partition; -1: it has none.

    Workers may have finished more since the application chose the offset: that is no mistake of it.
    """
    blueprint, progress = process.blueprint, process.progress
    ends = [progress.done(tp) for tp, _ in offsets]
    done = [-1 if end is None else end for end in ends]
    if not (blueprint.group.is_serial or blueprint.commit.off_by_one):
        done = [min(end, offset) for end, (_, offset) in zip(done, offsets, strict=True)]
    return tuple(done)
