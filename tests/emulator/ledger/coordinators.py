"""Histories in which brokers lead the offsets partition of the group, one after the other."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator import events as ev

from .causes_of import owner_at_work
from .history import GROUP, P0, History

OFFSETS = TopicPartition("__consumer_offsets", 4)


def led_by_1(processed=100, committed=80) -> History:
    """Broker 1 leads the group's offsets partition and has written something there."""
    history = owner_at_work(processed, committed)
    append(history, 1)
    return history


def append(history, broker):
    """Let a broker append a record of the group to its offsets partition."""
    appended = ev.Appended(
        log_partition=4,
        group=GROUP,
        log_offset=0,
        records=(("GroupMetadata", 1),),
        size=100,
        high_watermark=0,
        leader_epoch=0,
        broker=broker,
    )
    return history.say(appended)


def elect(history, broker, epoch, *, clean=True, cause=None):
    changed = ev.LeaderChanged(partition=OFFSETS, broker=broker, epoch=epoch, clean=clean)
    return history.say(changed, cause)


def accept(history, offset, *, broker, epoch, name="a"):
    commit = history.send(name, offset)
    accepted = ev.CommitAccepted(
        consumer=name,
        group=GROUP,
        generation=1,
        commit=commit,
        offsets=((P0, offset),),
        log_offset=7,
        high_watermark=5,
        leader_epoch=epoch,
        broker=broker,
        log_partition=4,
    )
    history.say(accepted)
    return commit


def load(history, broker, seconds):
    loaded = ev.CoordinatorLoaded(
        log_partition=4,
        broker=broker,
        leader_epoch=1,
        size=1_000,
        records=10,
        high_watermark=10,
        waited_us=0,
        loaded_us=seconds * 1_000_000,
    )
    return history.say(loaded)


def unload(history, broker):
    unloaded = ev.CoordinatorUnloaded(log_partition=4, broker=broker, leader_epoch=0, loading=False)
    return history.say(unloaded)
