"""Events in plain words of Kafka, as they concern one partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev

Words = Callable[[Any, TopicPartition], str]


def in_words(what: ev.What, partition: TopicPartition) -> str:
    """Say what happened; of events about several partitions, what concerns *partition*."""
    words = WORDS.get(type(what))
    return words(what, partition) if words is not None else type(what).__name__


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


def _opened(what: ev.EpochOpened, _: TopicPartition) -> str:
    why = f", {what.why}" if what.why else ""
    return (
        f"{what.consumer} begins {what.partition} at {what.offset} "
        f"({what.source}{why}) in generation {what.generation}"
    )


def _closed(what: ev.EpochClosed, _: TopicPartition) -> str:
    text = f"{what.consumer} stops {what.partition} at {what.processed} ({what.why})"
    in_hand = what.position - what.processed
    return f"{text}, {in_hand} more in hand" if in_hand > 0 else text


def _assigned(what: ev.GroupStabilised, partition: TopicPartition) -> str:
    owners = [name for name, partitions in what.assignment if partition in partitions]
    given = (
        f"{partition} is assigned to {', '.join(owners)}" if owners else f"nobody has {partition}"
    )
    return f"{what.group} is stable in generation {what.generation}: {given}"


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
    fate = "was accepted" if what.error == "NONE" else f"failed: {what.error}"
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


WORDS: dict[type, Words] = {
    ev.FaultBegan: lambda w, _: f"fault {w.fault} begins: {w.verb} {w.target}",
    ev.FaultEnded: lambda w, _: f"fault {w.fault} ends: {w.verb} {w.target}",
    ev.FaultMissed: lambda w, _: f"fault {w.fault} never struck ({w.verb} {w.target}): {w.why}",
    ev.BrokerDown: lambda w, _: f"broker {w.broker} goes down",
    ev.BrokerUp: lambda w, _: f"broker {w.broker} is up",
    ev.BrokerFenced: lambda w, _: f"the controller takes broker {w.broker} for dead",
    ev.BrokerUnfenced: lambda w, _: f"broker {w.broker} is registered again",
    ev.LeaderChanged: _leader_changed,
    ev.IsrChanged: lambda w, _: (
        f"in sync for {w.partition}: {', '.join(map(str, w.isr))} ({w.why})"
    ),
    ev.LogTruncated: lambda w, _: (
        f"broker {w.broker} cuts log offsets {span(w.first, w.next_offset)} off {w.partition}"
    ),
    ev.CoordinatorLoaded: lambda w, _: (
        f"broker {w.broker} has loaded offsets partition {w.log_partition}: {w.records} records, "
        f"{w.size} bytes, high watermark {w.high_watermark}"
    ),
    ev.CoordinatorUnloaded: lambda w, _: (
        f"broker {w.broker} lets go of offsets partition {w.log_partition}"
    ),
    ev.AppendFailed: lambda w, _: (
        f"broker {w.broker} cannot append at log offset {w.log_offset} of offsets partition "
        f"{w.log_partition}: {w.error}"
    ),
    ev.ConsumerStarted: lambda w, _: f"process {w.consumer} starts (incarnation {w.incarnation})",
    ev.ConsumerStopped: _stopped,
    ev.ConsumerPaused: lambda w, _: f"process {w.consumer} is paused",
    ev.ConsumerResumed: lambda w, _: f"process {w.consumer} goes on",
    ev.ListenerCalled: lambda w, p: f"{w.consumer}'s listener is told: {w.call} {p}",
    ev.EpochOpened: _opened,
    ev.EpochClosed: _closed,
    ev.Processed: lambda w, p: f"{w.consumer} processes {p} {span(w.first, w.next_offset)}",
    ev.PartlyProcessed: lambda w, p: f"{w.consumer} is cut off in the work on {p} {w.offset}",
    ev.NotProcessed: lambda w, p: (
        f"{w.consumer} lets {p} {span(w.first, w.next_offset)} go: {w.why}"
    ),
    ev.Polled: _polled,
    ev.CommitSent: lambda w, p: (
        f"{w.consumer} sends commit {w.commit} ({w.kind}): {_committing(w, p)}"
    ),
    ev.CommitAccepted: lambda w, p: (
        f"the coordinator accepts commit {w.commit} of {w.consumer}: {_committing(w, p)}"
    ),
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
    ev.GroupStabilised: _assigned,
    ev.GroupEmptied: lambda w, _: f"{w.group} has no members left",
    ev.CoordinatorMoved: lambda w, _: f"broker {w.broker} is now coordinator of {w.group}",
    ev.ClientDropped: lambda w, _: f"{w.consumer} lets go of {w.group}: {w.reason}",
}
"""How each kind of event that can matter to an entry is told."""
