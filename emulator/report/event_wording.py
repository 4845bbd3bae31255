"""Events and ledger chains as sentences, seen from one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.ledger.entries import Link, Step
from emulator.report.wording import counted, offset_range

Words = Callable[[Any, TopicPartition], str]

REOPENED = "position changed"
"""Why an epoch ends if its consumer sets a new position and keeps the partition."""

GENERATION, EPOCH = "generation", "epoch"
"""The number of a group's assignment: a generation (classic protocol) or an epoch (KIP-848)."""


def event_text(
    what: ev.What, partition: TopicPartition, term: str = GENERATION, successor: int | None = None
) -> str:
    """Return an event as a sentence; of an event of several partitions, the part of *partition*.

    *term*: ``generation`` or ``epoch``. *successor*: the leader, if the broker that appends a
    commit has been replaced.
    """
    if isinstance(what, ev.CommitAccepted) and successor is not None:
        text = f"broker {what.broker}, replaced by broker {successor}, {_appends(what, partition)}"
        return text.replace(f"in {GENERATION} ", f"in {term} ")
    words = WORDS.get(type(what))
    text = words(what, partition) if words is not None else type(what).__name__
    return text.replace(f"in {GENERATION} ", f"in {term} ")


def fault_words(what: Any) -> str:
    """Return a fault or an act in words."""
    from emulator.report.fault_wording import fault_text  # noqa: PLC0415  logs of real groups have none

    return fault_text(what)


def instant_text(what: ev.FaultBegan) -> str:
    """Return the sentence for a fault that ends when it begins."""
    return f"fault {what.fault}: {fault_words(what)}"


def term_of(group: str, history: Iterable[ev.Event]) -> Callable[[int], str]:
    """Return a function from a time of the run to the group's term, ``generation`` or ``epoch``.

    The term changes when the group is converted to the other protocol.
    """
    changes: list[tuple[int, str]] = []
    first = GENERATION
    for event in history:
        what = event.what
        if isinstance(what, ev.GroupConverted) and what.group == group:
            after = EPOCH if what.protocol == "consumer" else GENERATION
            first = first if changes else GENERATION if after == EPOCH else EPOCH
            changes.append((event.at_us, after))
        elif isinstance(what, ev.GroupEpochRaised) and what.group == group and not changes:
            first = EPOCH
    return lambda at_us: next((term for at, term in reversed(changes) if at <= at_us), first)


def offset_of(offsets: ev.Offsets, partition: TopicPartition) -> int | None:
    """Return the offset that a commit contains for *partition*, None if it contains none."""
    return next((offset for each, offset in offsets if each == partition), None)


def _committing(
    what: ev.CommitSent | ev.CommitAccepted | ev.CommitRefused, p: TopicPartition
) -> str:
    return f"{p} = {offset_of(what.offsets, p)} in generation {what.generation}"


def _appends(what: ev.CommitAccepted, p: TopicPartition) -> str:
    """Return the words for a commit that is appended and not acknowledged yet."""
    text = f"appends commit {what.commit} of {what.consumer}: {_committing(what, p)}"
    if what.log_partition < 0:
        return text
    return (
        f"{text}, at log offset {what.log_offset} of "
        f"__consumer_offsets-{what.log_partition} (high watermark {what.high_watermark}, leader "
        f"epoch {what.leader_epoch} on broker {what.broker})"
    )


def _coordinator_loaded(what: ev.CoordinatorLoaded, _: TopicPartition) -> str:
    took = (what.waited_us + what.loaded_us) / 1_000_000
    log = "" if what.log_end < 0 else f"log end {what.log_end}, "
    return (
        f"broker {what.broker} loaded __consumer_offsets-{what.log_partition} in {took:.3f} s: "
        f"{what.records} records, {what.size} bytes, {log}high watermark {what.high_watermark}, "
        f"leader epoch {what.leader_epoch}"
    )


def _opened(what: ev.EpochOpened, _: TopicPartition) -> str:
    why = f", {what.why}" if what.why else ""
    return (
        f"{what.consumer} starts {what.partition} at offset {what.offset} "
        f"({what.source}{why}) in generation {what.generation}"
    )


def _closed(what: ev.EpochClosed, _: TopicPartition) -> str:
    why = REOPENED if what.why == ev.End.REOPENED else what.why
    text = f"{what.consumer} stops {what.partition} at offset {what.processed} ({why})"
    in_hand = what.position - what.processed
    return f"{text}, {in_hand} polled records not processed" if in_hand > 0 else text


def _assigned(what: ev.GroupStabilised, partition: TopicPartition) -> str:
    owners = [name for name, partitions in what.assignment if partition in partitions]
    given = (
        f"{partition} is assigned to {', '.join(owners)}"
        if owners
        else f"{partition} is not assigned"
    )
    return f"{what.group} is stable in generation {what.generation}: {given}"


def conversion_text(what: ev.GroupConverted) -> str:
    """Return the sentence for a change of protocol and of the group's term."""
    to = f"{what.group} is converted to the {what.protocol} protocol"
    if not what.members:
        return f"{to} when {what.consumer} joins; it had no members and starts counting at zero"
    before, after = (GENERATION, EPOCH) if what.protocol == "consumer" else (EPOCH, GENERATION)
    return (
        f"{to} when {what.consumer} joins: {before} {what.generation} becomes {after} "
        f"{what.generation}, also for {', '.join(what.members)}"
    )


def _aimed(what: ev.TargetComputed, partition: TopicPartition) -> str:
    meant = [name for name, partitions in what.changed if partition in partitions]
    given = f": {partition} is assigned to {', '.join(meant)}" if meant else ""
    return f"{what.group} has a target assignment for epoch {what.epoch} ({what.assignor}){given}"


def _moved(what: ev.MemberMoved, partition: TopicPartition) -> str:
    if partition in what.revoking:
        state = f"revoking {partition}"
    elif partition in what.assigned:
        state = f"with {partition}"
    else:
        state = f"without {partition}"
    return f"{what.consumer} is in epoch {what.epoch}, {state}"


def _polled(what: ev.Polled, partition: TopicPartition) -> str:
    got = [offset_range(first, end) for each, first, end in what.ranges if each == partition]
    return f"poll returns {', '.join(got)} of {partition} to {what.consumer}"


def _refused(what: ev.CommitRefused, p: TopicPartition) -> str:
    where = "the coordinator" if what.by == "coordinator" else f"the client of {what.consumer}"
    return f"{where} refuses commit {what.commit} ({_committing(what, p)}): {what.error}"


def _lost(what: ev.MessageLost, _: TopicPartition) -> str:
    commit = f" (commit {what.commit})" if what.commit else ""
    return f"{what.kind}{commit} from {what.sender} to {what.receiver} is lost"


def _member_removed(what: ev.MemberRemoved, _: TopicPartition) -> str:
    replaced = f", by broker {what.replaced_broker}, which is no longer its coordinator"
    by = replaced if ev.by_replaced_coordinator(what) else ""
    return f"{what.consumer} is removed from {what.group}{by}: {what.why}"


def _member_added(what: ev.MemberAdded, _: TopicPartition) -> str:
    instead = f" in place of {what.replaced}" if what.replaced else ""
    return f"{what.consumer} joins {what.group} as {what.member_id}{instead}"


def _failed(what: ev.ProcessingFailed, partition: TopicPartition) -> str:
    if not what.failures:
        return f"{what.consumer} sends offset {what.offset} of {partition} to {what.to}"
    times = "fails" if what.failures == 1 else f"fails {what.failures} times"
    then = {
        "seek": "it seeks back",
        "pause": "it seeks back and pauses",
        "succeed": "then it succeeds",
        "again": "it has the record in hand",
        "forward": f"the record is sent to {what.to}",
        "skip": "the record is skipped",
        "stop": "the process exits",
    }[what.then]
    return f"{what.consumer} {times} at offset {what.offset} of {partition}; {then}"


def _stopped(what: ev.ConsumerStopped, _: TopicPartition) -> str:
    return f"process {what.consumer} ends: {what.how}" + (f", {what.reason}" if what.reason else "")


def _leader_changed(what: ev.LeaderChanged, _: TopicPartition) -> str:
    if what.broker < 0:
        return f"{what.partition} has no leader"
    unclean = "" if what.clean else " (unclean election: it was not in sync)"
    return f"broker {what.broker} leads {what.partition} in epoch {what.epoch}{unclean}"


def _stalled(what: ev.PartitionStalled, _: TopicPartition) -> str:
    if what.partition.topic == OFFSETS_TOPIC:
        return f"{what.partition} does not accept commits"
    return f"new records of {what.partition} cannot be read"


def _resumed(what: ev.PartitionResumed, _: TopicPartition) -> str:
    if what.partition.topic == OFFSETS_TOPIC:
        return f"{what.partition} accepts commits again on broker {what.broker}"
    return f"new records of {what.partition} can be read again from broker {what.broker}"


def _act_refused(what: ev.ActRefused, _: TopicPartition) -> str:
    reason = ": ".join(filter(None, (what.error, what.why)))
    return f"fault {what.fault} is refused ({fault_words(what)}): {reason}"


_STORES = {"zookeeper": "ZooKeeper", "database": "the database"}


def _restored(what: ev.StoreRestored, _: TopicPartition) -> str:
    undone = sum(end - start for start, end in what.undone)
    results = f"; {undone:,} results are gone" if undone else ""
    old, new = ("none" if each < 0 else f"{each}" for each in (what.before, what.offset))
    moved = f"{what.partition} = {new}, before {old}{results}"
    return f"a backup of {_STORES[what.store]} is restored: {moved}"


WORDS: dict[type, Words] = {
    ev.FaultBegan: lambda w, _: f"fault {w.fault} begins: {fault_words(w)}",
    ev.FaultEnded: lambda w, _: f"fault {w.fault} ends ({fault_words(w)})",
    ev.FaultMissed: lambda w, _: f"fault {w.fault} did not fire ({fault_words(w)}): {w.why}",
    ev.ActRefused: _act_refused,
    ev.Rescaled: lambda w, _: (
        f"the autoscaler of {w.group} goes from {w.before} to {w.after} replicas: a lag of {w.lag:,} asks "
        f"for {w.wanted}"
    ),
    ev.BrokerDown: lambda w, _: f"broker {w.broker} goes down",
    ev.BrokerUp: lambda w, _: f"broker {w.broker} is up",
    ev.BrokerFenced: lambda w, _: f"the controller fences broker {w.broker}",
    ev.BrokerUnfenced: lambda w, _: f"the controller unfences broker {w.broker}",
    ev.LeaderChanged: _leader_changed,
    ev.IsrChanged: lambda w, _: (
        f"the ISR of {w.partition} is {', '.join(map(str, w.isr))} ({w.why})"
    ),
    ev.PartitionStalled: _stalled,
    ev.PartitionResumed: _resumed,
    ev.LogTruncated: lambda w, _: (
        f"broker {w.broker} truncates log offsets {offset_range(w.first, w.next_offset)} of "
        f"{w.partition}"
    ),
    ev.RecordsTruncated: lambda w, _: (
        f"{w.partition} loses {offset_range(w.first, w.next_offset)}: the new leader, broker "
        f"{w.broker}, does not have them; new records get their offsets"
    ),
    ev.CoordinatorLoaded: _coordinator_loaded,
    ev.CoordinatorUnloaded: lambda w, _: (
        f"broker {w.broker} unloads __consumer_offsets-{w.log_partition}"
    ),
    ev.AppendFailed: lambda w, _: (
        f"broker {w.broker} cannot append at log offset {w.log_offset} of "
        f"__consumer_offsets-{w.log_partition}: {w.error}"
    ),
    ev.SegmentRolled: lambda w, _: (
        f"offsets partition {w.log_partition} rolls a new segment at log offset "
        f"{w.base_offset} ({w.why})"
    ),
    ev.LogCompacted: lambda w, _: (
        f"the cleaner of broker {w.broker} compacts offsets partition {w.log_partition} up to log "
        f"offset {w.next_offset}: it removes {w.removed_size} bytes and {w.removed_records} records"
    ),
    ev.ConsumerStarted: lambda w, _: f"process {w.consumer} begins (start {w.incarnation})",
    ev.ConsumerStopped: _stopped,
    ev.ListenerThrew: lambda w, _: f"the rebalance listener of {w.consumer} throws in {w.call}",
    ev.SubscriptionChanged: lambda w, _: f"{w.consumer} subscribes to {', '.join(w.topics)}",
    ev.ConsumerPaused: lambda w, _: f"process {w.consumer} is paused",
    ev.ConsumerResumed: lambda w, _: f"process {w.consumer} resumes",
    ev.AssignorRan: lambda w, _: (
        f"the assignor {w.assignor} of {w.consumer or 'the coordinator'} computes for "
        f"{w.takes_us / 1e6:.1f} s: {w.members} members, {w.partitions} partitions"
    ),
    ev.ListenerCalled: lambda w, p: (
        f"the rebalance listener of {w.consumer} is called: {w.call} {p}"
        if w.made
        else f"{w.consumer} has no rebalance listener for this: {w.call} {p}"
    ),
    ev.EpochOpened: _opened,
    ev.EpochClosed: _closed,
    ev.ReadOn: lambda w, _: (
        f"{w.consumer} continues to read {w.partition} at offset {w.offset}, in the truncated log"
    ),
    ev.Processed: lambda w, p: f"{w.consumer} processes {p} {offset_range(w.first, w.next_offset)}",
    ev.ProcessedOutOfOrder: lambda w, p: (
        f"{w.consumer} processes {p} {offset_range(w.first, w.next_offset)} out of order"
    ),
    ev.PartlyProcessed: lambda w, p: (
        f"{w.consumer} is killed while it processes offset {w.offset} of {p}"
    ),
    ev.NotProcessed: lambda w, p: (
        f"{w.consumer} does not process {p} {offset_range(w.first, w.next_offset)}: {w.why}"
    ),
    ev.ProcessingFailed: _failed,
    ev.DuplicateDelivered: lambda w, p: (
        f"the deduplication behind {w.consumer} {'recognises' if w.recognised else 'has forgotten'} "
        f"offset {w.offset} of {p}"
    ),
    ev.Polled: _polled,
    ev.CommitSent: lambda w, p: (
        f"{w.consumer} sends commit {w.commit} ({w.kind}): {_committing(w, p)}"
    ),
    ev.CommitAccepted: lambda w, p: f"the coordinator {_appends(w, p)}",
    ev.OffsetsStored: lambda w, p: (
        f"{_STORES[w.store]} writes commit {w.commit} of {w.consumer}: {p} = "
        f"{offset_of(w.offsets, p)}, after {w.waited_us / 1e6:.3f} s in its queue"
    ),
    ev.OffsetsRead: lambda w, p: f"{w.consumer} reads its offsets: {p} = {offset_of(w.offsets, p)}",
    ev.ResultsRolledBack: lambda w, _: (
        f"the results of {w.consumer} for {w.partition} {w.first}..{w.next_offset - 1} are rolled "
        f"back: {w.why}"
    ),
    ev.StoreRestored: _restored,
    ev.CommitRefused: _refused,
    ev.CommitAnswered: lambda w, _: (
        f"commit {w.commit} of {w.consumer} {'is acknowledged' if w.error == 'NONE' else f'fails: {w.error}'}"
    ),
    ev.MessageLost: _lost,
    ev.OffsetsDropped: lambda w, p: f"the committed offset of {p} is removed: {w.why}",
    ev.TopicCreated: lambda w, _: f"topic {w.topic} is created",
    ev.RecordsCompacted: lambda w, _: (
        f"the cleaner removes {counted(sum(e - f for f, e in w.ranges), 'record')} of {w.partition}"
    ),
    ev.OffsetGaps: lambda w, _: (
        f"of {w.cycle} offsets of {w.topic} {w.records} hold a record"
        f"{f', below offset {w.until}' if w.has_end else ''}"
    ),
    ev.PartitionsAdded: lambda w, _: f"topic {w.topic} now has {w.partitions} partitions",
    ev.TopicDeleted: lambda w, _: f"topic {w.topic} is deleted",
    ev.MemberAdded: _member_added,
    ev.MemberRemoved: _member_removed,
    ev.RebalanceStarted: lambda w, _: (
        f"{w.group} leaves generation {w.generation} for a rebalance: {w.reason}"
    ),
    ev.JoinPhaseEnded: lambda w, _: (
        f"generation {w.generation} of {w.group} has its members: {', '.join(w.consumers)}"
    ),
    ev.GroupEpochRaised: lambda w, _: f"the epoch of {w.group} rises to {w.epoch}: {w.reason}",
    ev.TargetComputed: _aimed,
    ev.MemberMoved: _moved,
    ev.GroupStabilised: _assigned,
    ev.GroupConverted: lambda w, _: conversion_text(w),
    ev.GroupEmptied: lambda w, _: f"{w.group} becomes empty",
    ev.CoordinatorMoved: lambda w, _: f"broker {w.broker} becomes coordinator of {w.group}",
    ev.ClientDropped: lambda w, _: f"{w.consumer} drops out of {w.group}: {w.reason}",
}
"""The sentence for each kind of event that can concern an entry."""


_STEPS = {
    Step.OPENED: "{} began {} at {} ({})",
    Step.CLOSED: "{} stopped {} at {} ({})",
    Step.GIVEN_UP: "{} gave up {} ({})",
    Step.COMMITTED: "{} committed {}",
    Step.RESTORED: "backup of {} restored, with offset {}",
    Step.RESULTS_UNDONE: "backup of {} restored, without results of {}",
    Step.COMMIT_SENT: "{} sent commit {}",
    Step.COMMIT_REFUSED: "commit {1} of {0} refused: {2}",
    Step.COMMIT_LOST: "commit {1} of {0} lost on its way: {2}",
    Step.COMMIT_TO_STALE_LEADER: (
        "broker {2}, replaced by broker {3}, appended commit {1} of {0} at log offset {4}"
    ),
    Step.OFFSETS_DROPPED: "committed offset of {} {}",
    Step.NOT_PROCESSED: "{} did not process records of {}: {}",
    Step.GAP: "{} continued beyond {}",
    Step.READ_ON: "{} continued to read {} from {}, position not checked",
    Step.IN_FLIGHT: "{} was processing offset {} when it was killed",
    Step.PAUSED: "{} paused",
    Step.REMOVED: "{} removed from {}: {}",
    Step.DROPPED_OUT: "{} dropped out of {}: {}",
    Step.BROKER_DOWN: "broker {} went down",
    Step.COORDINATOR_MOVED: "broker {} became coordinator of {}",
    Step.ELECTED: "broker {} elected to lead {} in epoch {}",
    Step.ELECTED_UNCLEAN: "broker {} elected to lead {} in epoch {}, not in sync",
    Step.TRUNCATED: "broker {} leads {} without {} to {}",
    Step.ROOT: "{} {}",
}


def link_text(link: Link) -> str:
    """Return one step of a chain in words."""
    if link.step is Step.LOADED:
        broker, partition, load_us = link.values
        return f"broker {broker} loaded {partition} in {int(load_us) / 1e6:.1f} s"
    return _STEPS[link.step].format(*link.values).strip()
