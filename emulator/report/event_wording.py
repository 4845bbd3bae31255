"""Events in plain words of Kafka, as they concern one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC

Words = Callable[[Any, TopicPartition], str]


SET_ANEW = "to go on elsewhere"
"""Why a consumer stops that sets its position anew and keeps its partition."""

GENERATION, EPOCH = "generation", "epoch"
"""What a group counts: the classic protocol has generations, the consumer protocol epochs."""


def in_words(
    what: ev.What, partition: TopicPartition, term: str = GENERATION, successor: int | None = None
) -> str:
    """Say what happened; of events about several partitions, what concerns *partition*.

    *term*: what the group counts, in whose words the number of a generation is told.
    *successor*: the broker that leads, where one that was replaced appends a commit.
    """
    if isinstance(what, ev.CommitAccepted) and successor is not None:
        text = f"broker {what.broker}, replaced by broker {successor}, {_appends(what, partition)}"
        return text.replace(f"in {GENERATION} ", f"in {term} ")
    words = WORDS.get(type(what))
    text = words(what, partition) if words is not None else type(what).__name__
    return text.replace(f"in {GENERATION} ", f"in {term} ")


def instant_in_words(what: ev.FaultBegan) -> str:
    """Tell a fault that is over as it begins."""
    return f"fault {what.fault}: {what.verb} {what.target}"


def term_of(group: str, history: Iterable[ev.Event]) -> Callable[[int], str]:
    """Return what tells, for a time of the run, what a group counts then.

    A group that goes over to the other protocol counts the other thing from then on.
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


def span(first: int, next_offset: int) -> str:
    """Name a range of offsets with its size.

    >>> span(80, 100)
    '80..99 (20 records)'
    >>> span(7, 8)
    '7 (1 record)'
    """
    count = next_offset - first
    if count == 1:
        return f"{first} (1 record)"
    return f"{first}..{next_offset - 1} ({count} records)" if count else "nothing"


def offset_of(offsets: ev.Offsets, partition: TopicPartition) -> int | None:
    """Return what a commit says of *partition*, None if it does not speak of it."""
    return next((offset for each, offset in offsets if each == partition), None)


def _committing(
    what: ev.CommitSent | ev.CommitAccepted | ev.CommitRefused, p: TopicPartition
) -> str:
    return f"{p} = {offset_of(what.offsets, p)} in generation {what.generation}"


def _appends(what: ev.CommitAccepted, p: TopicPartition) -> str:
    """Tell of a commit that is in its coordinator's own log, and not acknowledged yet."""
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
        f"broker {what.broker} has loaded __consumer_offsets-{what.log_partition} in {took:.3f} s: "
        f"{what.records} records, {what.size} bytes, {log}high watermark {what.high_watermark}, "
        f"leader epoch {what.leader_epoch}"
    )


def _opened(what: ev.EpochOpened, _: TopicPartition) -> str:
    why = f", {what.why}" if what.why else ""
    return (
        f"{what.consumer} begins {what.partition} at {what.offset} "
        f"({what.source}{why}) in generation {what.generation}"
    )


def _closed(what: ev.EpochClosed, _: TopicPartition) -> str:
    why = SET_ANEW if what.why == "reopened" else what.why
    text = f"{what.consumer} stops {what.partition} at {what.processed} ({why})"
    in_hand = what.position - what.processed
    return f"{text}, {in_hand} more in hand" if in_hand > 0 else text


def _assigned(what: ev.GroupStabilised, partition: TopicPartition) -> str:
    owners = [name for name, partitions in what.assignment if partition in partitions]
    given = (
        f"{partition} is assigned to {', '.join(owners)}" if owners else f"nobody has {partition}"
    )
    return f"{what.group} is stable in generation {what.generation}: {given}"


def converted(what: ev.GroupConverted) -> str:
    """Tell a change of protocol, and what becomes of the count."""
    to = f"{what.group} goes over to the {what.protocol} protocol"
    if not what.members:
        return f"{to} with {what.consumer}; it had no members, and counts anew"
    before, after = (GENERATION, EPOCH) if what.protocol == "consumer" else (EPOCH, GENERATION)
    return (
        f"{to} with {what.consumer}: {before} {what.generation} is {after} {what.generation} now, "
        f"for {', '.join(what.members)} too"
    )


def _aimed(what: ev.TargetComputed, partition: TopicPartition) -> str:
    meant = [name for name, partitions in what.changed if partition in partitions]
    shall = f": {partition} shall go to {', '.join(meant)}" if meant else ""
    return f"{what.group} has a target for epoch {what.epoch} ({what.assignor}){shall}"


def _moved(what: ev.MemberMoved, partition: TopicPartition) -> str:
    if partition in what.revoking:
        told = f"told to give {partition} up"
    elif partition in what.assigned:
        told = f"with {partition}"
    else:
        told = f"without {partition}"
    return f"{what.consumer} is in epoch {what.epoch}, {told}"


def _polled(what: ev.Polled, partition: TopicPartition) -> str:
    got = [span(first, end) for each, first, end in what.ranges if each == partition]
    return f"poll hands {what.consumer} {', '.join(got)} of {partition}"


def _refused(what: ev.CommitRefused, p: TopicPartition) -> str:
    where = "the coordinator" if what.by == "coordinator" else f"{what.consumer}'s own client"
    return f"{where} refuses commit {what.commit} ({_committing(what, p)}): {what.error}"


def _lost(what: ev.MessageLost, _: TopicPartition) -> str:
    commit = f" (commit {what.commit})" if what.commit else ""
    return f"{what.kind}{commit} from {what.sender} to {what.receiver} never arrives"


def _answered(what: ev.CommitAnswered, _: TopicPartition) -> str:
    fate = "was acknowledged" if what.error == "NONE" else f"failed: {what.error}"
    return f"{what.consumer} learns that commit {what.commit} {fate}"


def _member_added(what: ev.MemberAdded, _: TopicPartition) -> str:
    instead = f" in place of {what.replaced}" if what.replaced else ""
    return f"{what.consumer} enters {what.group} as {what.member_id}{instead}"


def _stopped(what: ev.ConsumerStopped, _: TopicPartition) -> str:
    return f"process {what.consumer} ends: {what.how}" + (f", {what.reason}" if what.reason else "")


def _leader_changed(what: ev.LeaderChanged, _: TopicPartition) -> str:
    if what.broker < 0:
        return f"nobody can lead {what.partition}"
    unclean = "" if what.clean else ", though it was not in sync"
    return f"broker {what.broker} leads {what.partition} in epoch {what.epoch}{unclean}"


def _stalled(what: ev.PartitionStalled, _: TopicPartition) -> str:
    if what.partition.topic == OFFSETS_TOPIC:
        return f"{what.partition} takes no commits"
    return f"nothing new of {what.partition} can be read"


def _resumed(what: ev.PartitionResumed, _: TopicPartition) -> str:
    if what.partition.topic == OFFSETS_TOPIC:
        return f"{what.partition} takes commits again, on broker {what.broker}"
    return f"{what.partition} can be read on, from broker {what.broker}"


def _act_refused(what: ev.ActRefused, _: TopicPartition) -> str:
    reason = ": ".join(part for part in (what.error, what.why) if part)
    return f"{what.verb} {what.target} is refused: {reason}"


WORDS: dict[type, Words] = {
    ev.FaultBegan: lambda w, _: f"fault {w.fault} begins: {w.verb} {w.target}",
    ev.FaultEnded: lambda w, _: f"fault {w.fault} ends: {w.verb} {w.target}",
    ev.FaultMissed: lambda w, _: f"fault {w.fault} never struck ({w.verb} {w.target}): {w.why}",
    ev.ActRefused: _act_refused,
    ev.BrokerDown: lambda w, _: f"broker {w.broker} goes down",
    ev.BrokerUp: lambda w, _: f"broker {w.broker} is up",
    ev.BrokerFenced: lambda w, _: f"the controller takes broker {w.broker} for dead",
    ev.BrokerUnfenced: lambda w, _: f"broker {w.broker} is registered again",
    ev.LeaderChanged: _leader_changed,
    ev.IsrChanged: lambda w, _: (
        f"in sync for {w.partition}: {', '.join(map(str, w.isr))} ({w.why})"
    ),
    ev.PartitionStalled: _stalled,
    ev.PartitionResumed: _resumed,
    ev.LogTruncated: lambda w, _: (
        f"broker {w.broker} cuts log offsets {span(w.first, w.next_offset)} off {w.partition}"
    ),
    ev.RecordsTruncated: lambda w, _: (
        f"{w.partition} has lost {span(w.first, w.next_offset)}: broker {w.broker} leads without "
        f"them; what is produced now gets their offsets"
    ),
    ev.CoordinatorLoaded: _coordinator_loaded,
    ev.CoordinatorUnloaded: lambda w, _: (
        f"broker {w.broker} lets go of __consumer_offsets-{w.log_partition}"
    ),
    ev.AppendFailed: lambda w, _: (
        f"broker {w.broker} cannot append at log offset {w.log_offset} of "
        f"__consumer_offsets-{w.log_partition}: {w.error}"
    ),
    ev.SegmentRolled: lambda w, _: (
        f"offsets partition {w.log_partition} goes on in a new segment from log offset "
        f"{w.base_offset} ({w.why})"
    ),
    ev.LogCompacted: lambda w, _: (
        f"the cleaner of broker {w.broker} compacts offsets partition {w.log_partition} up to log "
        f"offset {w.next_offset}: {w.removed_size} bytes and {w.removed_records} records less"
    ),
    ev.ConsumerStarted: lambda w, _: f"process {w.consumer} starts (incarnation {w.incarnation})",
    ev.ConsumerStopped: _stopped,
    ev.ListenerThrew: lambda w, _: f"{w.consumer}'s listener throws, told: {w.call}",
    ev.SubscriptionChanged: lambda w, _: f"{w.consumer} subscribes to {', '.join(w.topics)}",
    ev.ConsumerPaused: lambda w, _: f"process {w.consumer} is paused",
    ev.ConsumerResumed: lambda w, _: f"process {w.consumer} goes on",
    ev.ListenerCalled: lambda w, p: f"{w.consumer}'s listener is told: {w.call} {p}",
    ev.EpochOpened: _opened,
    ev.EpochClosed: _closed,
    ev.ReadOn: lambda w, _: (
        f"{w.consumer} reads {w.partition} on from {w.offset}, in the log as it is since then"
    ),
    ev.Processed: lambda w, p: f"{w.consumer} processes {p} {span(w.first, w.next_offset)}",
    ev.PartlyProcessed: lambda w, p: f"{w.consumer} is cut off in the work on {p} {w.offset}",
    ev.NotProcessed: lambda w, p: (
        f"{w.consumer} lets {p} {span(w.first, w.next_offset)} go: {w.why}"
    ),
    ev.Polled: _polled,
    ev.CommitSent: lambda w, p: (
        f"{w.consumer} sends commit {w.commit} ({w.kind}): {_committing(w, p)}"
    ),
    ev.CommitAccepted: lambda w, p: f"the coordinator {_appends(w, p)}",
    ev.CommitRefused: _refused,
    ev.CommitAnswered: _answered,
    ev.MessageLost: _lost,
    ev.OffsetsDropped: lambda w, p: f"the committed offset of {p} vanishes: {w.why}",
    ev.TopicCreated: lambda w, _: f"topic {w.topic} is created",
    ev.PartitionsAdded: lambda w, _: f"topic {w.topic} now has {w.partitions} partitions",
    ev.TopicDeleted: lambda w, _: f"topic {w.topic} is deleted",
    ev.MemberAdded: _member_added,
    ev.MemberRemoved: lambda w, _: f"{w.consumer} is removed from {w.group}: {w.why}",
    ev.RebalanceStarted: lambda w, _: (
        f"{w.group} leaves generation {w.generation} for a rebalance: {w.reason}"
    ),
    ev.JoinPhaseEnded: lambda w, _: (
        f"generation {w.generation} of {w.group} has its members: {', '.join(w.consumers)}"
    ),
    ev.GroupEpochRaised: lambda w, _: f"{w.group} is in epoch {w.epoch} now: {w.reason}",
    ev.TargetComputed: _aimed,
    ev.MemberMoved: _moved,
    ev.GroupStabilised: _assigned,
    ev.GroupConverted: lambda w, _: converted(w),
    ev.GroupEmptied: lambda w, _: f"{w.group} has no members left",
    ev.CoordinatorMoved: lambda w, _: f"broker {w.broker} is now coordinator of {w.group}",
    ev.ClientDropped: lambda w, _: f"{w.consumer} lets go of {w.group}: {w.reason}",
}
"""How each kind of event that can matter to an entry is told."""
