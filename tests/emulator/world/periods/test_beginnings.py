"""Committed offsets where the first of several equal periods begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assignors.types import TopicPartition
from emulator.events import Event, LagSampled
from emulator.world.periods.beginnings import commits_repeat
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record

OLD, NEW = TopicPartition("t", 0), TopicPartition("t", 1)
SAMPLED = LagSampled(group="g", partitions=(), log_ends=(), committed=(), processed=())
SAMPLE = Event(None, 150, None, SAMPLED, 0)


def state(position: int, committed: dict[TopicPartition, int]) -> Any:
    """Return what is compared of a state in which both partitions are read up to *position*."""
    return SimpleNamespace(
        positions={"g": {OLD: position, NEW: position}}, committed={"g": committed}
    )


def commit_of(tp: TopicPartition, offset: int) -> Record:
    """Return the record of a commit."""
    value = OffsetCommitValue(offset=offset, commit_timestamp=0)
    return Record(OffsetCommitKey("g", tp.topic, tp.partition), value)


@pytest.mark.parametrize(("events", "repeats"), [([], True), ([SAMPLE], False)])
def test_a_partition_that_is_committed_for_the_first_time_repeats_from_then_on(events, repeats):
    """A sample before that commit shows that there was none: the next one shows the commit."""
    before, after = state(10, {OLD: 7}), state(20, {OLD: 17, NEW: 17})

    assert commits_repeat(before, after, events, [commit_of(NEW, 17)]) is repeats


def test_a_commit_that_is_deleted_does_not_repeat():
    """The next period has no commit that could be deleted."""
    assert not commits_repeat(state(10, {OLD: 7, NEW: 7}), state(20, {OLD: 17}), [], [])
