"""Commits that are accepted of partitions of another member."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.wrong_owner import WrongOwnerMeter

TP = TopicPartition("t", 0)


def counted(*events):
    """Return the figure after these events."""
    meter = WrongOwnerMeter()
    for what in events:
        handler = meter.handlers()[type(what)]
        handler(ev.Event(0, 0, None, what, 0), what)
    return meter.read(0, Ledger.__new__(Ledger)).values["commits_wrong_owner"]


def opened(consumer):
    return ev.EpochOpened(
        consumer=consumer, group="g", generation=1, partition=TP, offset=0, source="committed"
    )


def closed(consumer):
    return ev.EpochClosed(
        consumer=consumer, group="g", generation=1, partition=TP, processed=5, position=5, why=""
    )


def committed(consumer):
    return ev.CommitAccepted(consumer=consumer, group="g", generation=2, offsets=((TP, 5),))


def test_a_commit_counts_if_another_member_owns_the_partition():
    """Not that of the owner, of one of two owners, or where nobody owns it."""
    assert 0 == counted(committed("a"))
    assert 0 == counted(opened("a"), committed("a"))
    assert 0 == counted(opened("a"), closed("a"), committed("a"))
    assert 0 == counted(opened("a"), opened("b"), committed("a"))
    assert 1 == counted(opened("a"), closed("a"), opened("b"), committed("a"), committed("b"))


def assigned(consumer):
    return ev.GroupStabilised(group="g", generation=2, assignment=((consumer, (TP,)),))


def test_a_commit_counts_if_another_member_has_been_assigned_the_partition():
    """The new owner reads the committed offset before it begins: the retry moves its start."""
    assert 1 == counted(opened("a"), closed("a"), assigned("b"), committed("a"))
    assert 0 == counted(assigned("a"), opened("a"), closed("a"), committed("a"))
    assert 0 == counted(assigned("b"), committed("b"))
    assert 0 == counted(assigned("b"), opened("a"), committed("a"))
