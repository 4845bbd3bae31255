"""A history written by hand: every method is one event, with names as short as they can be."""

from __future__ import annotations

from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Ledger

GROUP = "billing"
P0 = TopicPartition("orders", 0)
P1 = TopicPartition("orders", 1)

TICK_US = 1_000


@dataclass
class History:
    """Collects events; the clock moves a millisecond with each."""

    events: list[ev.Event] = field(default_factory=list)
    now_us: int = 0
    cause: int | None = None
    controls: int = 0
    """The number of control events so far."""

    _commits: int = 0

    def say(self, what: ev.What, cause: int | None = None) -> int:
        self.now_us += TICK_US
        cause = self.cause if cause is None else cause
        number = -1 if ev.is_data_event(what) else self.controls
        self.controls += number >= 0
        event_id = None if number < 0 else number
        self.events.append(ev.Event(event_id, self.now_us, cause, what, len(self.events)))
        return number

    def write_late(self, kind: type) -> None:
        """Write the last event of a kind only now; it keeps its time."""
        late = [event for event in self.events if isinstance(event.what, kind)][-1]
        events = [event for event in self.events if event is not late] + [late]
        self.events[:] = [event._replace(row=row) for row, event in enumerate(events)]

    def wait(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)

    def of(self, kind, name, **fields):
        """Add an event of a consumer of the group."""
        return self.say(kind(consumer=name, group=GROUP, **fields))

    # topics, faults, processes

    def topic(self, name="orders", topic_id="T1", starts=(0, 0)):
        return self.say(ev.TopicCreated(topic=name, topic_id=topic_id, log_starts=starts))

    def grow(self, partitions, name="orders", topic_id="T1"):
        return self.say(ev.PartitionsAdded(topic=name, topic_id=topic_id, partitions=partitions))

    def delete_topic(self, name="orders", topic_id="T1"):
        return self.say(ev.TopicDeleted(topic=name, topic_id=topic_id))

    def fault(self, fault="f1", verb="crash", target="a"):
        return self.say(ev.FaultBegan(fault=fault, verb=verb, target=target))

    def fault_over(self, fault="f1", verb="crash", target="a"):
        return self.say(ev.FaultEnded(fault=fault, verb=verb, target=target))

    def start(self, *names, incarnation=1, instance_id=None):
        for name in names:
            started = ev.ConsumerStarted(
                consumer=name, group=GROUP, incarnation=incarnation, instance_id=instance_id
            )
            self.say(started)

    def stop(self, name, how="crashed"):
        return self.of(ev.ConsumerStopped, name, how=how)

    def pause(self, name):
        return self.say(ev.ConsumerPaused(consumer=name))

    def resume(self, name):
        return self.say(ev.ConsumerResumed(consumer=name))

    def listener(self, name, call, partition=P0, generation=1):
        return self.of(
            ev.ListenerCalled,
            name,
            generation=generation,
            call=call,
            partitions=(partition,),
            began_us=self.now_us,
        )

    # epochs and work

    def open(self, name, partition=P0, offset=0, source="committed", why="", generation=1):
        return self.of(
            ev.EpochOpened,
            name,
            generation=generation,
            partition=partition,
            offset=offset,
            source=source,
            why=why,
        )

    def work(self, name, first, next_offset, partition=P0, generation=1):
        return self.of(
            ev.Processed,
            name,
            generation=generation,
            partition=partition,
            first=first,
            next_offset=next_offset,
            began_us=self.now_us,
        )

    def overtake(self, name, first, next_offset, partition=P0, generation=1, *, earlier=False):
        """A worker finishes a range before records in front of it, or begun in an *earlier* epoch."""
        return self.of(
            ev.ProcessedOutOfOrder,
            name,
            generation=generation,
            partition=partition,
            first=first,
            next_offset=next_offset,
            began_us=self.now_us,
            earlier_epoch=earlier,
        )

    def next_owner(self, name, first, next_offset, generation=1):
        """Let a consumer begin at an offset, and work."""
        self.open(name, offset=first, generation=generation)
        self.work(name, first, next_offset, generation=generation)

    def cut_off(self, name, offset, partition=P0):
        return self.of(
            ev.PartlyProcessed, name, partition=partition, offset=offset, began_us=self.now_us
        )

    def let_go(self, name, first, next_offset, why, partition=P0):
        return self.of(
            ev.NotProcessed,
            name,
            partition=partition,
            first=first,
            next_offset=next_offset,
            why=why,
        )

    def close(self, name, processed, why, position=None, partition=P0, generation=1):
        return self.of(
            ev.EpochClosed,
            name,
            generation=generation,
            partition=partition,
            processed=processed,
            position=processed if position is None else position,
            why=why,
        )

    def crash(self, name, processed, partition=P0):
        """A process dies under a fault of its own."""
        self.cause = self.fault(f"crash {name}", "crash", name)
        self.stop(name)
        self.close(name, processed, "crashed", partition=partition)
        self.cause = None

    # commits

    def send(self, name, offset, processed=None, kind="sync", partition=P0, generation=1):
        """Send a commit; return its name."""
        self._commits += 1
        commit = f"c{self._commits}"
        sent = ev.CommitSent(
            consumer=name,
            group=GROUP,
            generation=generation,
            commit=commit,
            kind=kind,
            offsets=((partition, offset),),
            processed=(offset if processed is None else processed,),
        )
        self.say(sent)
        return commit

    def accept(self, name, commit, offset, partition=P0, generation=1):
        return self.of(
            ev.CommitAccepted,
            name,
            generation=generation,
            commit=commit,
            offsets=((partition, offset),),
            log_offset=len(self.events),
        )

    def answer(self, name, commit, error="NONE"):
        return self.of(ev.CommitAnswered, name, commit=commit, error=error)

    def commit(self, name, offset, processed=None, partition=P0, generation=1):
        """A commit that goes well from end to end."""
        commit = self.send(name, offset, processed, partition=partition, generation=generation)
        self.accept(name, commit, offset, partition, generation)
        self.answer(name, commit)

    def refuse(self, name, offset, error="ILLEGAL_GENERATION", by="coordinator", partition=P0):
        commit = self.send(name, offset, partition=partition)
        refused = ev.CommitRefused(
            consumer=name,
            group=GROUP,
            generation=1,
            commit=commit,
            error=error,
            by=by,
            offsets=((partition, offset),),
        )
        self.say(refused)
        self.answer(name, commit, error)

    def lose(self, name, commit, kind="OffsetCommitRequest"):
        return self.say(ev.MessageLost(kind=kind, sender=name, receiver="broker-1", commit=commit))

    def drop(self, why, partition=P0):
        return self.say(ev.OffsetsDropped(group=GROUP, partitions=(partition,), why=why))

    # truncation

    def truncate(self, first, next_offset, partition=P0, incarnation=1, broker=2, *, clean=False):
        truncated = ev.RecordsTruncated(
            partition=partition,
            broker=broker,
            leader_epoch=incarnation,
            first=first,
            next_offset=next_offset,
            incarnation=incarnation,
            clean=clean,
        )
        return self.say(truncated)

    def read_on(self, name, offset, partition=P0, incarnation=1):
        return self.of(ev.ReadOn, name, partition=partition, offset=offset, incarnation=incarnation)

    # coordinator

    def stable(self, generation=1, assignment=()):
        return self.say(
            ev.GroupStabilised(group=GROUP, generation=generation, assignment=assignment)
        )

    def coordinator_moves(self, broker=2, generation=1):
        moved = ev.CoordinatorMoved(group=GROUP, broker=broker, generation=generation, loaded_us=0)
        return self.say(moved)

    def rebalance(self, reason="Adding new member c", consumer="c", generation=1):
        started = ev.RebalanceStarted(
            group=GROUP, generation=generation, reason=reason, consumer=consumer
        )
        return self.say(started)

    def joined(self, *consumers, generation=2, protocol="range"):
        ended = ev.JoinPhaseEnded(
            group=GROUP,
            generation=generation,
            protocol=protocol,
            leader=consumers[0],
            consumers=consumers,
        )
        return self.say(ended)

    def add_member(self, name):
        return self.say(ev.MemberAdded(group=GROUP, consumer=name, member_id=f"{name}-1"))

    def remove_member(self, name, why="session expired"):
        removed = ev.MemberRemoved(group=GROUP, consumer=name, member_id=f"{name}-1", why=why)
        return self.say(removed)

    def lag(self, log_ends, committed, processed, partitions=(P0, P1)):
        sampled = ev.LagSampled(
            group=GROUP,
            partitions=partitions,
            log_ends=log_ends,
            committed=committed,
            processed=processed,
        )
        return self.say(sampled)

    def end(self, log_ends=(), positions=()):
        return self.say(ev.RunEnded(log_ends=tuple(log_ends), positions=tuple(positions)))

    def ledger(self) -> Ledger:
        builder = LedgerBuilder()
        for event in self.events:
            builder.feed(event)
        ledger = builder.close()
        ledger.check()
        return ledger
